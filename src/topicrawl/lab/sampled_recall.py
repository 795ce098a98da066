"""Estimate the recall of a crawl's relevance decisions from a judged random sample (Kluev 2000, section 5).

A crawl accepts some of the fetched pages as relevant and rejects the others. A user judges a random sample of both:

    relevant among the accepted    K = k + (A − a) · p,   p ~ Beta(k + ½, a − k + ½)
    relevant among the rejected    M = m + (R − r) · q,   q ~ Beta(m + ½, r − m + ½)
    recall                         = K / (K + M)

A and R are the numbers of accepted and rejected pages, a and r the numbers of judged pages among them, and k and m the
numbers of judged pages that are relevant. Only the pages without a judgement are estimated, so that a sample of all
pages leaves no uncertainty. The Beta distributions are the posteriors of a share with Jeffreys' prior. The confidence
interval is the middle 95 % of K / (K + M) over many draws with a fixed random seed.

The result is the recall among *fetched* pages. It says nothing about pages that the crawl never fetched; for those see
`engine/recall_estimate.py`. The estimate is valid only for random samples, not for pages chosen by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from topicrawl.lab.bootstrap import ConfidenceInterval, quantile
from topicrawl.urls import fingerprint, get_host

_POSTERIOR_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """Numbers of pages, of judged pages and of relevant judged pages on one side (accepted or rejected) of a crawl."""

    pages: int
    judged: int
    relevant: int

    @classmethod
    def of(cls, urls: Iterable[str], judgements: Mapping[str, bool]) -> JudgedSample:
        """Count the pages of `urls` and their judgements.

        >>> side = JudgedSample.of(["a", "b", "c"], {"a": True, "b": False, "z": True})
        >>> side.pages, side.judged, side.relevant
        (3, 2, 1)
        """
        distinct = list(dict.fromkeys(urls))
        verdicts = [judgements[url] for url in distinct if url in judgements]
        return cls(len(distinct), len(verdicts), sum(verdicts))

    @property
    def estimate(self) -> float:
        """Estimated number of relevant pages: the share of the sample applied to all pages."""
        return self.pages * self.relevant / self.judged if self.judged else 0.0

    def draw_relevant(self, random: Random) -> float:
        """Draw a number of relevant pages from the posterior distribution."""
        unjudged = self.pages - self.judged
        if not unjudged:
            return float(self.relevant)
        share = random.betavariate(self.relevant + 0.5, self.judged - self.relevant + 0.5)
        return self.relevant + unjudged * share


def estimate_recall(accepted: JudgedSample, rejected: JudgedSample, *, seed: int = 0) -> ConfidenceInterval | None:
    """Estimate the share of the relevant pages that were accepted, with its interval.

    The result is None if a side has pages but no judged page, or if no judged page is relevant.

    Example: 18 of 20 judged pages among 100 accepted ones are relevant, which estimates 90 relevant pages. 2 of 40
    judged pages among 400 rejected ones are relevant, which estimates 20.

    >>> value, low, high = estimate_recall(JudgedSample(100, 20, 18), JudgedSample(400, 40, 2))
    >>> round(value, 2), round(low, 2), round(high, 2)
    (0.82, 0.61, 0.94)
    """
    return estimate_stratified_recall([accepted], rejected, seed=seed)


def estimate_stratified_recall(
    accepted: Sequence[JudgedSample], rejected: JudgedSample, *, seed: int = 0
) -> ConfidenceInterval | None:
    """Estimate the recall as `estimate_recall` does, from separate samples of several groups of accepted pages.

    The groups may have samples of different shares: each is extrapolated on its own.

    >>> round(
    ...     estimate_stratified_recall([JudgedSample(90, 9, 9), JudgedSample(10, 10, 0)], JudgedSample(9, 9, 9))[0], 2
    ... )
    0.91
    """
    if any(side.pages and not side.judged for side in (*accepted, rejected)):
        return None
    found_estimate = sum(group.estimate for group in accepted)
    total = found_estimate + rejected.estimate
    if not total:
        return None
    random = Random(seed)
    recalls = []
    for _ in range(_POSTERIOR_DRAWS):
        found, missed = sum(group.draw_relevant(random) for group in accepted), rejected.draw_relevant(random)
        recalls.append(found / (found + missed) if found + missed else 0.0)
    recalls.sort()
    return ConfidenceInterval(found_estimate / total, quantile(recalls, 0.025), quantile(recalls, 0.975))


def count_relevant_by_host(rejected: Iterable[str], judgements: Mapping[str, bool], *, threshold: float = 0.75) -> int:
    """Count the relevant pages among the rejected ones with Kluev's rule, which decides by host.

        A host with more than ¾ relevant pages among its judged pages contributes all its pages except those judged
        irrelevant. Any other host contributes only its pages judged relevant.

    The rule gives no interval, and it ignores the relevant unjudged pages of hosts below the threshold.

    >>> rejected = ["http://a/1", "http://a/2", "http://b/1", "http://b/2"]
    >>> count_relevant_by_host(rejected, {"http://a/1": True, "http://b/1": False})
    2
    """
    hosts: dict[str, list[str]] = defaultdict(list)
    for url in dict.fromkeys(rejected):
        hosts[get_host(url)].append(url)
    count = 0
    for urls in hosts.values():
        side = JudgedSample.of(urls, judgements)
        is_relevant_host = side.judged and side.relevant > threshold * side.judged
        count += side.pages - side.judged + side.relevant if is_relevant_host else side.relevant
    return count


def draw_sample(urls: Iterable[str], size: int, *, seed: int = 0) -> list[str]:
    """Draw a random sample of pages. The result depends only on the set of pages and the seed.

    >>> draw_sample(["http://a/", "http://b/", "http://c/"], 2) == draw_sample(
    ...     ["http://c/", "http://b/", "http://a/"], 2
    ... )
    True
    """
    ordered: Sequence[str] = sorted(dict.fromkeys(urls), key=lambda url: (fingerprint(f"{seed} {url}"), url))
    return sorted(ordered[:size])
