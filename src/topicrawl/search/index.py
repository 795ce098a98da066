"""The full text of one collection: words, phrases and fields, BM25, snippets, and pages as vectors.

An `Index` belongs to the thread that made it, sees what `Indexing` has written until the moment it is asked, and
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from topicrawl.database import errors_of
from topicrawl.errors import CollectionError
from topicrawl.search import scoring
from topicrawl.search.answers import Hit, Query
from topicrawl.search.catalogue import Catalogue, Mask
from topicrawl.search.index_file import FILE, LIVE, Row, inode, opened, tongue, unpacked
from topicrawl.search.indexing import Indexing
from topicrawl.search.postings import Postings, Reader, merged
from topicrawl.search.query import Parsed, Part, parsed
from topicrawl.search.scoring import World
from topicrawl.search.snippets import snippet
from topicrawl.search.vectors import vector
from topicrawl.urls import canonical, fingerprint

_TONGUES = 5  # languages in whose forms a word is looked for
_SPARE = 5  # pages beyond those that are wanted
_COPIES = 20  # addresses of the same text that are named
_SPOKEN = 0.01  # share of pages from which a language counts


class Found(NamedTuple):
    """The best pages of one collection, and how many match."""

    hits: tuple[Hit, ...]
    pages: int


NOTHING = Found((), 0)


class Index:
    """Answers for one collection. `Index.up_to_date(directory)` indexes what is missing before."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.name = directory.resolve().name
        if not (directory / FILE).exists():
            catch_up(directory, most=0)
        self._file = inode(directory)
        self._database = opened(directory, readonly=True)
        self._catalogue = Catalogue(self._database)
        self._reader = Reader(self._database)
        self._unpacker = zstandard.ZstdDecompressor()
        self._version = -1
        self._tongues: list[str] = []

    @classmethod
    def up_to_date(cls, directory: Path) -> Index:
        catch_up(directory)
        return cls(directory)

    def close(self) -> None:
        self._database.close()

    @property
    def is_current(self) -> bool:
        """Whether the file that was opened is still the index."""
        return self._file == inode(self.directory)

    @property
    def pages(self) -> int:
        with self._now():
            return self._catalogue.pages

    def statistics(self, asked: Parsed) -> World:
        """How many pages match each part of a query, and how many there are."""
        with self._now():
            found = {part.key: len(self._postings(part).numbers) for part in asked.parts}
            return World(self._catalogue.pages, self._catalogue.words, found)

    def search(self, query: Query, world: World | None = None) -> Found:
        """The best pages, with the statistics of a world in which they are to be compared."""
        asked = parsed(query)
        world = self.statistics(asked) if world is None else world
        with self._now():
            scores, mask = self._scores(asked, world)
            for url in query.without:
                mask[self._numbers(url)] = False
            matching = np.flatnonzero(mask)
            shown = [part for part in asked.wanted if not world.is_quiet(part.key)]
            stems = {stem for part in shown for form in self._forms(part) for stem in form}
            best = self._best(matching, scores, query.offset + query.count)
            hits = tuple(self._hit(row, float(scores[row.number]), stems, copies) for row, copies in best)
            return Found(hits, len(matching))

    def _best(self, matching: NDArray[np.intp], scores: scoring.Scores, count: int) -> list[tuple[Row, list[str]]]:
        """The best pages, each text once, with its other addresses."""
        kept: dict[str, tuple[Row, list[str]]] = {}
        done = 0
        while len(kept) < count and done < len(matching):
            # Some more than are wanted, as some may be copies of others; all the same, once is nearly always enough.
            until = min(done + count + _SPARE, len(matching))
            best = matching
            if until < len(matching):
                best = matching[np.argpartition(-scores[matching], until)[: until + 1]]
            for number in best[np.lexsort((best, -scores[best]))][done:until]:
                row = self._row(int(number))
                name = row.digest or row.url
                if name in kept:
                    kept[name][1].append(row.url)
                elif len(kept) < count:
                    kept[name] = row, []
            done = until
        return list(kept.values())

    def vector(self, url: str) -> dict[str, float]:
        """The words that tell a page from others, with weights; empty when it is not here."""
        with self._now():
            for number in self._numbers(url):
                row = self._row(number)
                return vector(row.title, self._text(number), row.language, self._idf)
        return {}

    def sketch(self, most: int) -> tuple[int, list[int]]:
        """How many texts there are, and the least of their fingerprints: what is common shows there (`overlap.py`)."""
        with self._now():
            sql = "SELECT digest, url FROM pages WHERE state = ?"
            found = {fingerprint(digest or url) for digest, url in self._database.execute(sql, (LIVE,))}
        return len(found), sorted(found)[:most]

    @contextmanager
    def _now(self) -> Iterator[None]:
        """One view of the index, however much is being written."""
        with errors_of(self.directory / FILE):
            self._database.execute("BEGIN")
            try:
                ((version,),) = self._database.execute("PRAGMA data_version")
                if version != self._version:
                    self._version = version
                    self._catalogue.refresh()
                    self._reader.cover(len(self._catalogue.lengths) - 1)
                    self._tongues = self._catalogue.languages(_SPOKEN)[:_TONGUES] or [""]
                yield
            finally:
                self._database.execute("COMMIT")

    def _scores(self, asked: Parsed, world: World) -> tuple[scoring.Scores, Mask]:
        """The score of every page, and which pages match."""
        lengths = self._catalogue.lengths
        scores = np.zeros(len(lengths), np.float32)
        matching = np.zeros(len(lengths), np.bool_)
        loud = {part: weight for part, weight in asked.wanted.items() if not world.is_quiet(part.key)}
        for part, weight in (loud or asked.wanted).items():
            found = self._postings(part)
            scoring.add(scores, found, weight * world.idf(part.key), lengths, world.mean)
            if weight > 0:
                matching[found.numbers] = True
        if not asked.wanted and asked != Parsed():
            matching[:] = True  # whatever passes the filters
        matching &= self._catalogue.matching(asked.filters)
        for part in asked.must:
            having = np.zeros(len(lengths), np.bool_)
            having[self._postings(part).numbers] = True
            matching &= having
        for part in asked.never:
            matching[self._postings(part).numbers] = False
        return scores, matching

    def _forms(self, part: Part) -> list[tuple[str, ...]]:
        """A part in the stems of each language that is spoken here."""
        if part.is_prefix:
            return [part.words]
        return list(dict.fromkeys(tuple(map(tongue(it).stem, part.words)) for it in self._tongues))

    def _postings(self, part: Part) -> Postings:
        return merged([self._reader.postings(replace(part, words=form)) for form in self._forms(part)])

    def _idf(self, terms: Sequence[str]) -> Mapping[str, float]:
        pages = self._catalogue.pages
        return {term: World(pages, 0, {term: self._reader.frequency(term)}).idf(term) for term in terms}

    def _numbers(self, url: str) -> list[int]:
        """The number of the page at an address, if it is here."""
        sql = "SELECT number FROM pages WHERE id = ? AND state = ?"
        asked = (fingerprint(canonical(url) or url), LIVE)
        return [int(number) for (number,) in self._database.execute(sql, asked) if number < len(self._catalogue.live)]

    def _row(self, number: int) -> Row:
        return Row(*self._database.execute("SELECT * FROM pages WHERE number = ?", (number,)).fetchone())

    def _text(self, number: int) -> str:
        found = self._database.execute("SELECT text FROM texts WHERE number = ?", (number,)).fetchone()
        return unpacked(found[0], self._unpacker) if found else ""

    def _hit(self, row: Row, score: float, stems: set[str], copies: Sequence[str]) -> Hit:
        shown = snippet(self._text(row.number), stems, row.language)
        return Hit(
            row.url, row.title, score, shown, row.language, row.relevance, row.verdict, row.at, row.digest,
            (self.name,), tuple(copies[:_COPIES]),
        )  # fmt: skip


def catch_up(directory: Path, *, most: int | None = None) -> bool:
    """Index what is missing; False: another process is at it."""
    try:
        indexing = Indexing(directory)
    except CollectionError as error:
        if "is in use by process" not in str(error):
            raise
        return False
    try:
        indexing.run(most=most)
    finally:
        indexing.close()
    return True
