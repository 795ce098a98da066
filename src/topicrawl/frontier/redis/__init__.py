"""Frontier in Redis or Valkey, shared by all workers of one crawl."""
