"""Training data from a recorded web or from the archive of an earlier crawl.

Pages are parsed on demand. The backlinks of a page are found by scanning the whole recording once, and only for a
strategy that needs parent pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from html import unescape

from topicrawl import parse
from topicrawl.fetch.replay import Recording
from topicrawl.models import Link, Page
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.topic import Topic
from topicrawl.urls import LinkResolver

_MAX_CACHED_PAGES = 2000  # parsed pages in the cache: examples, their parents, pages of sessions
_HREF = re.compile(rb"""\bhref\s*=\s*["']?([^"'\s>]+)""", re.I)


class RecordedTrainingData:
    """Example pages, their backlinks and browsing sessions from a recording."""

    def __init__(
        self, recording: Recording, topic: Topic, sessions: Sequence[Sequence[str]] = (), *, styles: bool = False
    ) -> None:
        self._recording = recording
        self.relevant: Sequence[str] = tuple(dict.fromkeys(topic.relevant))
        self.irrelevant: Sequence[str] = tuple(dict.fromkeys(topic.irrelevant))
        self.sessions = sessions
        self._styles = styles
        self._parser_cache = ParserCache()
        self._pages: dict[str, Page | None] = {}

    def get_page(self, url: str) -> Page | None:
        """Return a parsed page, or None if it is not in the recording or cannot be parsed."""
        if url not in self._pages:
            if len(self._pages) >= _MAX_CACHED_PAGES:
                del self._pages[next(iter(self._pages))]
            self._pages[url] = self._parse_page(url)
        return self._pages[url]

    def _parse_page(self, url: str) -> Page | None:
        response = self._recording.get_response(url)
        if response.failure is not None:
            return None
        page = parse.parse_response(response, Link(url), context=True, styles=self._styles, cache=self._parser_cache)
        return page if isinstance(page, Page) else None

    def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
        """Return links to a page from up to `limit` other pages of the recording, the first link of each page.

        Redirects are resolved: the links to a URL that redirects are those to its final URL. The result is empty if no
        recorded page links to it.
        """
        target = self._resolve_redirect(url)
        links: list[Link] = []
        for source in self._sources_by_url.get(target, ()):
            page = self.get_page(source)
            if page is not None:
                links += [link for link in page.links if self._resolve_redirect(link.url) == target][:1]
            if len(links) >= limit:
                break
        return links

    def _resolve_redirect(self, url: str) -> str:
        """Return the final URL of a recorded URL after redirects, or the URL itself if it does not redirect."""
        return self._link_graph[0].get(url, url)

    @cached_property
    def _sources_by_url(self) -> dict[str, list[str]]:
        """URL → the recorded pages with a link to it, in the order of the recording."""
        sources: dict[str, list[str]] = {}
        for source, targets in self._link_graph[1].items():
            for end in dict.fromkeys(map(self._resolve_redirect, targets)):
                if end != source:
                    sources.setdefault(end, []).append(source)
        return sources

    @cached_property
    def _link_graph(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Redirects (URL → final URL) and link targets (page URL → recorded URLs in its HTML source)."""
        return self._scan_links()

    def _scan_links(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Scan the HTML source for links. The scan is fast and inexact; results are checked against the parsed page."""
        redirects: dict[str, str] = {}
        targets: dict[str, list[str]] = {}
        for url in self._recording:
            response = self._recording.get_response(url)
            if response.hops:
                redirects[url] = response.final_url
            elif response.failure is None:
                resolver = LinkResolver(url, self._parser_cache.links)
                body = response.readable.body if response.readable is not None else response.body
                urls = (resolver(unescape(name.decode("utf-8", "replace"))) for name in _HREF.findall(body))
                targets[url] = [name for name in dict.fromkeys(urls) if name and self._recording.contains(name)]
        return redirects, targets
