"""One directory that holds a crawl."""
