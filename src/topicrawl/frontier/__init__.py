"""Frontier: the known links, ordered by priority and scheduled per host."""
