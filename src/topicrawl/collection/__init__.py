"""Step 7. One directory that holds a crawl."""
