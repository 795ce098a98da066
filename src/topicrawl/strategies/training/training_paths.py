"""Training paths of the HMM crawlers: sequences of pages that lead to relevant pages (Batsakis 2007, 3.4).

Browsing sessions are paths. If there are only examples, the collector follows links backwards from each relevant page,
as the context graphs of section 2.5 do. A page is relevant if it is a relevant example, or if it has no label and its
similarity to the topic reaches the threshold. If the examples are complete, unlabelled pages need not be judged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from topicrawl.errors import StrategyError
from topicrawl.models import Page
from topicrawl.relevance.base import Relevance
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.training.training_data import TrainingData
from topicrawl.text.tokenizer import tokenise

_PATHS_PER_EXAMPLE = 5  # number of paths to each relevant example if there are no sessions
_NON_WORD = re.compile(r"[\W_]+")
Item = TypeVar("Item")


@dataclass(frozen=True)
class PathLimits:
    """Limits on the amount of training data that is read."""

    sessions: int
    pages: int  # maximum number of distinct pages
    levels: int
    judged: bool = True  # whether unlabelled pages are scored although there are examples


@dataclass
class TrainingPaths:
    """Paths over readable pages. All pages are identified by their URL after redirects."""

    paths: list[tuple[str, ...]] = field(default_factory=list)
    relevant: set[str] = field(default_factory=set)
    term_counts: dict[str, Counter[str]] = field(default_factory=dict)  # page → term counts
    examples: frozenset[str] = frozenset()  # the relevant pages that are labelled examples

    def compute_levels(self, path: Sequence[str], level_count: int) -> list[int]:
        """Return for each page of a path the number of clicks to the next relevant page.

        `level_count` - 1 stands for that many clicks or more.

        >>> (
        ...     TrainingPaths(relevant={"c"}).compute_levels("abcd", 4),
        ...     TrainingPaths(relevant={"e"}).compute_levels("abcde", 3),
        ... )
        ([2, 1, 0, 3], [2, 2, 2, 1, 0])
        """
        levels_found = []
        clicks = level_count - 1
        for url in reversed(path):
            clicks = 0 if url in self.relevant else min(clicks + 1, level_count - 1)
            levels_found.append(clicks)
        return levels_found[::-1]

    def cut_to_relevant(self) -> TrainingPaths:
        """Return only the paths to relevant pages, each cut after its last relevant page."""
        cut_paths = [
            path[: max(at for at, url in enumerate(path) if url in self.relevant) + 1]
            for path in self._iter_relevant_paths()
        ]
        used = {url for path in cut_paths for url in path}
        terms = {url: terms for url, terms in self.term_counts.items() if url in used}
        return TrainingPaths(cut_paths, self.relevant, terms, self.examples)

    def _iter_relevant_paths(self) -> Iterator[tuple[str, ...]]:
        """Return the paths with at least one relevant page."""
        return (path for path in self.paths if not self.relevant.isdisjoint(path))


class TrainingPathCollector:
    """Collect paths from the training data within the limits. `judge` scores unlabelled pages, by default `vsm`."""

    def __init__(
        self, training_data: TrainingData, vsm: Vsm, limits: PathLimits, *, judge: Relevance | None = None
    ) -> None:
        self._training_data = training_data
        self._vsm = vsm
        self._judge: Relevance = judge or vsm
        self._threshold = vsm.topic.similarity_threshold if judge is None else vsm.topic.threshold
        self._limits = limits
        self._scores_unlabelled = limits.judged or not training_data.relevant
        self._final_urls: dict[str, str] = {}  # URL → URL after redirects, or an empty string if there is no page
        self._irrelevant = frozenset(training_data.irrelevant)
        self._paths = TrainingPaths()

    def collect(self, strategy: str) -> TrainingPaths:
        """Return the training paths. Raise `StrategyError` if training data is missing.

        `strategy` is the name of the strategy in error messages.
        """
        material = self._training_data
        if not material.sessions and not material.relevant:
            raise StrategyError(
                f"{strategy} needs browsing sessions or examples, but there are none: create a model with "
                f"`topicrawl train hmm` and pass it as {strategy}:model=FILE (in the lab: --sessions, --examples)"
            )
        half = self._limits.pages // 2
        self._paths.examples = frozenset(filter(None, map(self._read_page, sample_evenly(material.relevant, half))))
        self._paths.relevant |= self._paths.examples
        if material.relevant and not self._paths.examples:
            raise StrategyError(
                f"{strategy}: none of the {len(material.relevant)} relevant examples is in the training data, "
                f"the first is {material.relevant[0]}"
            )
        if not material.relevant:
            self._read_unlabelled_pages()
        arriving = self._add_session_paths()
        if not arriving and self._paths.relevant:
            self._add_backward_paths()
        if not self._paths.relevant:
            raise StrategyError(
                f"{strategy}: no page of the {len(material.sessions)} browsing sessions is relevant "
                f"(similarity ≥ {self._threshold:g}): name relevant pages with --examples"
            )
        self._add_example_paths()
        return self._paths

    def _read_unlabelled_pages(self) -> None:
        """Read unlabelled session pages to find relevant ones: first URLs with topic words, then frequent URLs."""
        visits = Counter(url for session in self._training_data.sessions for url in session)
        similarities = self._vsm.score_texts([_NON_WORD.sub(" ", url) for url in visits])
        order = sorted(
            zip(similarities, visits.items(), strict=True), key=lambda item: (-item[0], -item[1][1], item[1][0])
        )
        for _, (url, _) in order[: self._limits.pages // 2]:
            self._read_page(url)

    def _add_session_paths(self) -> bool:
        """Add session paths, first those with a relevant page. Return whether any path reaches a relevant page."""
        targets = {*self._training_data.relevant, *self._paths.relevant}
        arriving = [session for session in self._training_data.sessions if not targets.isdisjoint(session)]
        others = [session for session in self._training_data.sessions if targets.isdisjoint(session)]
        limit = self._limits.sessions
        for session in (*sample_evenly(arriving, limit), *sample_evenly(others, max(0, limit - len(arriving)))):
            new = sum(url not in self._final_urls for url in dict.fromkeys(session))
            if len(self._paths.term_counts) + new <= self._limits.pages:
                self._add_path(session)
        return any(not self._paths.relevant.isdisjoint(path) for path in self._paths.paths)

    def _add_backward_paths(self) -> None:
        """Add paths backwards over the links to each relevant page. Path n uses the n-th link at each step."""
        for url in sorted(self._paths.relevant):
            for number in range(_PATHS_PER_EXAMPLE):
                path = [url]
                while len(path) < self._limits.levels and len(self._paths.term_counts) < self._limits.pages:
                    parents = [link.source for link in self._training_data.get_parents(path[0], number + 1)]
                    new = [parent for parent in parents if parent not in path]
                    if not new:
                        break
                    path.insert(0, new[-1])
                if len(path) > 1:
                    self._add_path(path)

    def _add_example_paths(self) -> None:
        """Add examples that are on no path as paths of one page."""
        on_paths = {url for path in self._paths.paths for url in path}
        self._paths.paths += [(url,) for url in sorted(self._paths.relevant - on_paths)]
        room = max(0, self._limits.pages - len(self._paths.term_counts))
        for url in sample_evenly(self._training_data.irrelevant, room):
            final_url = self._read_page(url)
            if final_url and final_url not in on_paths and final_url not in self._paths.relevant:
                self._paths.paths.append((final_url,))

    def _add_path(self, urls: Sequence[str]) -> None:
        """Add a path of the readable pages of a sequence of URLs."""
        final_urls = [end for end in map(self._read_page, urls) if end]
        # A reload of the same page is not a click.
        path = tuple(end for place, end in enumerate(final_urls) if not place or end != final_urls[place - 1])
        if path:
            self._paths.paths.append(path)

    def _read_page(self, url: str) -> str:
        """Read a page and count its terms. Return its URL after redirects, or an empty string if there is no page."""
        if url not in self._final_urls:
            page = self._training_data.get_page(url)
            self._final_urls[url] = page.url if page is not None else ""
            if page is not None and page.url not in self._paths.term_counts:
                self._paths.term_counts[page.url] = self._count_terms(page)
                if (
                    self._scores_unlabelled
                    and url not in self._irrelevant
                    and self._judge.score(page) >= self._threshold
                ):
                    self._paths.relevant.add(page.url)
        return self._final_urls[url]

    def _count_terms(self, page: Page) -> Counter[str]:
        """Return the term counts of a page, including its title."""
        return Counter(self._vsm.lexicon.extract_terms((*tokenise(page.title), *page.words)))


def sample_evenly(items: Sequence[Item], limit: int) -> list[Item]:
    """Return at most `limit` items, evenly spaced from the first to the last, because a file may be sorted.

    >>> sample_evenly("abcdef", 3), sample_evenly("ab", 3)
    (['a', 'c', 'e'], ['a', 'b'])
    """
    count = min(limit, len(items))
    return [items[place * len(items) // count] for place in range(count)]
