"""Recorded web with a persistent cache of its parsed pages.

A simulated crawl makes the same visits as on the plain recording, but several times faster. Nothing is parsed in
advance: a page is parsed when it is first fetched, or when the link graph is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import xxhash

from topicrawl import parse
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.fetch.aliases import find_aliases_file
from topicrawl.fetch.replay import Recording, RecordingIndex, list_warc_files
from topicrawl.lab import fingerprint
from topicrawl.lab.cache import LabCache, default_cache_dir
from topicrawl.models import Failure, Link, LinkContextLevel, Page, RedirectHop, Response
from topicrawl.parse.page_serialization import page_from_values, page_to_values
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.sessions import read_sessions
from topicrawl.topic import Topic

_SESSION_FILES = ("paths.tsv", "paths.tsv.gz")
_TIMED_PAGES = 200  # pages in the sample that measures the parse time

ProgressCallback = Callable[[int, int], None]  # (pages done, all pages)


class ParsedWeb:
    """A recording with its parsed pages. Responses have no body if their page is in the cache.

    `cache` is a cache directory other than the default one. With `cached=False` nothing is cached. `note` is empty, or
    contains in one line the reason why nothing is cached.
    """

    def __init__(self, path: Path, *, cache: Path | None = None, cached: bool = True) -> None:
        self.path = path
        aliases_file = find_aliases_file(path)
        files = [*list_warc_files(path), *([aliases_file] if aliases_file is not None else [])]
        self.fingerprint = fingerprint.hash_file_stats(files)
        self._cache: LabCache | None = None
        index = None
        if cached:
            folder = cache or default_cache_dir()
            key = f"{self.fingerprint}{fingerprint.hash_parser()}"
            self._cache = LabCache(folder / "webs" if folder is not None else None, _cache_name(path), key)
            index = self._cache.get("index", "")
        self.recording = Recording(path, index=RecordingIndex(*index) if index is not None else None)
        if index is None:
            offsets, damage, text_offsets, aliases = self.recording.index
            self._put_cached("index", "", (dict(offsets), damage, dict(text_offsets), dict(aliases)))
        self.contains = self.recording.contains
        self.parser_cache = ParserCache()

    @property
    def note(self) -> str:
        """Reason why nothing is cached, or an empty string."""
        return self._cache.note if self._cache is not None else ""

    async def __call__(self, link: Link) -> Response:
        """Return the recorded response for a link."""
        return self.get_response(link.url)

    def get_response(self, url: str) -> Response:
        """Return the recorded response for a URL, without its body if the response is in the cache."""
        if (cached := self._get_cached("answer", url)) is not None:
            url, final, status, at, detail, kind, failure, hops = cached
            return Response(
                url,
                final,
                status,
                {"content-type": kind},
                at=at,
                detail=detail,
                failure=Failure(failure) if failure else None,
                hops=tuple(RedirectHop(*hop) for hop in hops),
            )
        response = self.recording.get_response(url)
        if self.contains(url):
            fields = (response.url, response.final_url, response.status, response.at, response.detail)
            kind = response.headers.get("content-type", "")
            hops = tuple((hop.url, hop.status) for hop in response.hops)
            self._put_cached("answer", url, (*fields, kind, response.failure and response.failure.value, hops))
        return response

    def parse(
        self, response: Response, link: Link, *, context: LinkContextLevel | bool = True, styles: bool = False
    ) -> Page | Failure:
        """Return the page of a response of this web, from the cache or from `topicrawl.parse`, or the failure."""
        if response.failure is not None:
            return response.failure
        mode = f"page{context:d}{styles:d}"
        values = self._get_cached(mode, response.final_url)
        if values is not None:
            page = page_from_values(values, link.depth + 1, self.parser_cache.vocabularies)
        else:
            full_response = response if response.body else self.recording.get_response(response.final_url)
            page = parse.parse_response(full_response, link, context=context, styles=styles, cache=self.parser_cache)
            if self._cache is not None:
                self._cache.put(mode, response.final_url, page_to_values(page))
        return page

    def get_page(self, url: str, *, context: LinkContextLevel | bool = True, styles: bool = False) -> Page | None:
        """Return the page at a URL, following redirects, or None if there is no page."""
        page = self.parse(self.get_response(url), Link(url), context=context, styles=styles)
        return page if isinstance(page, Page) else None

    def get_parse_seconds(self, *, context: LinkContextLevel | bool = False, styles: bool = False) -> float | None:
        """Return the result of an earlier `parse_all` from the cache, or None."""
        cached = self._get_cached("seconds", f"{context:d}{styles:d}")
        return float(cached) if cached is not None else None

    def parse_all(
        self,
        *,
        context: LinkContextLevel | bool = False,
        styles: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> float:
        """Parse all pages into the cache. Return the mean CPU seconds to parse a page, measured on a sample.

        If an earlier call has done so, return its result.
        """
        if (cached := self.get_parse_seconds(context=context, styles=styles)) is not None:
            return cached
        parse_times: list[float] = []
        interval = max(1, len(self.recording) // _TIMED_PAGES)
        for done, url in enumerate(self.recording, 1):
            response = self.get_response(url)
            if not response.hops and response.failure is None:
                self.parse(response, Link(url), context=context, styles=styles)
                if done % interval == 0:
                    full_response, started = self.recording.get_response(url), process_time()
                    parse.parse_response(
                        full_response, Link(url), context=context, styles=styles, cache=self.parser_cache
                    )
                    parse_times.append(process_time() - started)
            if on_progress is not None:
                on_progress(done, len(self.recording))
        seconds = sum(parse_times) / max(1, len(parse_times))
        self._put_cached("seconds", f"{context:d}{styles:d}", seconds)
        self.flush()
        return seconds

    def build_graph(self, on_progress: ProgressCallback | None = None) -> dict[str, list[str]]:
        """Return the link graph: the pages that each page links to.

        Links to redirects count as links to their final page. Links out of the recording are left out.
        """
        if (cached := self._get_cached("graph", "")) is not None:
            urls, targets = cached
            return {url: [urls[number] for number in numbers] for url, numbers in zip(urls, targets, strict=True)}
        final_urls = self._find_final_urls()
        links_by_page: dict[str, list[str]] = {url: [] for url, end in final_urls.items() if url == end}
        for done, url in enumerate(links_by_page, 1):
            if (page := self.get_page(url, context=False)) is not None:
                targets = dict.fromkeys(final_urls[link.url] for link in page.links if link.url in final_urls)
                links_by_page[url] = [end for end in targets if end != url and end in links_by_page]
            if on_progress is not None:
                on_progress(done, len(links_by_page))
        numbers = {url: number for number, url in enumerate(links_by_page)}
        self._put_cached(
            "graph", "", (list(links_by_page), [[numbers[end] for end in links] for links in links_by_page.values()])
        )
        self.flush()
        return links_by_page

    def find_redirects(self) -> dict[str, str]:
        """Return the final URL of each recorded URL that redirects to a recorded page."""
        if (cached := self._get_cached("redirects", "")) is not None:
            return dict(cached)
        redirects = {url: end for url, end in self._find_final_urls().items() if url != end}
        self._put_cached("redirects", "", redirects)
        self.flush()
        return redirects

    def _find_final_urls(self) -> dict[str, str]:
        """Return the final URL of each recorded URL whose response has no failure."""
        final_urls = {}
        for url in self.recording:
            response = self.get_response(url)
            if response.failure is None:
                final_urls[url] = response.final_url
        return final_urls

    @cached_property
    def sessions(self) -> Sequence[Sequence[str]]:
        """Browsing sessions from the file next to the pages, or an empty sequence."""
        file = find_sessions_file(self.path)
        if file is None:
            return ()
        key = fingerprint.hash_file_stats([file])
        if (cached := self._get_cached("sessions", key)) is not None:
            return [tuple(line.split(" ")) for line in cached.split("\n")]
        sessions = read_sessions(file)
        self._put_cached("sessions", key, "\n".join(map(" ".join, sessions)))
        self.flush()
        return sessions

    def build_training_data(
        self, topic: Topic, sessions: Sequence[Sequence[str]], *, styles: bool
    ) -> RecordedTrainingData:
        """Return the training data of a topic: example pages and browsing sessions."""
        return _ParsedTrainingData(self, topic, sessions, styles=styles)

    def flush(self) -> None:
        """Write the pending cache entries."""
        if self._cache is not None:
            self._cache.flush()

    def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()

    def _get_cached(self, kind: str, name: str) -> Any:
        return self._cache.get(kind, name) if self._cache is not None else None

    def _put_cached(self, kind: str, name: str, value: object) -> None:
        if self._cache is not None:
            self._cache.put(kind, name, value)


class _ParsedTrainingData(RecordedTrainingData):
    """Training data of a recording that takes its pages from the cache of a `ParsedWeb`."""

    def __init__(self, web: ParsedWeb, topic: Topic, sessions: Sequence[Sequence[str]], *, styles: bool) -> None:
        super().__init__(web.recording, topic, sessions, styles=styles)
        self._web = web

    def _parse_page(self, url: str) -> Page | None:
        return self._web.get_page(url, styles=self._styles)

    def _scan_links(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        # Cached separately from `ParsedWeb.build_graph`, so that parents are the same with and without a cache.
        if (cached := self._web._get_cached("sources", "")) is not None:
            return cached[0], cached[1]
        sources = super()._scan_links()
        self._web._put_cached("sources", "", sources)
        return sources


def find_sessions_file(path: Path) -> Path | None:
    """Return the file with browsing sessions next to the pages of a web, or None."""
    folder = path if path.is_dir() else path.parent
    return next((folder / name for name in _SESSION_FILES if (folder / name).is_file()), None)


def _cache_name(path: Path) -> str:
    """Return the name of a web's cache file: the name of its directory and a hash of its path."""
    resolved = path.resolve()
    readable = re.sub(r"[^A-Za-z0-9_.]+", "_", resolved.name)[:40]
    return f"{readable}-{xxhash.xxh3_64_hexdigest(str(resolved).encode('utf-8', 'surrogateescape'))[:8]}"
