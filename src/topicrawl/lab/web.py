"""A recorded web whose pages are parsed once: what was read is kept for the next crawl, and for the next run.

A crawl over it makes the same visits as one over the plain recording, several times faster. Nothing is read ahead: a
page is parsed when it is first fetched, or when somebody asks for the whole graph.
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
from topicrawl.fetch.replay import Index, Recording, warc_files
from topicrawl.lab import fingerprint
from topicrawl.lab.cache import Cache, usual_folder
from topicrawl.lab.material import Recorded
from topicrawl.lab.packing import page_of, page_values
from topicrawl.records import Around, Failure, Hop, Link, Page, Response
from topicrawl.sessions import read_sessions
from topicrawl.topic import Topic

_SESSIONS = ("paths.tsv", "paths.tsv.gz")
_TIMED = 200  # pages that say how long parsing takes
_ENTRIES = ("url", "final_url", "status", "at", "detail")

Tell = Callable[[int, int], None]  # done, of all


class ParsedWeb:
    """A recording with its parsed pages; a `Fetch` whose responses carry no body once their page is known.

    `cache` names another folder than the usual one; with `cached=False` nothing is kept. `note` is empty, or says in
    one line why nothing could be kept.
    """

    def __init__(self, path: Path, *, cache: Path | None = None, cached: bool = True) -> None:
        self.path = path
        self.fingerprint = fingerprint.of_files(warc_files(path))
        self._cache: Cache | None = None
        index = None
        if cached:
            folder = cache or usual_folder()
            key = f"{self.fingerprint}{fingerprint.of_readers()}"
            self._cache = Cache(folder / "webs" if folder is not None else None, _name(path), key)
            index = self._cache.value("index", "")
        self.recording = Recording(path, index=Index(*index) if index is not None else None)
        if index is None:
            found = self.recording.index
            self._keep("index", "", (dict(found.places), found.torn, dict(found.texts)))
        self.known = self.recording.known

    @property
    def note(self) -> str:
        return self._cache.note if self._cache is not None else ""

    async def __call__(self, link: Link) -> Response:
        """What was recorded for the link."""
        return self.answer(link.url)

    def answer(self, url: str) -> Response:
        """What was recorded for a URL; without its body if that was read in an earlier run."""
        if (found := self._kept("answer", url)) is not None:
            url, final, status, at, detail, kind, failure, hops = found
            return Response(
                url, final, status, {"content-type": kind}, at=at, detail=detail,
                failure=Failure(failure) if failure else None, hops=tuple(Hop(*hop) for hop in hops),
            )  # fmt: skip
        response = self.recording.answer(url)
        if self.known(url):
            told = tuple(getattr(response, name) for name in _ENTRIES)
            kind = response.headers.get("content-type", "")
            hops = tuple((hop.url, hop.status) for hop in response.hops)
            self._keep("answer", url, (*told, kind, response.failure and response.failure.value, hops))
        return response

    def parse(
        self, response: Response, link: Link, *, context: Around | bool = True, styles: bool = False
    ) -> Page | Failure:
        """The page in a response of this web, as `topicrawl.parse.read` gives it."""
        if response.failure is not None:
            return response.failure
        mode = f"page{context:d}{styles:d}"
        values = self._kept(mode, response.final_url)
        if values is not None:
            page = page_of(values, link.depth + 1)
        else:
            whole = response if response.body else self.recording.answer(response.final_url)
            page = parse.read(whole, link, context=context, styles=styles)
            if self._cache is not None:
                self._cache.keep(mode, response.final_url, page_values(page))
        return page

    def page(self, url: str, *, context: Around | bool = True, styles: bool = False) -> Page | None:
        """The page at the end of a URL's redirects, or None."""
        page = self.parse(self.answer(url), Link(url), context=context, styles=styles)
        return page if isinstance(page, Page) else None

    def seconds(self, *, context: Around | bool = False, styles: bool = False) -> float | None:
        """What `read_all` said, if it was done before."""
        known = self._kept("seconds", f"{context:d}{styles:d}")
        return float(known) if known is not None else None

    def read_all(self, *, context: Around | bool = False, styles: bool = False, tell: Tell | None = None) -> float:
        """Parse what was not parsed yet; returns the seconds of CPU that parsing a page takes on average."""
        if (known := self.seconds(context=context, styles=styles)) is not None:
            return known
        taken: list[float] = []
        every = max(1, len(self.recording) // _TIMED)
        for done, url in enumerate(self.recording, 1):
            response = self.answer(url)
            if not response.hops and response.failure is None:
                self.parse(response, Link(url), context=context, styles=styles)
                if done % every == 0:
                    whole, begun = self.recording.answer(url), process_time()
                    parse.read(whole, Link(url), context=context, styles=styles)
                    taken.append(process_time() - begun)
            if tell is not None:
                tell(done, len(self.recording))
        seconds = sum(taken) / max(1, len(taken))
        self._keep("seconds", f"{context:d}{styles:d}", seconds)
        self.flush()
        return seconds

    def graph(self, tell: Tell | None = None) -> dict[str, list[str]]:
        """Page → the pages that its links lead to, as a crawler sees them: redirects followed, nothing from outside."""
        if (known := self._kept("graph", "")) is not None:
            urls, targets = known
            return {url: [urls[number] for number in numbers] for url, numbers in zip(urls, targets, strict=True)}
        ends = {}
        for url in self.recording:
            response = self.answer(url)
            if response.failure is None:
                ends[url] = response.final_url
        found: dict[str, list[str]] = {url: [] for url, end in ends.items() if url == end}
        for done, url in enumerate(found, 1):
            if (page := self.page(url, context=False)) is not None:
                targets = dict.fromkeys(ends[link.url] for link in page.links if link.url in ends)
                found[url] = [end for end in targets if end != url and end in found]
            if tell is not None:
                tell(done, len(found))
        numbers = {url: number for number, url in enumerate(found)}
        self._keep("graph", "", (list(found), [[numbers[end] for end in ends] for ends in found.values()]))
        self.flush()
        return found

    @cached_property
    def sessions(self) -> Sequence[Sequence[str]]:
        """The browsing sessions that lie beside the pages; none where there are none."""
        file = sessions_beside(self.path)
        if file is None:
            return ()
        told = fingerprint.of_files([file])
        if (known := self._kept("sessions", told)) is not None:
            return [tuple(line.split(" ")) for line in known.split("\n")]
        found = read_sessions(file)
        self._keep("sessions", told, "\n".join(map(" ".join, found)))
        self.flush()
        return found

    def material(self, topic: Topic, sessions: Sequence[Sequence[str]], *, styles: bool) -> Recorded:
        """Examples and sessions to learn from."""
        return _Material(self, topic, sessions, styles=styles)

    def flush(self) -> None:
        """Write down what was read."""
        if self._cache is not None:
            self._cache.flush()

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()

    def _kept(self, kind: str, name: str) -> Any:
        return self._cache.value(kind, name) if self._cache is not None else None

    def _keep(self, kind: str, name: str, value: object) -> None:
        if self._cache is not None:
            self._cache.keep(kind, name, value)


class _Material(Recorded):
    """The same examples as from the plain recording, with pages that are known already."""

    def __init__(self, web: ParsedWeb, topic: Topic, sessions: Sequence[Sequence[str]], *, styles: bool) -> None:
        super().__init__(web.recording, topic, sessions, styles=styles)
        self._web = web

    def _read(self, url: str) -> Page | None:
        return self._web.page(url, styles=self._styles)

    def _looked(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        # The quick look's own answer, not that of `ParsedWeb.graph`: with and without a cache, parents are the same.
        if (known := self._web._kept("sources", "")) is not None:
            return known[0], known[1]
        found = super()._looked()
        self._web._keep("sources", "", found)
        return found


def sessions_beside(path: Path) -> Path | None:
    """The file with people's browsing sessions beside the pages of a web."""
    folder = path if path.is_dir() else path.parent
    return next((folder / name for name in _SESSIONS if (folder / name).is_file()), None)


def _name(path: Path) -> str:
    """The name of a web's file: what people call it, and a few digits that tell it from others of that name."""
    where = path.resolve()
    plain = re.sub(r"[^A-Za-z0-9_.]+", "_", where.name)[:40]
    return f"{plain}-{xxhash.xxh3_64_hexdigest(str(where).encode('utf-8', 'surrogateescape'))[:8]}"
