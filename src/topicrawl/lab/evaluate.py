"""Evaluate a stored crawl against pages judged relevant, as in Batsakis 2007, section 4.2.

The similarity of a page is its largest cosine with a page judged relevant, computed on tf·idf vectors. The two criteria
are the number of pages above a threshold and the mean similarity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import hypot
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec import json as msgspec_json

from topicrawl import parse
from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.errors import CollectionError, DamagedError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.measures import average_similarity, harvest_ratio, precision_rate
from topicrawl.models import Link, Page, Response
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic


class StoredCrawl:
    """Read-only access to the pages of a crawl directory, in fetch order."""

    def __init__(self, directory: Path) -> None:
        if not (directory / "topicrawl.sqlite").is_file():
            raise CollectionError(f"{directory} holds no crawl; specify a directory created by `topicrawl crawl`")
        self.topic: Topic = load_crawl_topic(directory)
        self._store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
        self._archive = WarcArchive(directory)
        self.unreadable: list[str] = []  # URLs of pages that cannot be read from the archive

    def iter_pages(self) -> Iterator[tuple[StoredVisit, Page]]:
        """Yield every stored page with its visit, in fetch order. Pages that cannot be read are skipped."""
        for row in self._store.iterate_visits("failure IS NULL"):
            page = self._load_page(row)
            if page is not None:
                yield row, page
            else:
                self.unreadable.append(row.url)

    def iter_visits(self) -> Iterator[StoredVisit]:
        """Yield the visits that stored a page."""
        return self._store.iterate_visits("failure IS NULL")

    def get_page(self, url: str) -> Page | None:
        """Return the page with this URL, or None if the crawl has no readable page there."""
        row = self._store.find_visit(url)
        return self._load_page(row) if row is not None else None

    def _load_page(self, row: StoredVisit) -> Page | None:
        if row.location is None:
            return None
        try:
            return parse_page(self._archive.read_response(row.location), row.url)
        except DamagedError:
            return None

    def close(self) -> None:
        """Close the archive and the store."""
        self._archive.close()
        self._store.close()


class RecordedRun:
    """Read-only access to the pages of a simulated crawl: the visits that `topicrawl lab run --out` wrote, and its web.

    It has the methods of `StoredCrawl`. The visits do not contain the topic, so a page counts as accepted from the
    default threshold on.
    """

    def __init__(self, path: Path, recording: Recording) -> None:
        self.topic = Topic.of("run")
        self.unreadable: list[str] = []
        self._recording = recording
        self._visits: list[RecordedVisit] = []
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    try:
                        visit = msgspec_json.decode(line, type=RecordedVisit)
                    except DecodeError as error:
                        raise UsageError(f"{path}:{number}: not a visit of `topicrawl lab run`: {error}") from error
                    if visit.failure is None:
                        self._visits.append(visit)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error

    def iter_pages(self) -> Iterator[tuple[RecordedVisit, Page]]:
        """Yield every page with its visit, in fetch order. Pages that are not in the recording are skipped."""
        for visit in self._visits:
            page = self.get_page(visit.url)
            if page is not None:
                yield visit, page
            else:
                self.unreadable.append(visit.url)

    def iter_visits(self) -> Iterator[RecordedVisit]:
        """Yield the visits without a failure."""
        return iter(self._visits)

    def get_page(self, url: str) -> Page | None:
        """Return the page with this URL, or None if the recording has none."""
        return parse_page(self._recording.get_response(url), url) if self._recording.contains(url) else None

    def close(self) -> None:
        """Do nothing: a recording needs not be closed."""


class RecordedVisit(Struct):
    """A line that `topicrawl lab run` wrote."""

    url: str
    relevance: float | None = None
    failure: str | None = None


def parse_page(response: Response, url: str) -> Page | None:
    """Parse a response. Return None if it is not a page."""
    page = parse.parse_response(response, Link(url), context=False)
    return page if isinstance(page, Page) else None


class MaxCosineSimilarity:
    """Largest cosine similarity of a page with the pages judged relevant.

        similarity(p) = maxⱼ Σₜ Wpt·Wjt / (√Σ Wpt² · √Σ Wjt²),   W = tf · idf

    p is the page, j a page judged relevant and t a term.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> like = MaxCosineSimilarity([Page("a", words=("owl", "night")), Page("b", words=("fox",))], load_lexicon("xx"))
    >>> round(like(Page("c", words=("owl", "night", "owl", "night"))), 6), like(Page("d", words=("train",)))
    (1.0, 0.0)
    """

    def __init__(self, judged: Sequence[Page], lexicon: LanguageLexicon) -> None:
        self._lexicon = lexicon
        # Inverted index, term → [(number of the judged page, weight)], so that only common terms cost time.
        self._index: dict[str, list[tuple[int, float]]] = {}
        self._count = len(judged)
        for number, page in enumerate(judged):
            for term, weight in self._unit_vector(page).items():
                self._index.setdefault(term, []).append((number, weight))

    def __call__(self, page: Page) -> float:
        products = [0.0] * self._count
        for term, weight in self._unit_vector(page).items():
            for number, other in self._index.get(term, ()):
                products[number] += weight * other
        return min(1.0, max(products, default=0.0))

    def _unit_vector(self, page: Page) -> dict[str, float]:
        """Return the tf·idf vector of a page, normalised to length 1. It is empty for a page without words."""
        weights = self._lexicon.compute_weights((*tokenise(page.title), *page.words))
        length = hypot(*weights.values())
        return {term: weight / length for term, weight in weights.items()} if length else {}


@dataclass(frozen=True)
class EvaluationResult:
    """Result of `evaluate_crawl`. The similarity of a page is its largest cosine with a page judged relevant."""

    threshold: float
    judged: int  # number of readable pages judged relevant
    similarities: list[float] = field(repr=False)  # of each page, in fetch order
    judged_steps: list[int] = field(default_factory=list, repr=False)  # numbers of the pages that are judged themselves
    accepted: int = 0  # number of pages that the crawl judges relevant

    @property
    def pages(self) -> int:
        """Number of pages of the crawl."""
        return len(self.similarities)

    @property
    def relevant(self) -> int:
        """Number of pages whose similarity to a page judged relevant is above the threshold."""
        return sum(value > self.threshold for value in self.similarities)

    @property
    def unjudged_relevant(self) -> int:
        """Number of pages above the threshold that are not judged pages themselves."""
        return self.relevant - sum(self.similarities[step - 1] > self.threshold for step in self.judged_steps)

    @property
    def precision_rate(self) -> float:
        """Share of pages that the crawl judges relevant (Safran et al. 2012, equation 6)."""
        return precision_rate(self.accepted, self.pages)

    @property
    def harvest_ratio(self) -> float:
        """Share of pages whose similarity to a page judged relevant is above the threshold."""
        return harvest_ratio(self.similarities, self.threshold)

    @property
    def average_similarity(self) -> float:
        """Mean over the pages of their largest cosine with a page judged relevant."""
        return average_similarity(self.similarities)

    def cumulative_relevant(self) -> list[int]:
        """Return for each page how many pages up to it, in fetch order, are above the threshold."""
        counts, count = [], 0
        for value in self.similarities:
            count += value > self.threshold
            counts.append(count)
        return counts

    def cumulative_averages(self) -> list[float]:
        """Return for each page the mean similarity of the pages up to it, in fetch order."""
        means, total = [], 0.0
        for number, value in enumerate(self.similarities, 1):
            total += value
            means.append(total / number)
        return means


def load_judged_pages(
    urls: Sequence[str], crawl: StoredCrawl | RecordedRun, recording: Recording | None = None
) -> tuple[list[Page], list[str]]:
    """Load pages by URL from the crawl or else from a recorded web. Return them with the URLs found in neither."""
    pages, missing = [], []
    for url in dict.fromkeys(urls):
        page = crawl.get_page(url)
        if page is None and recording is not None and recording.contains(url):
            page = parse_page(recording.get_response(url), url)
        if page is None or not page.words:
            missing.append(url)
        else:
            pages.append(page)
    return pages, missing


def evaluate_crawl(
    crawl: StoredCrawl | RecordedRun, judged: Sequence[Page], threshold: float = 0.75
) -> EvaluationResult:
    """Compare every page of a crawl with the pages judged relevant.

    Raise `UsageError` if no judged page is given, or if the crawl has stored no page.
    """
    if not judged:
        raise UsageError(
            "none of the pages judged relevant can be read: specify a recorded web that contains them (--from)"
        )
    similarity = MaxCosineSimilarity(judged, crawl.topic.lexicon)
    judged_urls = {page.url for page in judged}
    similarities, judged_steps, accepted = [], [], 0
    pages: Iterable[tuple[StoredVisit | RecordedVisit, Page]] = crawl.iter_pages()
    for number, (visit, page) in enumerate(pages, 1):
        similarities.append(similarity(page))
        accepted += (visit.relevance or 0.0) >= crawl.topic.threshold
        if page.url in judged_urls:
            judged_steps.append(number)
    if not similarities:
        raise UsageError("the crawl has stored no page yet: there is nothing to evaluate")
    return EvaluationResult(threshold, len(judged), similarities, judged_steps, accepted)
