"""Links from sitemaps, feeds and the heads of pages, for live crawls.

The sitemaps that a robots.txt names and the feeds that a page names are ordinary links: the strategy scores them, and
the crawler fetches them like pages. Their content is a list of links, and not a page of the collection.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from msgspec.structs import replace

from topicrawl.documents.file_types import is_feed
from topicrawl.engine.context import OffLoopParser
from topicrawl.fetch.rendering.page_renderer import RENDERED_TYPE
from topicrawl.models import Failure, Link, Page, ParsedResponse, ParseFunction, Response
from topicrawl.parse.feeds import FEED_REL, INDEXED_SITEMAP_REL, SITEMAP_REL, is_text_sitemap, parse_feed
from topicrawl.parse.head_links import find_head_links, find_header_links, find_option_links
from topicrawl.urls import get_host, get_origin, resolve_url

#: Sitemaps and feeds of one host that are used, and links that they may give. Earlier runs count.
MAX_HOST_FILES = 50
MAX_HOST_LINKS = 20_000
#: Sitemaps of one robots.txt.
MAX_ROBOTS_SITEMAPS = 5
_MAX_KNOWN_HOSTS = 20_000
_Value = TypeVar("_Value")
_LIST_RELATIONS = frozenset({SITEMAP_REL, INDEXED_SITEMAP_REL, FEED_REL})


class LinkListStore(Protocol):
    """Stored sitemaps and feeds of a crawl."""

    def find_list_relation(self, url: str) -> str:
        """Return the relation by which a page names a URL as a sitemap; empty if none does."""

    def count_link_lists(self, host: str) -> tuple[int, int]:
        """Return the number of sitemaps and feeds of a host that were read, and the number of their links."""


class LinkSourceParser:
    """A `ParseFunction` that adds link sources to `parse`, which parses pages.

    The first page of an origin gets links to the sitemaps that `get_sitemaps` returns for it, as written in its
    robots.txt. Every web page gets the links in its head and in the options of its menus. A sitemap or feed gives a
    page with `is_link_list`. `store` knows the lists of earlier runs.
    """

    def __init__(
        self, parse: ParseFunction, get_sitemaps: Callable[[str], Sequence[str]], store: LinkListStore | None = None
    ) -> None:
        self._parse = parse
        self._get_sitemaps = get_sitemaps
        self._store = store
        self._known_origins: OrderedDict[str, None] = OrderedDict()  # origins whose sitemaps have been added
        self._named_lists: OrderedDict[str, str] = OrderedDict()  # URL → relation: the frontier stores no relations
        self._files: OrderedDict[str, tuple[int, int]] = OrderedDict()  # host → files and links so far

    def __call__(self, response: Response, link: Link) -> Page | Failure:
        """Parse a response: a link list, or a page with additional links."""
        if (rel := self._find_list_relation(response, link)) is not None:
            return self._limit_links(parse_feed(response, replace(link, rel=rel)))
        page = self._parse(response, link)
        return self.add_links(page, response, link) if isinstance(page, Page) else page

    def is_link_list(self, response: Response) -> bool:
        """Return whether a response is a sitemap or a feed."""
        return self._find_list_relation(response, Link(response.url)) is not None

    def _find_list_relation(self, response: Response, link: Link) -> str | None:
        """Return the relation of the link to a sitemap or feed, "" if it is not known, and None for other responses."""
        body = response.readable.body if response.readable is not None else response.body
        if response.failure is not None or not ((is_list := is_feed(body)) or is_text_sitemap(body)):
            return None
        rel = link.rel or self._named_lists.get(link.url, "")
        if not rel and self._store is not None:
            rel = self._store.find_list_relation(link.url)
        return rel if is_list or rel in _LIST_RELATIONS else None

    def add_links(self, page: Page, response: Response, link: Link) -> Page:
        """Return a page with the links in its head and in its menus, and with the sitemaps of its origin."""
        depth = link.depth + 1
        found: tuple[Link, ...] = ()
        readable = response.readable
        if readable is None or readable.type == RENDERED_TYPE:
            body = response.body if readable is None else readable.body
            found = find_head_links(body, page, depth) + find_option_links(body, page, depth)
        if header := response.headers.get("link"):
            found += find_header_links(header, page, depth)
        if self._is_exhausted(get_host(page.url)):
            found = tuple(each for each in found if each.rel != FEED_REL)
        found += self._list_sitemaps(page, depth)
        self._remember_lists(found)
        return replace(page, links=page.links + found) if found else page

    def _remember_lists(self, links: Sequence[Link]) -> None:
        """Remember which of the links lead to sitemaps and feeds."""
        for link in links:
            if link.rel in _LIST_RELATIONS:
                _remember(self._named_lists, link.url, link.rel)

    def _list_sitemaps(self, page: Page, depth: int) -> tuple[Link, ...]:
        """Return the links to the sitemaps of an origin, once per origin."""
        site = get_origin(page.url)
        if site in self._known_origins or not (names := self._get_sitemaps(site)):
            return ()
        _remember(self._known_origins, site, None)
        # The standard requires absolute URLs, but many sites list relative ones.
        urls = [url for name in names[:MAX_ROBOTS_SITEMAPS] if (url := resolve_url(f"{site}/", name))]
        return tuple(Link(url, page.url, tag_path="robots.txt", rel=SITEMAP_REL, depth=depth) for url in urls)

    def _count_lists(self, host_name: str) -> tuple[int, int]:
        """Return the number of lists of a host, and the number of their links."""
        if host_name not in self._files:
            counts = (0, 0) if self._store is None else self._store.count_link_lists(host_name)
            _remember(self._files, host_name, counts)
        return self._files[host_name]

    def _is_exhausted(self, host_name: str) -> bool:
        files, links = self._count_lists(host_name)
        return files >= MAX_HOST_FILES or links >= MAX_HOST_LINKS

    def _limit_links(self, page: Page) -> Page:
        """Count a link list and its links, and drop the links above the limits of its host."""
        host_name = get_host(page.url)
        if self._is_exhausted(host_name):
            return replace(page, links=())
        files, count = self._count_lists(host_name)
        links = page.links[: MAX_HOST_LINKS - count]
        _remember(self._files, host_name, (files + 1, count + len(links)))
        self._remember_lists(links)
        return replace(page, links=links) if len(links) < len(page.links) else page


class OffLoopLinkSourceParser:
    """An `OffLoopParser` that adds link sources to the costly pages of another one. Link lists are not costly."""

    def __init__(self, parser: OffLoopParser, link_sources: LinkSourceParser) -> None:
        self._parser = parser
        self._link_sources = link_sources

    def is_costly(self, response: Response) -> bool:
        """Return whether a response must be parsed outside the event loop."""
        return self._parser.is_costly(response) and not self._link_sources.is_link_list(response)

    async def parse_page(self, response: Response, link: Link) -> ParsedResponse:
        """Parse a page outside the event loop, and add its further links."""
        parsed = await self._parser.parse_page(response, link)
        if parsed.page is None:
            return parsed
        return parsed._replace(page=self._link_sources.add_links(parsed.page, response, link))


def _remember(table: OrderedDict[str, _Value], key: str, value: _Value) -> None:
    """Add an entry to a table, and remove the oldest entry of a full table."""
    table[key] = value
    if len(table) > _MAX_KNOWN_HOSTS:
        table.popitem(last=False)
