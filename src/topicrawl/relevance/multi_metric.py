"""Several metrics vote on a page: Kluev 2000, section 4. A page that two or more of them call relevant undoubtedly is.

| metric | calls a page relevant when |
|---|---|
| collocations | it says enough of the filter's pairs, or enough of its triples |
| terms | it says enough of the filter's terms |
| vsm | it is similar enough to the filter's terms as a whole |
| passage | it is not, but one of its passages is (half of that similarity is enough) |
| directory | none of these does, but an undoubted page was found in the same directory |

The group of a page is what a reader of samples goes by: undoubted; collocations or terms alone; vsm; passage;
directory. The paper tells when a page is relevant and not what its score is. Here each metric is worth its value over
twice its threshold, so that at its threshold it is worth one half, and 1 at the most; the score is the mean of terms,
collocations and similarity. A passage or a directory may stand in for the similarity, and is worth one half at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from topicrawl.records import Carry, Page
from topicrawl.relevance.directories import Directories
from topicrawl.relevance.filter_tuning import Recommended, Tuning
from topicrawl.relevance.sieve import Said, Sieve
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.vectors import cosine
from topicrawl.topic import Thresholds

_PROFILE = 300  # terms of the profile of wrong pages


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the metrics say of a page."""

    values: Mapping[str, float]  # terms, pairs, triples, vsm; passage, directory and wrong where they were asked
    metrics: tuple[str, ...]  # that call it relevant
    score: float  # 0…1

    @property
    def undoubted(self) -> bool:
        return len(self.metrics) > 1

    @property
    def group(self) -> str:
        """Which pages it is judged with: "undoubted", "filter", "vsm", "passage", "directory", or "" if not at all.

        >>> [Verdict({}, votes, 0.5).group for votes in ((), ("terms",), ("vsm",), ("terms", "vsm"))]
        ['', 'filter', 'vsm', 'undoubted']
        """
        if self.undoubted:
            return "undoubted"
        metric = "".join(self.metrics)
        return "filter" if metric in ("collocations", "terms") else metric


def degree(value: float, threshold: float) -> float:
    """What a metric is worth: one half at its threshold, 1 from twice its threshold on.

    >>> [degree(value, 0.2) for value in (0.0, 0.1, 0.2, 0.5)]
    [0.0, 0.25, 0.5, 1.0]
    """
    return min(1.0, value / (2 * threshold)) if threshold else float(value > 0)


@dataclass
class MultiMetric:
    """A filter that votes, and follows what it recommends.

    The page says one of two terms, as many as it takes: worth .5. It is not similar enough, nor is its one passage,
    which is worth .707107 / 1.6 = .441942. No collocation is in the filter, so the score is the mean of these two:

    >>> from topicrawl.text.lexicon import lexicon
    >>> from topicrawl.topic import Filter
    >>> sieve = Sieve.of(Filter({"fever": 1.0, "rash": 1.0}), lexicon("xx"))
    >>> metrics = MultiMetric(sieve, Thresholds(vsm=0.9, terms=0.5, pairs=0.1, triples=0.08, passage=0.8))
    >>> verdict = metrics.judge(Page("http://a/", text="fever"))
    >>> verdict.metrics, verdict.group, round(verdict.values["vsm"], 6), round(verdict.score, 6)
    (('terms',), 'filter', 0.707107, 0.470971)
    """

    permanent: Sieve
    thresholds: Thresholds
    tuning: Tuning = field(default_factory=Tuning)
    seed: int = 0  # of the draws for the variable part

    def __post_init__(self) -> None:
        self.sieve = self.permanent
        self.turns = 0  # how often the filter was tuned
        self.lately = Recommended()
        self.directories = Directories()
        self.wrong: dict[str, float] = {}  # the profile of pages that were recommended wrongly: term → weight

    def judge(self, page: Page) -> Verdict:
        """The page's verdict; nothing is learned from it."""
        return self._judged(page, self.sieve.said(page))

    def _judged(self, page: Page, spoken: Said) -> Verdict:
        at = self.thresholds
        values: dict[str, float] = self.sieve.shares(spoken)._asdict()
        collocations = max(degree(values["pairs"], at.pairs or 0.0), degree(values["triples"], at.triples or 0.0))
        terms, similar = degree(values["terms"], at.terms or 0.0), degree(values["vsm"], at.vsm or 0.0)
        worths = {"collocations": collocations, "terms": terms, "vsm": similar}
        metrics = [name for name, worth in worths.items() if worth >= 0.5]
        if similar < 0.5:
            values["passage"] = self.sieve.passage(spoken)
            found = min(0.5, degree(values["passage"], at.passage or 0.0))
            metrics += ["passage"] * (found >= 0.5)
            similar = max(similar, found)
        if not metrics:
            values["directory"] = self.directories.share(page.url)
            metrics += ["directory"] * (values["directory"] > 0)
            similar = max(similar, values["directory"] / 2)
        parts = [terms, similar, *([collocations] if self.sieve.pairs or self.sieve.triples else [])]
        return self._pushed(Verdict(values, tuple(metrics), sum(parts) / len(parts)), spoken)

    def _pushed(self, verdict: Verdict, spoken: Said) -> Verdict:
        """The verdict on a page that may be like those that were recommended wrongly.

        A page that is nearer to their profile than to the topic is not recommended, and worth the less the nearer
        it is (section 2, after Hoashi et al. 2000).
        """
        if not self.wrong:
            return verdict
        weights = {term: count * self.sieve.lexicon.idf(term) for term, count in spoken.counts.items()}
        like = cosine(weights, self.wrong)
        values = {**verdict.values, "wrong": like}
        if like <= verdict.values["vsm"]:
            return Verdict(values, verdict.metrics, verdict.score)
        return Verdict(values, (), verdict.score * (1 - like))

    def score(self, page: Page) -> float:
        return self.judge(page).score

    def seen(self, page: Page) -> Verdict:
        """Judge a page and follow it: an undoubted one vouches for its directory and moves the filter.

        In the paper readers confirm what is recommended. Nobody does here, so what is in doubt moves nothing: passages
        alone recommend many pages, and would pull the filter away from the topic.
        """
        spoken = self.sieve.said(page)
        verdict = self._judged(page, spoken)
        self.directories.seen(page.url, relevant=verdict.undoubted)
        if verdict.undoubted:
            self._follow(spoken)
        return verdict

    def _follow(self, spoken: Said) -> None:
        # A class without a permanent part has no variable one.
        classes = [name for name in ("pairs", "triples") if getattr(self.permanent, name)]
        self.lately.add(spoken, self.sieve.terms, classes)
        if self.lately.count >= self.tuning.every:
            random = Random(f"{self.seed} {self.turns}")
            self.sieve = self.tuning.tuned(self.permanent, self.sieve, self.lately, random)
            self.lately = Recommended()
            self.turns += 1

    def learn(self, page: Page, relevant: bool) -> None:
        """A reader's verdict: a relevant page moves the filter, another one joins the profile of the wrong ones."""
        spoken = self.sieve.said(page)
        self.directories.seen(page.url, relevant=relevant)
        if relevant:
            self._follow(spoken)
        else:
            self.reject(spoken.counts)

    def reject(self, counts: Mapping[str, float]) -> None:
        """Add a page's terms, or a table's, to the profile of wrong pages."""
        greatest = max(counts.values(), default=1)
        profile = dict(self.wrong)
        for term, count in counts.items():
            profile[term] = profile.get(term, 0.0) + count / greatest * self.sieve.lexicon.idf(term)
        heaviest = sorted(profile, key=profile.__getitem__, reverse=True)[:_PROFILE]
        self.wrong = {term: profile[term] for term in heaviest}

    def state(self) -> Carry:
        """All that `restored` needs, as plain values."""
        return {
            "permanent": self.permanent.state(),
            "now": self.sieve.state() if self.turns else None,
            "thresholds": cast(Carry, self.thresholds.set()),
            "tuning": [self.tuning.every, self.tuning.share, self.tuning.factor],
            "draws": [self.seed, self.turns],
            "lately": self.lately.state(),
            "directories": {name: list(counts) for name, counts in self.directories.counts.items()},
            "wrong": cast(Carry, self.wrong),
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any], lexicon: Lexicon) -> MultiMetric:
        """What `state` was taken of."""
        seed, turns = state["draws"]
        permanent = Sieve.restored(state["permanent"], lexicon)
        found = cls(permanent, Thresholds(**state["thresholds"]), Tuning(*state["tuning"]), seed)
        found.sieve = Sieve.restored(state["now"], lexicon) if turns else permanent
        found.turns = turns
        found.lately = Recommended.restored(state["lately"])
        found.directories = Directories({name: (pages, good) for name, (pages, good) in state["directories"].items()})
        found.wrong = dict(state["wrong"])
        return found
