"""How much of what was fetched and relevant did a crawl recognise? Recall from a judged sample (Kluev 2000, section 5).

A crawl accepts some of the pages it fetched and rejects the others. People judge a sample of both, drawn by lot. Then

    relevant among the accepted    K = k + (A − a) · p,   p ~ Beta(k + ½, a − k + ½)
    relevant among the rejected    M = m + (R − r) · q,   q ~ Beta(m + ½, r − m + ½)
    recall                         = K / (K + M)

A, R: pages accepted and rejected; a, r: how many of them were judged; k, m: how many of these are relevant. What was
judged is known; only the rest is estimated, so a sample of everything leaves no doubt. The Beta distributions are
what a sample of that size says about a share (Jeffreys' prior); the interval is the middle 95 % of what K / (K + M)
becomes when both are drawn many times, always the same way.

It is the recall among pages that were *fetched*. Pages that no link led to, or whose turn never came, are not in it:
for those see `remaining.py`. And it holds for samples drawn by lot; pages picked by hand say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from topicrawl.lab.bootstrap import Interval, quantile
from topicrawl.urls import fingerprint, host

_DRAWINGS = 4000


@dataclass(frozen=True, slots=True)
class Sampled:
    """One side of a crawl: how many pages it has, how many of them were judged, how many of these are relevant."""

    pages: int
    judged: int
    relevant: int

    @classmethod
    def of(cls, urls: Iterable[str], judgements: Mapping[str, bool]) -> Sampled:
        """Counted from addresses and what was said of some of them.

        >>> Sampled.of(["a", "b", "c"], {"a": True, "b": False, "z": True})
        Sampled(pages=3, judged=2, relevant=1)
        """
        known = list(dict.fromkeys(urls))
        said = [judgements[url] for url in known if url in judgements]
        return cls(len(known), len(said), sum(said))

    @property
    def estimate(self) -> float:
        """How many are relevant, as the sample has it."""
        return self.pages * self.relevant / self.judged if self.judged else 0.0

    def drawn(self, random: Random) -> float:
        """How many are relevant, as it might be."""
        left = self.pages - self.judged
        if not left:
            return float(self.relevant)
        share = random.betavariate(self.relevant + 0.5, self.judged - self.relevant + 0.5)
        return self.relevant + left * share


def recall(accepted: Sampled, rejected: Sampled, *, seed: int = 0) -> Interval | None:
    """The share of the relevant pages that were accepted; None where a side has pages but no judged one.

    Of 100 accepted pages 20 were judged, 18 relevant: about 90. Of 400 rejected 40 were judged, 2 relevant: about 20.

    >>> value, low, high = recall(Sampled(100, 20, 18), Sampled(400, 40, 2))
    >>> round(value, 2), round(low, 2), round(high, 2)
    (0.82, 0.61, 0.94)
    """
    if any(side.pages and not side.judged for side in (accepted, rejected)):
        return None
    total = accepted.estimate + rejected.estimate
    if not total:
        return None
    random = Random(seed)
    drawn = []
    for _ in range(_DRAWINGS):
        kept, missed = accepted.drawn(random), rejected.drawn(random)
        drawn.append(kept / (kept + missed) if kept + missed else 0.0)
    drawn.sort()
    return Interval(accepted.estimate / total, quantile(drawn, 0.025), quantile(drawn, 0.975))


def by_directory(rejected: Iterable[str], judgements: Mapping[str, bool], *, sure: float = 0.75) -> int:
    """Relevant pages among the rejected by Kluev's own rule, which takes whole hosts.

        a host counts with all its pages but those judged irrelevant, when more than ¾ of its judged pages are relevant;
        otherwise with its pages judged relevant only

    The rule has no interval, and it forgets the relevant pages of hosts that are relevant by half.

    >>> rejected = ["http://a/1", "http://a/2", "http://b/1", "http://b/2"]
    >>> by_directory(rejected, {"http://a/1": True, "http://b/1": False})
    2
    """
    hosts: dict[str, list[str]] = defaultdict(list)
    for url in dict.fromkeys(rejected):
        hosts[host(url)].append(url)
    count = 0
    for urls in hosts.values():
        side = Sampled.of(urls, judgements)
        many = side.judged and side.relevant > sure * side.judged
        count += side.pages - side.judged + side.relevant if many else side.relevant
    return count


def sample(urls: Iterable[str], size: int, *, seed: int = 0) -> list[str]:
    """Pages drawn by lot, always the same ones for the same pages, whatever their order.

    >>> sample(["http://a/", "http://b/", "http://c/"], 2) == sample(["http://c/", "http://b/", "http://a/"], 2)
    True
    """
    ordered: Sequence[str] = sorted(dict.fromkeys(urls), key=lambda url: (fingerprint(f"{seed} {url}"), url))
    return sorted(ordered[:size])
