"""The crawl loop and its components."""
