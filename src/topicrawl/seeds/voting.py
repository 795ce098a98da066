"""Elect seeds by the votes of several search engines.

Safran, Althagafi and Che 2012, III A and B: a seed is among the first results of at least two of three engines.
Irrelevant pages are found in the same way, with a minus before the query. Hati, Kumar and Mishra 2010, 4.1: pages
found by all three engines are most relevant, pages found by two are relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from topicrawl.seeds.provider import EngineAnswer, EngineHit

DEFAULT_VOTES = 2  # votes that a seed needs by default
RANKING_METHODS = ("hits", "pagerank")  # methods for the importance of a page among the results
MIN_UNANIMOUS_ENGINES = 3  # minimum number of engines for a unanimous vote


class SeedGroup(StrEnum):
    """Result of the vote on a page. The value is shown to users."""

    MOST_RELEVANT = "most relevant"  # all engines, at least three
    RELEVANT = "relevant"  # enough engines
    TOO_FEW_VOTES = "too few votes"
    IRRELEVANT = "irrelevant"  # enough engines, for the negative query


@dataclass(frozen=True, slots=True)
class Seed:
    """Page that engines found, with its votes and the group that they give."""

    url: str
    group: SeedGroup
    ranks: Mapping[str, int]  # engine → rank, 1 is the best
    title: str = ""
    snippet: str = ""
    importance: float = 0.0  # importance among the results, if it was computed

    @property
    def votes(self) -> int:
        """Number of engines that found the page."""
        return len(self.ranks)

    @property
    def mean_reciprocal_rank(self) -> float:
        """Mean reciprocal rank over the engines that found the page."""
        return sum(1 / rank for rank in self.ranks.values()) / len(self.ranks)


def get_voting_engines(answers: Iterable[EngineAnswer]) -> list[str]:
    """Return the names of the engines that answered without failure, sorted."""
    return sorted({answer.engine for answer in answers if not answer.trouble})


def elect_seeds(answers: Sequence[EngineAnswer], votes: int = DEFAULT_VOTES) -> list[Seed]:
    """Return all pages found with their group, those with most votes first.

    A page with at least `votes` votes is relevant, one that all answering engines found, three or more, is most
    relevant. An engine that is reached through two providers has one vote. URLs that differ only in http or https, in
    `www.` or in a trailing slash are the same page.

    >>> a, b = EngineHit("http://a.example/", 1), EngineHit("http://b.example/", 2)
    >>> three = [EngineAnswer("x", (a, b)), EngineAnswer("y", (a, b)), EngineAnswer("z", (a,))]
    >>> [(seed.url, seed.votes, str(seed.group)) for seed in elect_seeds(three)]
    [('http://a.example/', 3, 'most relevant'), ('http://b.example/', 2, 'relevant')]
    """
    count = len(get_voting_engines(answers))
    by_page: dict[str, list[tuple[str, EngineHit]]] = {}
    for answer in answers:
        for hit in () if answer.trouble else answer.hits:
            by_page.setdefault(get_page_key(hit.url), []).append((answer.engine, hit))
    seeds = [_build_seed(rows, count, votes) for rows in by_page.values()]
    return sorted(seeds, key=lambda seed: (-seed.votes, -seed.mean_reciprocal_rank, seed.url))


def elect_irrelevant_seeds(
    negative: Sequence[EngineAnswer], relevant: Iterable[Seed], votes: int = DEFAULT_VOTES
) -> list[Seed]:
    """Return the pages that at least `votes` engines return for the negative query, without those in `relevant`."""
    relevant_pages = {get_page_key(seed.url) for seed in relevant}
    others = [
        seed
        for seed in elect_seeds(negative, votes)
        if seed.votes >= votes and get_page_key(seed.url) not in relevant_pages
    ]
    return [Seed(seed.url, SeedGroup.IRRELEVANT, seed.ranks, seed.title, seed.snippet) for seed in others]


def _build_seed(rows: Sequence[tuple[str, EngineHit]], count: int, votes: int) -> Seed:
    """Build a seed from all hits of one page; `count` is the number of engines that answered."""
    ranks: dict[str, int] = {}
    for engine, hit in rows:
        ranks[engine] = min(hit.rank, ranks.get(engine, hit.rank))
    group = SeedGroup.RELEVANT if len(ranks) >= votes else SeedGroup.TOO_FEW_VOTES
    if len(ranks) == count >= max(MIN_UNANIMOUS_ENGINES, votes):
        group = SeedGroup.MOST_RELEVANT
    # HTTPS URLs first, then the best rank.
    best = min((hit for _, hit in rows), key=lambda hit: (not hit.url.startswith("https:"), hit.rank, hit.url))
    by_rank = sorted((hit for _, hit in rows), key=lambda hit: hit.rank)
    title = next((hit.title for hit in by_rank if hit.title), "")
    snippet = max((hit.snippet for hit in by_rank), key=len)
    return Seed(best.url, group, dict(sorted(ranks.items())), title, snippet)


def get_page_key(url: str) -> str:
    """Return a key that is the same for all URLs of one page: without scheme, `www.` and trailing slash.

    >>> get_page_key("https://www.who.int/dengue/") == get_page_key("http://who.int/dengue")
    True
    """
    return url.partition("://")[2].removeprefix("www.").rstrip("/")
