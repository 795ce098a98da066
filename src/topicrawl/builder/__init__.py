"""Assemble the components of a live crawl. No other package does this."""
