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
from topicrawl.search.snippets import Snippet, Snippets
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
            return self._world(asked)

    def search(self, query: Query, world: World | None = None) -> Found:
        """The best pages, with the statistics of a world in which they are to be compared."""
        return self.alone(query, world)[1]

    def alone(self, query: Query, world: World | None = None) -> tuple[World, Found]:
        """The same with the statistics; its own, if there is no other world."""
        asked = parsed(query)
        with self._now():
            world = self._world(asked) if world is None else world
            scores, mask = self._scores(asked, world)
            for url in query.without:
                mask[self._numbers(url)] = False
            matching = np.flatnonzero(mask)
            shown = [part for part in asked.wanted if not world.is_quiet(part.key)]
            snippets = Snippets({stem for part in shown for form in self._forms(part) for stem in form})
            best = self._best(matching, scores, query.offset + query.count)
            texts = self._texts([row.number for row, _ in best])
            hits = tuple(
                self._hit(row, float(scores[row.number]), snippets.of(texts.get(row.number, ""), row.language), copies)
                for row, copies in best
            )
            return world, Found(hits, len(matching))

    def _world(self, asked: Parsed) -> World:
        found = {part.key: len(self._postings(part).numbers) for part in asked.parts}
        return World(self._catalogue.pages, self._catalogue.words, found)

    def _best(self, matching: NDArray[np.intp], scores: scoring.Scores, count: int) -> list[tuple[Row, list[str]]]:
        """The best pages, each text once, with its other addresses."""
        kept: dict[str, tuple[Row, list[str]]] = {}
        done = 0
        while len(kept) < count and done < len(matching):
            # Some more than are wanted, as some may be copies of others; all the same, once is nearly always enough.
            until = min(done + count + _SPARE, len(matching))
            best = matching[scoring.highest(scores[matching], until)]
            order = best[np.lexsort((best, -scores[best]))][done:until].tolist()
            rows = self._rows(order)
            for row in map(rows.__getitem__, order):
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
                row = self._rows([number])[number]
                return vector(row.title, self._texts([number]).get(number, ""), row.language, self._idf)
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
            scoring.add(scores, found, weight * world.idf(part.key), self._catalogue.damping(world.mean))
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

    def _rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        found = self._database.execute(f"SELECT * FROM pages WHERE number IN ({_marks(numbers)})", numbers)
        return {row[0]: Row(*row) for row in found}

    def _texts(self, numbers: Sequence[int]) -> dict[int, str]:
        found = self._database.execute(f"SELECT number, text FROM texts WHERE number IN ({_marks(numbers)})", numbers)
        return {number: unpacked(text, self._unpacker) for number, text in found}

    def _hit(self, row: Row, score: float, shown: Snippet, copies: Sequence[str]) -> Hit:
        return Hit(
            row.url, row.title, score, shown, row.language, row.relevance, row.verdict, row.at, row.digest,
            (self.name,), tuple(copies[:_COPIES]),
        )  # fmt: skip


def _marks(several: Sequence[object]) -> str:
    return ",".join("?" * len(several))


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
