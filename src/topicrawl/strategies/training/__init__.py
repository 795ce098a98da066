"""Training data, and models that strategies train before a crawl."""
