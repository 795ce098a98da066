"""Rendering: run the scripts of a page in a browser that has no network access of its own."""
