"""Several metrics judge a page, and its links inherit: Kluev 2000, sections 1, 4 and 5, Tables 1 and 2.

The metrics are in `topicrawl.relevance.multi_metric`, the filter is chosen in `topicrawl.relevance.filter_choice` and
follows what is recommended in `topicrawl.relevance.filter_tuning`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Page, Place, Visit
from topicrawl.relevance.filter_choice import fitted
from topicrawl.relevance.filter_tuning import Tuning
from topicrawl.relevance.multi_metric import MultiMetric as Metrics
from topicrawl.relevance.multi_metric import Verdict
from topicrawl.relevance.sieve import Sieve, said
from topicrawl.strategies.in_links import InLinks
from topicrawl.strategies.material import Material
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.topic import load

_REVISED = 20  # visits between two looks at the pages that gained


@dataclass
class MultiMetric(Strategy):
    """A link is worth the mean of what several metrics say of the pages that link to it.

        Score(link) = (score(p₁) + … + score(pₙ)) / n

    p: the pages found so far that link there (its parents); score: the mean of the term, collocation and similarity
    metrics, each worth one half at its threshold. The queue is sorted anew when a parent is added, or gains because it
    links to a page that turned out to be relevant. Filter and thresholds are the topic's, or are made of the example
    pages, or of the topic's words. `wrong` pushes pages down that are like those recommended wrongly: a topic file
    built from such pages, or `examples` for the irrelevant examples that the metrics recommend.

    Parents of .9 and .3 give .6:

    >>> crawler = MultiMetric()
    >>> crawler.combine(Place(0.9, 1), Place(0.3, 1)).score
    0.6
    """

    name = "multi_metric"
    family = "multi-metric"
    paper = "Kluev 2000, 4"

    every: int = 100  # undoubted pages between two tunings of the filter
    variable: float = 0.3  # elements of its variable part, for each of the permanent part
    damping: float = 0.2  # how far weights move towards new ones
    in_links: int = 10  # of a relevant page that gain, the first first; 0: none
    wrong: str = ""

    def __post_init__(self) -> None:
        if self.every < 1 or self.in_links < 0:
            raise StrategyError("multi_metric: every is 1 or more, in_links 0 or more")
        if not (0 <= self.variable <= 1 and 0 <= self.damping <= 1):
            raise StrategyError("multi_metric: variable and damping are shares, from 0 to 1")

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        self.known = InLinks(self.in_links)
        self.waited = 0  # visits since waiting links were looked at
        self._last: tuple[Page | None, Verdict | None] = (None, None)
        self._fit((), (), 0)

    def _fit(self, relevant: Sequence[Page], irrelevant: Sequence[Page], seed: int) -> None:
        topic = self.setting.topic
        filter, thresholds = fitted(topic, relevant, irrelevant)
        sieve = Sieve.of(filter, topic.lexicon, topic.own)
        self.metrics = Metrics(sieve, thresholds, Tuning(self.every, self.variable, self.damping), seed)

    def prepare(self, material: Material) -> None:
        relevant, irrelevant = (
            [page for url in urls if (page := material.page(url)) is not None]
            for urls in (material.relevant, material.irrelevant)
        )
        self._fit(relevant, irrelevant, self.setting.random.getrandbits(32))
        if self.wrong == "examples":
            if not irrelevant:
                raise StrategyError("multi_metric: wrong=examples needs irrelevant example pages: give --examples FILE")
            mistaken = [page for page in irrelevant if self.metrics.judge(page).metrics]
            for page in mistaken:
                self.metrics.reject(said(page, self.setting.topic.lexicon).counts)
        elif self.wrong:
            lexicon = self.setting.topic.lexicon
            self.metrics.reject({lexicon.stem(word): weight for word, weight in load(Path(self.wrong)).words.items()})

    def learn(self, visit: Visit) -> None:
        self.waited += 1
        if visit.page is None:
            return
        verdict = self.metrics.seen(visit.page)
        self._last = (visit.page, verdict)
        self.known.visited(visit.link.url, verdict.score, relevant=verdict.undoubted)
        self.known.add(visit.url, verdict.score, [link.url for link in visit.page.links])

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        if visit.page is None:
            return [Place(0.0, 1)] * len(links)
        page, verdict = self._last
        if page is not visit.page or verdict is None:
            verdict = self.metrics.judge(visit.page)
        return [Place(verdict.score, 1, tuple(verdict.values.items()))] * len(links)

    def combine(self, old: Place, new: Place) -> Place:
        if not isinstance(old.carry, int):
            return old  # a seed
        # Below 0 stand suspected traps: there is no mean with these.
        score = new.score if min(old.score, new.score) < 0 else (old.score * old.carry + new.score) / (old.carry + 1)
        return Place(score, old.carry + 1, (*new.parts, ("parents", old.carry + 1.0)))

    def revise(self) -> Mapping[str, float]:
        if self.waited < _REVISED:
            return {}
        self.waited = 0
        return self.known.revised()

    def state(self) -> Carry:
        return cast(Carry, {"metrics": self.metrics.state(), "known": self.known.state(), "waited": self.waited})

    def restore(self, state: Carry) -> None:
        kept = cast(dict[str, Any], state or {})
        if kept:
            self.metrics = Metrics.restored(kept["metrics"], self.setting.topic.lexicon)
            self.known.restore(kept["known"])
            self.waited = kept["waited"]
