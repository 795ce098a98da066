"""What crawlers that decide by attributes of a link have in common: keyword table, training set, guide.

Safran et al. 2012, section III; Hati et al. 2010, sections 4 and 5.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link
from topicrawl.strategies.guides import KINDS, Guide, Recipe
from topicrawl.strategies.material import Material, file_text
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.strategies.training import Row, TrainingSet, read_training
from topicrawl.text.keyword_table import KeywordTable, Related
from topicrawl.text.keywords import WEIGHTINGS, weight_table
from topicrawl.text.tokens import words as tokenise

PARENTS = 5  # pages with a link to a URL that have a say about it

#: Who links to a URL: a recorded web, an earlier crawl, or what search engines named and was read.
Parents = Callable[[str], Sequence[Link]]


@dataclass
class Guided(Strategy):
    """Decides about a link by a guide that was trained on the links to example pages."""

    inputs: ClassVar[tuple[str, ...]] = ("words", "examples")
    attributes: ClassVar[tuple[str, ...]]  # names of the columns of the training set

    guide: str = "nb"  # nb: naive Bayes; svm: linear support vector machine; nn: network
    k: int = 14  # keywords of the topic's table
    weighting: str = "tf"  # of the table: tf or tf_idf
    smoothing: bool = True  # of naive Bayes; no: as printed
    tune: bool = False  # whether thresholds are taken from the training set
    wordnet: bool = True  # whether related words count as found keywords
    training: str = ""  # file with a training set, instead of examples

    def __post_init__(self) -> None:
        if self.guide not in KINDS:
            raise StrategyError(f"{self.name}: guide is one of {', '.join(KINDS)}, not {self.guide!r}")
        if self.weighting not in WEIGHTINGS:
            raise StrategyError(f"{self.name}: weighting is one of {', '.join(WEIGHTINGS)}, not {self.weighting!r}")
        if self.k < 1:
            raise StrategyError(f"{self.name}: k is {self.k}, a table has 1 keyword or more")

    @abstractmethod
    def thresholds(self) -> tuple[float, ...]:
        """Above which each attribute is yes."""

    @abstractmethod
    def example(self, url: str, material: Material, parents: Parents) -> tuple[float, ...] | None:
        """The attributes of an example, from the links that lead to it. None: there are no such links."""

    @abstractmethod
    def related(self) -> Related | None:
        """Which words are related to a word."""

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        self.recipe = Recipe(self.guide, self.thresholds(), self.smoothing, self.tune)
        self.counted = (self.weighting, self.k)

    def _tables(self, words: dict[str, float]) -> None:
        """One table that sees related words, and one that does not."""
        lexicon = self.setting.topic.lexicon
        self.plain = KeywordTable(words, lexicon)
        # WordNet knows English only; topics in other languages go without.
        related = self.related() if self.wordnet and lexicon.language == "en" else None
        self.table = KeywordTable(words, lexicon, related)

    def prepare(self, material: Material) -> None:
        if self.training:
            found = read_training(file_text(self.training, self.name), self.training, self.attributes)
            self.counted = found.counted or self.counted
            self._tables(dict(found.keywords or self.setting.topic.words))
        else:
            found = self.training_set(material)
        self.fit(found.rows)

    def fit(self, rows: Sequence[Row]) -> None:
        """Make the guide from rows."""
        self.judge = Guide.fit(self.recipe, [row.values for row in rows], [row.relevant for row in rows])

    def training_set(self, material: Material) -> TrainingSet:
        """The keyword table and a row for each example that some page links to."""
        classes = (("relevant", material.relevant), ("irrelevant", material.irrelevant))
        for label, urls in classes:
            if not urls:
                raise StrategyError(self._missing(label, bool(material.relevant or material.irrelevant)))
        words = self._keywords(material)
        self._tables(words)
        rows: list[Row] = []
        for label, urls in classes:
            found = [Row(url, values, label == "relevant", "example") for url in urls
                     if (values := self.example(url, material, self._parents(material))) is not None]  # fmt: skip
            if not found:
                raise StrategyError(
                    f"{self.name}: no recorded page links to any of the {len(urls)} {label} examples: "
                    f"take examples that other pages link to"
                )
            rows += found
        return TrainingSet(self.attributes, words, rows, self.counted)

    def _keywords(self, material: Material) -> dict[str, float]:
        """The topic's keyword table from the relevant examples.

        A word on every example, relevant or not, has the papers' idf = log(N / n) of 0: the name of the site is no
        keyword, whatever the weighting.
        """
        relevant, others = (
            [page.words for url in urls if (page := material.page(url)) is not None]
            for urls in (material.relevant, material.irrelevant)
        )
        if not relevant:
            raise StrategyError(
                f"{self.name}: none of the {len(material.relevant)} relevant examples can be read: say where with "
                f"--learn-from, let engines say who links to them with --back-links N, or make a training set with "
                f"`topicrawl train nb` and name it: training=FILE"
            )
        own = [token for word in self.setting.topic.words for token in tokenise(word)]
        everywhere = set.intersection(*map(set, (*relevant, *others))) - set(own) if others else set()
        texts = [[word for word in words if word not in everywhere] for words in relevant]
        found = weight_table(texts, self.setting.topic.lexicon, own=own, k=self.k, weighting=self.weighting)
        return found or dict(self.setting.topic.words)

    def _parents(self, material: Material) -> Parents:
        return lambda url: material.parents(url, PARENTS)

    def _missing(self, label: str, some: bool) -> str:
        if some:
            kind = "the topic" if label == "relevant" else "other things"
            return (
                f"{self.name}: there are no {label} examples, and it learns from both kinds: "
                f"add lines of url⇥{label} for pages about {kind}"
            )
        return (
            f"{self.name} learns from example pages: give --examples FILE with lines of url⇥relevant|irrelevant, "
            f"or a training set made by `topicrawl train nb`: {self.name}:training=FILE"
        )

    def state(self) -> Carry:
        return {"keywords": dict(self.plain.words), "counted": list(self.counted), "guide": self.judge.state()}

    def restore(self, state: Any) -> None:
        weighting, k = state["counted"]
        self.counted = (weighting, k)
        self._tables(state["keywords"])
        self.judge = Guide.of(state["guide"])
