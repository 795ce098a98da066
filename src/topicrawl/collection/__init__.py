"""Collection: the directory of a crawl with its database, WARC archive, annotations and commands."""
