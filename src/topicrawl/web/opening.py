"""A page that someone wants to read: from the collection, from what was opened before, or from the web.

From the web it is fetched as a crawl would fetch it: through the guard that lets nobody reach private addresses, as
robots.txt allows, with the bounds on size and time that the collection's crawl has.
"""

from __future__ import annotations

from dataclasses import replace

from topicrawl.collection.browsing import Browsing
from topicrawl.errors import DamagedError
from topicrawl.fetch.guard import networks
from topicrawl.fetch.http import Http, HttpSettings
from topicrawl.fetch.polite import Polite
from topicrawl.fetch.status import REDIRECTS
from topicrawl.plan import READABLE, resumed
from topicrawl.records import Failure, Link, Response
from topicrawl.web.shelves import Opened

_MOVED = 5  # times that a page may lead on
_PATIENCE = 20.0  # seconds at the most: a reader waits


async def read_page(opened: Opened, browsing: Browsing, url: str) -> Response:
    """The page at an address, or why there is none."""
    visit = opened.store.visit_of(url)
    if visit is not None and visit.spot is not None:
        try:
            return replace(opened.archive.read(visit.spot), url=visit.requested, final_url=visit.url)
        except DamagedError as error:
            return Response(url, url, failure=Failure.BAD_RESPONSE, detail=str(error))
    return browsing.kept(url) or await _fetched(opened, url)


async def _fetched(opened: Opened, url: str) -> Response:
    _, settings = resumed(opened.directory, {})
    asked = HttpSettings(
        contact=settings.contact, total_timeout=min(settings.timeout, _PATIENCE), max_bytes=settings.max_bytes,
        proxy=settings.proxy, accept=READABLE, allow=networks(settings.allow_net), resolve=settings.addresses(),
    )  # fmt: skip
    async with Http(asked) as http:
        polite = Polite(http, delay=settings.delay, robots=settings.robots)
        response = await polite(Link(url))
        for _ in range(_MOVED):
            if response.failure is not None or response.status not in REDIRECTS:
                break
            response = await polite(Link(response.final_url))
        return response
