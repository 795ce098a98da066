"""From a response to a page."""
