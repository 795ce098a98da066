"""A recorded web, or the archive of an earlier crawl, as material to learn from.

Pages are read when they are asked for. The links that lead to a page are found by going through all addresses of the
recording once; that is done only for a strategy that asks for parents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from html import unescape

from topicrawl import parse
from topicrawl.fetch.replay import Recording
from topicrawl.records import Link, Page
from topicrawl.topic import Topic
from topicrawl.urls import Joiner

_KEPT = 2000  # pages that are kept parsed: examples, their parents, pages of sessions
_HREF = re.compile(rb"""\bhref\s*=\s*["']?([^"'\s>]+)""", re.I)


class Recorded:
    """Examples and sessions, read from a recording."""

    def __init__(
        self, recording: Recording, topic: Topic, sessions: Sequence[Sequence[str]] = (), *, styles: bool = False
    ) -> None:
        self._recording = recording
        self.relevant: Sequence[str] = tuple(dict.fromkeys(topic.relevant))
        self.irrelevant: Sequence[str] = tuple(dict.fromkeys(topic.irrelevant))
        self.sessions = sessions
        self._styles = styles
        self._pages: dict[str, Page | None] = {}

    def page(self, url: str) -> Page | None:
        if url not in self._pages:
            if len(self._pages) >= _KEPT:
                del self._pages[next(iter(self._pages))]
            self._pages[url] = self._read(url)
        return self._pages[url]

    def _read(self, url: str) -> Page | None:
        response = self._recording.answer(url)
        if response.failure is not None:
            return None
        page = parse.read(response, Link(url), context=True, styles=self._styles)
        return page if isinstance(page, Page) else None

    def parents(self, url: str, most: int = 5) -> Sequence[Link]:
        found: list[Link] = []
        for source in self._sources.get(self._end(url), ()):
            page = self.page(source)
            found += [link for link in page.links if self._end(link.url) == url][:1] if page is not None else []
            if len(found) >= most:
                break
        return found

    def _end(self, url: str) -> str:
        """Where a recorded address leads, after redirects."""
        return self._graph[0].get(url, url)

    @cached_property
    def _sources(self) -> dict[str, list[str]]:
        """Address → the pages of the recording with a link to it, in the order of the recording."""
        sources: dict[str, list[str]] = {}
        for source, targets in self._graph[1].items():
            for end in dict.fromkeys(map(self._end, targets)):
                if end != source:
                    sources.setdefault(end, []).append(source)
        return sources

    @cached_property
    def _graph(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Address → where its redirects end, and page → the recorded addresses that stand in its source."""
        return self._looked()

    def _looked(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """The look at the source is quick and not exact; what it finds is checked against the parsed page."""
        moved: dict[str, str] = {}
        targets: dict[str, list[str]] = {}
        for url in self._recording:
            response = self._recording.answer(url)
            if response.hops:
                moved[url] = response.final_url
            elif response.failure is None:
                joined = Joiner(url)
                body = response.readable.body if response.readable is not None else response.body
                names = (joined(unescape(name.decode("utf-8", "replace"))) for name in _HREF.findall(body))
                targets[url] = [name for name in dict.fromkeys(names) if name and self._recording.known(name)]
        return moved, targets
