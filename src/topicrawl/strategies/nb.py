"""NB2, NB4 and NB4 updatable: Safran, Althagafi and Che 2012, sections III and IV, figure 5, tables 1 and 2.

Figure 5 keeps all links in one first-in-first-out queue and classifies a URL when it leaves the queue, with what the
first five pages that link to it say. Here is how the frontier does the same:

- A link is classified when it is found, and anew each time a further page links to it while it waits (`combine`, with
  the evidence of the pages so far in its `carry`). The last answer before it is fetched is figure 5's answer.
- Whatever figure 5 downloads waits at score 1, relevant or not: equal scores leave first found, first fetched.
- A URL that is predicted relevant has level counter 0, any other that of the page it was found on plus 1; found on
  several pages, the least counts, because a path of irrelevant pages is given up and not a page.
- From `limit` on, figure 5 records a URL and does not fetch it. Nothing can be taken out of the frontier, and pages
  still to come may prove the URL relevant; so it waits at score 0, behind all others, and is fetched only when
  figure 5's queue would be empty. With `reserve=no` it is not followed at all: the crawl ends where the paper's does,
  and what the page said about the URL is forgotten.
- RT and IRT are the frontier's memory of what it has seen. Examples of irrelevant pages are in IRT from the start:
  links to them are not followed.

The paper's "<" downloads two irrelevant pages in a row; a third is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topicrawl.errors import StrategyError
from topicrawl.records import Around, Carry, Link, Place, Visit
from topicrawl.strategies.guided import PARENTS, Guided, Parents
from topicrawl.strategies.link_evidence import Evidence, Reader
from topicrawl.strategies.material import Material
from topicrawl.strategies.training import Row
from topicrawl.text.keyword_table import Related
from topicrawl.text.wordnet import wordnet

ATTRIBUTES: tuple[str, ...] = ("url_words", "anchor", "parents", "surrounding")


@dataclass
class Nb4(Guided):
    """Follows links that naive Bayes takes for relevant by four attributes, and from others two pages far.

        P(X | Relevant) · P(Relevant) > P(X | Irrelevant) · P(Irrelevant)                            (3)

    X: for each of URL words, anchor text, parent pages and surrounding text whether its similarity to the topic's
    keyword table (equation 2) is above its threshold. The left side over the sum of both is the `posterior`.

    The eight rows of table 2; a URL with four times yes weighs 5/48 against 0, one with four times no 1/96 against 1/8:

    >>> from topicrawl.strategies.guides import Guide, Recipe
    >>> rows = [(.25, .97, .64, .76), (.66, .67, .69, .65), (.32, .79, .60, .32), (0, .82, .67, .46),
    ...         (.54, .89, .67, .29), (.12, .85, .29, .69), (0, .50, .20, .60), (.51, .50, .16, .18)]
    >>> table_2 = Guide.fit(Recipe("nb", Nb4().thresholds(), smoothing=False), rows, [True] * 6 + [False] * 2)
    >>> [round(table_2.predict(values), 4) for values in ((.31, .76, .61, .61), (.30, .75, .60, .60))]
    [1.0, 0.0769]
    """

    name = "nb4"
    family = "learning"
    paper = "Safran et al. 2012, III, Fig 5"
    attributes = ATTRIBUTES
    context = Around.WORDS

    url: float = 0.30  # thresholds, to be exceeded
    anchor: float = 0.75
    parents: float = 0.60
    surrounding: float = 0.60
    limit: int = 3  # irrelevant pages in a row from which on a path is given up
    reserve: bool = True  # whether what was given up is fetched when nothing else waits
    ordered: bool = False  # whether links wait by their posterior instead of first in, first out
    updatable: bool = False  # whether visited pages become training rows
    most: int = 500  # such rows of each label that are kept
    every: int = 25  # such rows between two trainings

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("limit", "most", "every"):
            if getattr(self, name) < 1:
                raise StrategyError(f"{self.name}: {name} is {getattr(self, name)}, it must be 1 or more")
        self._rows: list[list[Row]] = [[], [], []]  # examples; pages learned: irrelevant, relevant
        self._since = 0

    def thresholds(self) -> tuple[float, ...]:
        return (self.url, self.anchor, self.parents, self.surrounding)[: len(self.attributes)]

    def related(self) -> Related | None:
        return wordnet().synonyms

    def _tables(self, words: dict[str, float]) -> None:
        super()._tables(words)
        weighting, k = self.counted
        texts = len(self.attributes) > 2
        self._reader = Reader(self.table, self.plain, k=k, rare=weighting == "tf_idf", texts=texts)
        self._refused = frozenset(self.setting.topic.irrelevant)

    def _values(self, evidence: Evidence) -> tuple[float, ...]:
        return self._reader.values(evidence)[: len(self.attributes)]

    def example(self, url: str, material: Material, parents: Parents) -> tuple[float, ...] | None:
        found: Evidence | None = None
        for link in parents(url):
            (evidence,) = self._reader.read([link], material.page(link.source)).values()
            found = evidence if found is None else found.joined(evidence)
        return None if found is None else self._values(found)

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        level = visit.place.carry[1] if isinstance(visit.place.carry, list) else 0
        places = {
            url: self._place(int(level), evidence)  # type: ignore[arg-type]  # our own carry
            for url, evidence in self._reader.read(links, visit.page).items()
            if url not in self._refused
        }
        found = [places.get(link.url) for link in links]
        return [place if place and (place.score > 0 or self.reserve) else None for place in found]

    def combine(self, old: Place, new: Place) -> Place:
        if not isinstance(old.carry, list) or not isinstance(new.carry, list):
            return old  # a seed stays in front
        if old.carry[2] == PARENTS and old.carry[0] <= new.carry[0]:  # type: ignore[operator]  # our own carry
            return old  # enough have spoken
        evidence = Evidence.of(old.carry[2:]).joined(Evidence.of(new.carry[2:]))
        return self._place(min(old.carry[0], new.carry[0]), evidence)  # type: ignore[type-var,arg-type]

    def _place(self, level: int, evidence: Evidence) -> Place:
        """A link found on a page of this level counter; both counters and the evidence travel with it."""
        values = self._values(evidence)
        posterior = self.judge.predict(values)
        own = 0 if posterior > 0.5 else level + 1
        score = (posterior if self.ordered else 1.0) if own < self.limit else 0.0
        parts = (*zip(self.attributes, values, strict=True), ("posterior", posterior), ("level", float(own)))
        return Place(score, [level, own, *evidence.carry()], parts)

    def fit(self, rows: Sequence[Row]) -> None:
        super().fit(rows)
        if self.updatable and not self._rows[0]:
            self._rows[0] = list(rows)

    def learn(self, visit: Visit) -> None:
        if not self.updatable or visit.relevance is None or not isinstance(visit.place.carry, list):
            return
        values = tuple(round(value, 6) for value in self._values(Evidence.of(visit.place.carry[2:])))
        relevant = visit.relevance >= self.setting.topic.threshold
        kept = self._rows[1 + relevant]
        kept.append(Row("", values, relevant))
        del kept[: -self.most]
        self._since += 1
        if self._since >= self.every:
            self._since = 0
            self.fit(self._even())

    def _even(self) -> list[Row]:
        """The examples, and of the pages the last ones, as many of the one label as of the other."""
        examples, irrelevant, relevant = self._rows
        each = min(len(irrelevant), len(relevant))
        return [*examples, *irrelevant[len(irrelevant) - each :], *relevant[len(relevant) - each :]]

    def state(self) -> Carry:
        state: Any = super().state()
        if self.updatable:
            state["rows"] = [[[int(row.relevant), *row.values] for row in rows] for rows in self._rows]
            state["since"] = self._since
        return state  # type: ignore[no-any-return]

    def restore(self, state: Any) -> None:
        super().restore(state)
        kept = state.get("rows", [[], [], []])
        self._rows = [[Row("", tuple(values), bool(label)) for label, *values in rows] for rows in kept]
        self._since = state.get("since", 0)


@dataclass
class Nb2(Nb4):
    """NB4's forerunner: decides by URL words and anchor text alone, without related words.

        X = (URL words relevancy, anchor text relevancy)

    After Taylan et al. 2011, as Safran et al. compare it; WordNet is what the latter add.
    """

    name = "nb2"
    paper = "Safran et al. 2012, IV b"
    attributes = ATTRIBUTES[:2]
    context = Around.NOTHING

    wordnet: bool = False


@dataclass
class Nb4Updatable(Nb4):
    """NB4 that takes every visited page into its training set, with the label that the page turned out to deserve.

        training set = examples + the last n relevant and the last n irrelevant pages visited,   n ≤ `most`

    Examples stay; a page replaces the oldest one of its label. n is what there is of the rarer label: how often a
    crawl meets irrelevant pages must not decide what the next link is taken for, or one that goes astray for a while
    would find nothing relevant any more. The guide is trained anew after every `every` pages; links that wait keep
    their place until a further page links to them.
    """

    name = "nb4_updatable"
    paper = "Safran et al. 2012, IV d"

    updatable: bool = True


@dataclass
class Nb4Ordered(Nb4):
    """NB4 whose queue is sorted by how likely a link is relevant.

        priority(X) = P(X | Relevant) · P(Relevant) / Σ over both classes

    The paper's queue is first in, first out; the posteriors of naive Bayes are crowded near 0 and 1, so this is a
    variant of ours.
    """

    name = "nb4_ordered"

    ordered: bool = True
