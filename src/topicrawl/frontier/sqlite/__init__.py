"""Frontier in one SQLite file."""
