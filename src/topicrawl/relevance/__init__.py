"""Relevance models: score how relevant a fetched page is to the topic. Each model has its own file."""
