"""The web application: collections are watched, steered, reviewed, taught and searched in a browser.

    app.py        routes
    safety.py     who may ask: host, token, origin; what a browser may do with an answer
    shelves.py    the collections that are served, by name
    figures.py    what a collection says of itself
    reader.py     a page as text, with the topic's words marked
    crawls.py     crawls that were started from here; `jobs.py`: other long work
    finder.py     who answers searches: the collections here, and other servers
    pages.py …    what is shown; templates/ and static/ are all that a browser gets

Crawled HTML never reaches a browser: only text that was read out of it does, escaped.
"""
