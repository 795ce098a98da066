"""From a collection to rows that others can use: one for each page, read again from the archive, one at a time.

Nothing is held: however large the collection, a reader needs the memory of one page.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple, get_args, get_type_hints

from topicrawl import parse
from topicrawl.collection.archive import Archive, Spot
from topicrawl.collection.directory import topic_of
from topicrawl.collection.store import Store, Stored, writable
from topicrawl.errors import DamagedError, UsageError
from topicrawl.parse.main_text import main_text
from topicrawl.parse.markdown import markdown
from topicrawl.parse.signals import signals
from topicrawl.records import Page, Response
from topicrawl.topic import Topic
from topicrawl.urls import canonical, fingerprint, host

_LONGEST_CHAIN = 100
_REMEMBERED = 20_000  # pages whose way from a seed is known without asking again


class Text(StrEnum):
    """What stands in the column `text`."""

    VISIBLE = "visible"  # all that a reader sees, one block a line
    MAIN = "main"  # the same without menus, side columns and footers; other than HTML: as visible
    MARKDOWN = "markdown"  # the same with headings, lists, tables and links; other than HTML: as visible
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Exported:
    """A page for others, in the order of the columns; each with its sentence."""

    id: Annotated[str, "Of the address: the same in every format, every export and every crawl."]
    url: Annotated[str, "After redirects."]
    title: Annotated[str, ""]
    text: Annotated[str, "As chosen: visible text, main text, Markdown, or nothing."]
    language: Annotated[str, "ISO 639-1; empty when unknown."]
    type: Annotated[str, "Media type as the host named it."]
    bytes: Annotated[int, "Of the decoded body."]
    words: Annotated[int, "Of the visible text."]
    relevance: Annotated[float, "Similarity to the topic, 0 to 1."]
    relevant: Annotated[bool, "Whether the relevance reaches the topic's threshold."]
    fetched: Annotated[datetime, "When the page was asked for, UTC."]
    status: Annotated[int, "Of HTTP."]
    canonical: Annotated[str, "Where the page says that its canonical form is."]
    digest: Annotated[str, "Of the visible text: equal digests, equal texts."]
    requested: Annotated[str, "The link that was followed, before redirects."]
    source: Annotated[str, "The page that the link stood on; empty for a seed."]
    anchor: Annotated[str, "The link's text."]
    chain: Annotated[tuple[str, ...], "The pages from a seed to this one, the seed first."]
    depth: Annotated[int, "Links from a seed."]
    step: Annotated[int, "Which fetch of the crawl it was."]
    score: Annotated[float, "The link's score when its turn came."]
    segment: Annotated[str, "The WARC file of the collection that holds the response."]
    offset: Annotated[int, "The first byte of its record there."]
    length: Annotated[int, "The compressed length of the record."]
    licence: Annotated[str, "What the page names as its licence: an address or words; empty: it names none."]
    licence_from: Annotated[str, "Where: rel, meta, json-ld, or link (an address of Creative Commons in the text)."]
    robots: Annotated[tuple[str, ...], "What the page asks of robots, as written: noai, noimageai, nofollow …"]
    tdm_reserved: Annotated[bool | None, "W3C TDM Reservation Protocol: whether mining is reserved; empty: not said."]
    tdm_policy: Annotated[str, "Where the conditions for mining stand."]


class Column(NamedTuple):
    name: str
    kind: object  # as annotated
    sentence: str


def columns() -> list[Column]:
    """The columns of every table that is exported.

    >>> columns()[0].name, columns()[6].kind
    ('id', <class 'int'>)
    """
    hints = get_type_hints(Exported, include_extras=True)
    return [Column(item.name, *get_args(hints[item.name])) for item in dataclasses.fields(Exported)]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which pages; an empty list chooses all."""

    relevance: float | None = None  # the least; None: the topic's threshold
    languages: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # and the hosts below them
    types: tuple[str, ...] = ()  # "text/html", or "text" for all of them
    since: float = 0.0  # fetched at that time or later
    until: float = float("inf")  # fetched before that time

    def __post_init__(self) -> None:
        # What fits no page at all is a slip, and an empty file would not say so.
        for name in self.languages:
            if name and not (name.isascii() and name.isalpha() and 2 <= len(name) <= 3):
                raise UsageError(f"a language is a code such as en or de, not {name!r}")
        for name in self.hosts:
            if canonical(f"http://{name}/") != f"http://{name}/":
                raise UsageError(f"a host is a name such as example.org, not {name!r}")
        if not self.since < self.until:
            raise UsageError("no page is fetched since a time and before an earlier one: change --since or --until")

    def takes(self, url: str, language: str, kind: str) -> bool:
        """Whether a page is chosen, as far as the table of visits does not know.

        >>> Choice(hosts=("a.org",), types=("text",)).takes("http://www.a.org:81/x", "en", "text/html")
        True
        """
        place = host(url)
        name = place.partition(":")[0]
        return (
            (not self.languages or language in self.languages)
            and (not self.hosts or any(it in (name, place) or name.endswith(f".{it}") for it in self.hosts))
            and (not self.types or any(kind == it or kind.startswith(f"{it}/") for it in self.types))
        )


@dataclass
class Pages:
    """The chosen pages of a collection. `for page in pages: …`; afterwards `unreadable` says how many were lost."""

    directory: Path
    choice: Choice = field(default_factory=Choice)
    text: Text = Text.VISIBLE
    unreadable: int = 0  # pages whose record in the archive is damaged
    seen: int = 0  # candidates so far, chosen or not

    def __post_init__(self) -> None:
        self._store = Store(self.directory / "topicrawl.sqlite", readonly=True)
        self._archive = Archive(self.directory)
        self.topic: Topic = topic_of(self.directory)
        least = self.topic.threshold if self.choice.relevance is None else self.choice.relevance
        self._where = "failure IS NULL AND segment IS NOT NULL AND relevance >= ? AND at >= ? AND at < ?"
        self._values = (least, self.choice.since, self.choice.until)
        self._parent = lru_cache(_REMEMBERED)(self._source_of)

    def candidates(self) -> int:
        """How many there are to look at: at least as many as will be chosen."""
        ((count,),) = self._store.rows(f"SELECT count(*) FROM visits WHERE {self._where}", self._values)
        return int(str(count))

    def latest(self) -> float:
        """When the last of the candidates was fetched; 0 without any."""
        ((at,),) = self._store.rows(f"SELECT coalesce(max(at), 0) FROM visits WHERE {self._where}", self._values)
        return float(str(at))

    def fact(self, name: str) -> object:
        return self._store.fact(name)

    def __iter__(self) -> Iterator[Exported]:
        for visit in self._store.visits(self._where, self._values):
            self.seen += 1
            sql = "SELECT title, language, words, bytes, type, canonical, digest FROM pages WHERE id=? AND step=?"
            for row in self._store.rows(sql, (fingerprint(visit.url), visit.step)):
                if self.choice.takes(visit.url, str(row[1]), str(row[4])):
                    made = self._exported(visit, row)
                    if made is not None:
                        yield made

    def member(self, page: Exported) -> bytes:
        """The page's record in the archive, compressed as it stands there."""
        return self._archive.member(Spot(int(page.segment.partition(".")[0]), page.offset, page.length))

    def close(self) -> None:
        self._archive.close()
        self._store.close()

    def _exported(self, visit: Stored, row: tuple[object, ...]) -> Exported | None:
        title, language, words, size, kind, canonical, digest = row
        spot = visit.spot
        assert spot is not None  # asked for
        try:
            response = dataclasses.replace(self._archive.read(spot), url=visit.requested, final_url=visit.url)
            text = self._text(visit, response)
        except DamagedError:
            self.unreadable += 1
            return None
        said = signals(response)
        return Exported(
            id=f"{fingerprint(visit.url) & 0xFFFFFFFFFFFFFFFF:016x}", url=visit.url, title=str(title), text=text,
            language=str(language), type=str(kind), bytes=int(str(size)), words=int(str(words)),
            relevance=visit.relevance or 0.0, relevant=(visit.relevance or 0.0) >= self.topic.threshold,
            fetched=datetime.fromtimestamp(visit.at, UTC), status=visit.status, canonical=str(canonical),
            digest=str(digest), requested=visit.requested, source=visit.source, anchor=visit.anchor,
            chain=self._chain(visit), depth=visit.depth, step=visit.step, score=visit.score,
            segment=f"{spot.segment:05d}.warc.gz", offset=spot.offset, length=spot.length,
            licence=writable(said.licence), licence_from=said.licence_from,
            robots=tuple(map(writable, said.robots)), tdm_reserved=said.tdm_reserved,
            tdm_policy=writable(said.tdm_policy),
        )  # fmt: skip

    def _text(self, visit: Stored, response: Response) -> str:
        """The text as it was chosen; a page that was read once can be read again."""
        if self.text is Text.NONE:
            return ""
        shown = response.content_type if response.readable is None else response.readable.type
        if self.text is Text.MARKDOWN and "html" in shown:
            return writable(markdown(response))
        page = parse.read(response, visit.link, context=False)
        if not isinstance(page, Page):
            raise DamagedError(f"{visit.url}: cannot be read again: {page}")
        return writable(main_text(response, page) if self.text is Text.MAIN else page.text)

    def _chain(self, visit: Stored) -> tuple[str, ...]:
        chain, source = [visit.url], visit.source
        while source and len(chain) < _LONGEST_CHAIN and source not in chain:
            chain.append(source)
            source = self._parent(source)
        return tuple(chain[::-1])

    def _source_of(self, url: str) -> str:
        visit = self._store.visit_of(url)
        return visit.source if visit is not None else ""
