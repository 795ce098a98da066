"""Load a page for a user: from the collection, from earlier sessions, or from the web.

Pages from the web are fetched like in a crawl: through the guard against private addresses, with robots.txt, and with
the limits on size and time of the crawl.
"""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from topicrawl.builder.stored_settings import load_topic_and_settings
from topicrawl.collection.browsing_sessions import BrowsingLog
from topicrawl.engine.http_setup import open_fetcher
from topicrawl.errors import DamagedError
from topicrawl.models import Failure, Link, Response
from topicrawl.web.collections import OpenCollection

_MAX_REDIRECTS = 5  # redirects to follow
_MAX_TIMEOUT = 20.0  # maximum timeout in seconds, because a user is waiting


async def load_page(opened: OpenCollection, browsing: BrowsingLog, url: str) -> Response:
    """Return the response for a URL; its `failure` is set if the page cannot be loaded."""
    visit = opened.store.find_visit(url)
    if visit is not None and visit.location is not None:
        try:
            return replace(opened.archive.read_response(visit.location), url=visit.requested, final_url=visit.url)
        except DamagedError as error:
            return Response(url, url, failure=Failure.BAD_RESPONSE, detail=str(error))
    return browsing.load_page(url) or await _fetch_page(opened, url)


async def _fetch_page(opened: OpenCollection, url: str) -> Response:
    """Fetch a page with the settings of the crawl, and follow redirects. The response may have a failure."""
    _, settings = load_topic_and_settings(opened.directory, {})
    # A user reads web pages only, so documents and feeds are not requested. Users of the web page do not get the
    # credentials of the crawl.
    settings = dataclasses.replace(
        settings, timeout=min(settings.timeout, _MAX_TIMEOUT), documents=False, sitemaps=False, hosts={}
    )
    async with open_fetcher(settings) as polite:
        response = await polite(Link(url))
        for _ in range(_MAX_REDIRECTS):
            if not response.is_unfollowed_redirect:
                break
            response = await polite(Link(response.final_url))
        return response
