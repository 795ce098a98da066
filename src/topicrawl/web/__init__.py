"""Web application to watch, steer, review, train and search collections in a browser.

    app.py              routes
    security.py         checks of host, token and origin; security headers of responses
    collections.py      the served collections, by name
    crawl_figures.py    state and statistics of a collection
    page_view.py        a page as plain text with the words of the topic marked
    crawl_processes.py  crawls started by the server; `jobs.py`: other long-running commands
    search_service.py   search in the served collections and on remote servers
    pages.py …          handlers of the HTML pages; templates/ and static/ contain everything that a browser receives

Crawled HTML never reaches a browser. Pages show only the text extracted from it, escaped.
"""
