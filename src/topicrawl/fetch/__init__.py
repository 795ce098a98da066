"""Fetching: turn a URL into a response. HTTP client, robots.txt, politeness, address guard, WARC replay."""
