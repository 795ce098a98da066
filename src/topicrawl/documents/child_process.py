"""Program of the child process that converts documents, isolated from the crawl process by `request_loop.py`."""

from __future__ import annotations

from topicrawl.documents.conversion import convert_document
from topicrawl.documents.request_loop import serve_requests

_MAX_MEMORY = 1 << 30

if __name__ == "__main__":
    serve_requests(convert_document, max_memory=_MAX_MEMORY)
