"""Synthetic web and its HTTP server, for demos, tests and comparisons."""
