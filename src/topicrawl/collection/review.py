"""Which pages a reviewer looks at, and what follows for the others: Kluev 2000, section 5.

Pages that were found relevant are put into groups: the same directory, and the same metric that chose the link to them.
Of a group a fifth is read. If three quarters of these are relevant, so is the whole group; if not, its pages are read
one by one. Pages that were found irrelevant are sampled too, or nobody would know what was missed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from topicrawl.collection.store import Store
from topicrawl.collection.verdicts import Ruling, Verdict, latest
from topicrawl.relevance.directories import directory

SAMPLE = 0.2  # of a group that is read
ENOUGH = 0.75  # of a sample that must be relevant
REJECTED = 0.05  # of the pages below the threshold that are read
_MOST_REJECTED = 40
_UNDOUBTED = 2.0  # times the threshold: a metric is worth all it can be from there on
_ALL = """
    SELECT p.url, p.title, coalesce(v.relevance, 0), v.parts, v.source, p.id FROM pages p JOIN visits v USING (step)
    ORDER BY p.step
"""


class Candidate(NamedTuple):
    """A page that may be reviewed."""

    url: str
    title: str
    relevance: float
    reason: str  # the metric that chose the link to it
    id: int
    verdict: Ruling | None = None  # None: nobody has looked


@dataclass(frozen=True)
class Group:
    """Pages that are judged by a sample."""

    directory: str
    reason: str
    pages: Sequence[Candidate]
    accepts: bool = True  # whether the sample may decide on the others
    sample: Sequence[Candidate] = field(default_factory=tuple)

    @property
    def read(self) -> list[Candidate]:
        return [page for page in self.sample if page.verdict is not None]

    @property
    def share(self) -> float:
        """How much of what was read of the sample is relevant; who is unsure does not say so."""
        read = self.read
        return sum(page.verdict == Ruling.RELEVANT for page in read) / len(read) if read else 0.0

    @property
    def accepted(self) -> bool:
        """Whether the sample was read and is good enough for all."""
        return self.accepts and len(self.read) == len(self.sample) and self.share >= ENOUGH

    @property
    def unread(self) -> list[Candidate]:
        """What is still to be read: the rest of the sample; of a group that failed, all of it."""
        rest = [page for page in self.sample if page.verdict is None]
        if rest or not self.accepts or self.share >= ENOUGH:
            return rest
        return [page for page in self.pages if page.verdict is None]

    @property
    def implied(self) -> list[str]:
        """Pages that nobody has read and that are relevant because the sample is."""
        return [page.url for page in self.pages if page.verdict is None] if self.accepted else []


def candidates(store: Store) -> list[Candidate]:
    """Every page with what is known of it."""
    said: Mapping[int, Verdict] = latest(store)
    found = []
    for url, title, relevance, parts, source, page in store.each(_ALL):
        number = int(str(page))
        verdict = said[number].verdict if number in said else None
        reason = _reason(str(parts)) if source else "seed"
        found.append(Candidate(str(url), str(title), float(str(relevance)), reason, number, verdict))
    return found


def groups(pages: Sequence[Candidate], threshold: float) -> list[Group]:
    """The groups of the pages found relevant, those first that are least sure; behind them a sample of the others."""
    together: dict[tuple[str, str], list[Candidate]] = {}
    for page in pages:
        if page.relevance >= threshold:
            together.setdefault((directory(page.url), page.reason), []).append(page)
    made = [
        Group(place, reason, its, sample=sampled(its, ceil(SAMPLE * len(its)), threshold))
        for (place, reason), its in together.items()
    ]
    made.sort(key=lambda group: min(abs(page.relevance - threshold) for page in group.sample))
    rejected = [page for page in pages if page.relevance < threshold]
    if rejected:
        some = sampled(rejected, min(_MOST_REJECTED, ceil(REJECTED * len(rejected))), threshold)
        made.append(Group("", "rejected", rejected, accepts=False, sample=some))
    return made


def sampled(pages: Sequence[Candidate], count: int, threshold: float) -> list[Candidate]:
    """A draw that is the same each time and changes little when pages come in; the least sure of it first."""
    # A URL's fingerprint is as good as a die.
    drawn = sorted(pages, key=lambda page: page.id * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)[:count]
    return sorted(drawn, key=lambda page: abs(page.relevance - threshold))


def queue(made: Sequence[Group], threshold: float) -> list[tuple[Candidate, Group]]:
    """What a reviewer should read, the least sure first; the sample of rejected pages comes last."""
    waiting = [(page, group) for group in made for page in group.unread]
    return sorted(waiting, key=lambda pair: (not pair[1].accepts, abs(pair[0].relevance - threshold), pair[0].url))


def undoubted(pages: Sequence[Candidate], threshold: float) -> list[str]:
    """Pages that need no reviewer if nobody insists: twice as similar as it takes, and nobody has looked."""
    return [page.url for page in pages if page.verdict is None and page.relevance >= _UNDOUBTED * threshold]


def missed(pages: Sequence[Candidate], threshold: float) -> tuple[int, int]:
    """Of the pages below the threshold: how many were read, and how many of them are relevant after all."""
    read = [page for page in pages if page.relevance < threshold and page.verdict is not None]
    return len(read), sum(page.verdict == Ruling.RELEVANT for page in read)


def _reason(parts: str) -> str:
    """The part that gave a link most of its score.

    >>> _reason('[["page", 0.2], ["anchor", 0.7]]'), _reason("[]")
    ('anchor', 'order')
    """
    named = [(float(value), str(name)) for name, value in json.loads(parts)]
    best = max(named, default=(0.0, ""))
    return best[1] if best[0] > 0 else "order"
