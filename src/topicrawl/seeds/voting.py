"""Several engines vote on where to start.

Safran, Althagafi and Che 2012, III A and B: a seed is in the first results of at least two of three engines; pages for
the other side come the same way from the query with a minus in front. Hati, Kumar and Mishra 2010, 4.1: what all three
engines find is most relevant, what two find is relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from topicrawl.seeds.provider import Answer, Hit

USUAL = 2  # votes
METHODS = ("hits", "pagerank")  # that tell how important a page is among the results
UNANIMOUS = 3  # engines that must be there before all of them count for more than two


class Group(StrEnum):
    """How sure the engines are of a page; the value is what users see."""

    MOST_RELEVANT = "most relevant"  # all engines, three at the least
    RELEVANT = "relevant"  # enough engines
    ALONE = "too few votes"
    IRRELEVANT = "irrelevant"  # enough engines, to the negative query


@dataclass(frozen=True, slots=True)
class Seed:
    """A page with its votes."""

    url: str
    group: Group
    ranks: Mapping[str, int]  # engine → where the page stands there, 1 is the best
    title: str = ""
    snippet: str = ""
    importance: float = 0.0  # among the results, when it was asked for

    @property
    def votes(self) -> int:
        return len(self.ranks)

    @property
    def standing(self) -> float:
        """Mean of 1 / rank over the engines that have it."""
        return sum(1 / rank for rank in self.ranks.values()) / len(self.ranks)


def voters(answers: Iterable[Answer]) -> list[str]:
    """The engines whose answers count, in the order of their names."""
    return sorted({answer.engine for answer in answers if not answer.trouble})


def elected(answers: Sequence[Answer], votes: int = USUAL) -> list[Seed]:
    """Every page that was found, those with most votes first.

    An engine that was asked in two ways has one vote. Addresses that differ in http or https, in `www.` or in a last
    slash are one page.

    >>> a, b = Hit("http://a.example/", 1), Hit("http://b.example/", 2)
    >>> three = [Answer("x", (a, b)), Answer("y", (a, b)), Answer("z", (a,))]
    >>> [(seed.url, seed.votes, str(seed.group)) for seed in elected(three)]
    [('http://a.example/', 3, 'most relevant'), ('http://b.example/', 2, 'relevant')]
    """
    count = len(voters(answers))
    found: dict[str, list[tuple[str, Hit]]] = {}
    for answer in answers:
        for hit in () if answer.trouble else answer.hits:
            found.setdefault(same(hit.url), []).append((answer.engine, hit))
    seeds = [_seed(rows, count, votes) for rows in found.values()]
    return sorted(seeds, key=lambda seed: (-seed.votes, -seed.standing, seed.url))


def rejected(negative: Sequence[Answer], relevant: Iterable[Seed], votes: int = USUAL) -> list[Seed]:
    """The pages that enough engines give to the negative query and none to the other one."""
    taken = {same(seed.url) for seed in relevant}
    others = [seed for seed in elected(negative, votes) if seed.votes >= votes and same(seed.url) not in taken]
    return [Seed(seed.url, Group.IRRELEVANT, seed.ranks, seed.title, seed.snippet) for seed in others]


def _seed(rows: Sequence[tuple[str, Hit]], count: int, votes: int) -> Seed:
    ranks: dict[str, int] = {}
    for engine, hit in rows:
        ranks[engine] = min(hit.rank, ranks.get(engine, hit.rank))
    group = Group.RELEVANT if len(ranks) >= votes else Group.ALONE
    if len(ranks) == count >= max(UNANIMOUS, votes):
        group = Group.MOST_RELEVANT
    # The secure spelling, and then the one that ranks best.
    best = min((hit for _, hit in rows), key=lambda hit: (not hit.url.startswith("https:"), hit.rank, hit.url))
    told = sorted((hit for _, hit in rows), key=lambda hit: hit.rank)
    title = next((hit.title for hit in told if hit.title), "")
    snippet = max((hit.snippet for hit in told), key=len)
    return Seed(best.url, group, dict(sorted(ranks.items())), title, snippet)


def same(url: str) -> str:
    """What two addresses of one page have in common.

    >>> same("https://www.who.int/dengue/") == same("http://who.int/dengue")
    True
    """
    return url.partition("://")[2].removeprefix("www.").rstrip("/")
