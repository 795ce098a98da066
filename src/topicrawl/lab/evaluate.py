"""A crawl that exists, against pages that people judged: the evaluator of Batsakis 2007, section 4.2.

Every page that the crawl kept is compared with all pages judged relevant, by the cosine of their tf·idf vectors, and
the largest cosine counts. Two criteria are made of it: how many pages are above a threshold, and the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import hypot
from pathlib import Path

from topicrawl import parse
from topicrawl.collection.archive import Archive
from topicrawl.collection.directory import topic_of
from topicrawl.collection.store import Store, Stored
from topicrawl.errors import CollectionError, DamagedError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.measures import average_similarity, harvest_ratio
from topicrawl.records import Link, Page, Response
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic


class Crawled:
    """The pages of a crawl's directory, in the order in which they were fetched; reading only."""

    def __init__(self, directory: Path) -> None:
        if not (directory / "topicrawl.sqlite").is_file():
            raise CollectionError(f"{directory} holds no crawl; name a directory that `topicrawl crawl` made")
        self.topic: Topic = topic_of(directory)
        self._store = Store(directory / "topicrawl.sqlite", readonly=True)
        self._archive = Archive(directory)
        self.lost: list[str] = []  # pages that no longer read back

    def pages(self) -> Iterator[tuple[Stored, Page]]:
        """Every page that was kept, with its visit."""
        for row in self._store.visits("failure IS NULL"):
            page = self._page(row)
            if page is not None:
                yield row, page
            else:
                self.lost.append(row.url)

    def visits(self) -> Iterator[Stored]:
        """The visits that brought a page home."""
        return self._store.visits("failure IS NULL")

    def page(self, url: str) -> Page | None:
        """A page by its address."""
        row = self._store.visit_of(url)
        return self._page(row) if row is not None else None

    def _page(self, row: Stored) -> Page | None:
        if row.spot is None:
            return None
        try:
            return read(self._archive.read(row.spot), row.url)
        except DamagedError:
            return None

    def close(self) -> None:
        self._archive.close()
        self._store.close()


def read(response: Response, url: str) -> Page | None:
    page = parse.read(response, Link(url), context=False)
    return page if isinstance(page, Page) else None


class Likeness:
    """The largest cosine of a page with any of some pages.

        likeness(p) = maxⱼ Σₜ Wpt·Wjt / (√Σ Wpt² · √Σ Wjt²),   W = tf · idf

    p: the page; j: a page judged relevant; t: a term.

    >>> from topicrawl.text.lexicon import lexicon
    >>> like = Likeness([Page("a", words=("owl", "night")), Page("b", words=("fox",))], lexicon("xx"))
    >>> round(like(Page("c", words=("owl", "night", "owl", "night"))), 6), like(Page("d", words=("train",)))
    (1.0, 0.0)
    """

    def __init__(self, judged: Sequence[Page], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        # Term → (number of the judged page, weight): only terms that both pages have cost anything.
        self._index: dict[str, list[tuple[int, float]]] = {}
        self._count = len(judged)
        for number, page in enumerate(judged):
            for term, weight in self._unit(page).items():
                self._index.setdefault(term, []).append((number, weight))

    def __call__(self, page: Page) -> float:
        products = [0.0] * self._count
        for term, weight in self._unit(page).items():
            for number, other in self._index.get(term, ()):
                products[number] += weight * other
        return min(1.0, max(products, default=0.0))

    def _unit(self, page: Page) -> dict[str, float]:
        """The page's vector, of length 1; empty for a page without words."""
        weights = self._lexicon.weights((*tokenise(page.title), *page.words))
        length = hypot(*weights.values())
        return {term: weight / length for term, weight in weights.items()} if length else {}


@dataclass(frozen=True)
class Score:
    """What the evaluator found."""

    threshold: float
    judged: int  # pages judged relevant that were there to compare with
    similarities: list[float] = field(repr=False)  # of each page, in the order of the crawl

    @property
    def pages(self) -> int:
        return len(self.similarities)

    @property
    def relevant(self) -> int:
        return sum(value > self.threshold for value in self.similarities)

    @property
    def harvest_ratio(self) -> float:
        return harvest_ratio(self.similarities, self.threshold)

    @property
    def average_similarity(self) -> float:
        return average_similarity(self.similarities)

    def found(self) -> list[int]:
        """How many pages above the threshold there were after each page."""
        counts, count = [], 0
        for value in self.similarities:
            count += value > self.threshold
            counts.append(count)
        return counts

    def averages(self) -> list[float]:
        """The average similarity after each page."""
        means, total = [], 0.0
        for number, value in enumerate(self.similarities, 1):
            total += value
            means.append(total / number)
        return means


def judged_pages(
    urls: Sequence[str], crawled: Crawled, recording: Recording | None = None
) -> tuple[list[Page], list[str]]:
    """The pages of some addresses, from the crawl or else from a recorded web; and the addresses found in neither."""
    pages, missing = [], []
    for url in dict.fromkeys(urls):
        page = crawled.page(url)
        if page is None and recording is not None and recording.known(url):
            page = read(recording.answer(url), url)
        if page is None or not page.words:
            missing.append(url)
        else:
            pages.append(page)
    return pages, missing


def evaluate(crawled: Crawled, judged: Sequence[Page], threshold: float = 0.75) -> Score:
    """Compare every page of a crawl with the pages judged relevant."""
    if not judged:
        raise UsageError("none of the pages judged relevant could be read: name a recorded web that has them (--from)")
    like = Likeness(judged, crawled.topic.lexicon)
    similarities = [like(page) for _, page in crawled.pages()]
    if not similarities:
        raise UsageError("the crawl has kept no page yet: there is nothing to evaluate")
    return Score(threshold, len(judged), similarities)
