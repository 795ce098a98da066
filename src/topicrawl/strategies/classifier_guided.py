"""Base class of crawlers that classify links by attributes: keyword table, training set and classifier.

Safran et al. 2012, section III; Hati et al. 2010, sections 4 and 5.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.training.classifiers import CLASSIFIER_KINDS, ClassifierConfig, LinkClassifier
from topicrawl.strategies.training.training_data import TrainingData, read_text_file
from topicrawl.strategies.training.training_set import TrainingRow, TrainingSet, parse_training_set
from topicrawl.text.keyword_table import KeywordTable, RelatedWords
from topicrawl.text.keyword_weights import SEED_IDF, WEIGHTINGS, build_weight_table, compute_seed_idf
from topicrawl.text.tokenizer import tokenise

MAX_PARENTS = 5  # maximum number of linking pages that count for a URL

#: Lookup of the links to a URL in a recorded web, an earlier crawl, or pages that search engines have found.
ParentsLookup = Callable[[str], Sequence[Link]]


@dataclass
class ClassifierGuidedStrategy(Strategy):
    """Score links with a classifier that is trained on the links to example pages."""

    required_inputs: ClassVar[tuple[str, ...]] = ("words", "examples")
    attributes: ClassVar[tuple[str, ...]]  # column names of the training set

    guide: str = "nb"  # nb: naive Bayes; svm: linear support vector machine; nn: neural network
    k: int = 14  # number of keywords in the topic's table
    weighting: str = "tf"  # weighting of the table: tf, tf_idf, or tf_seed_idf with idf = log(N/n) over the examples
    normalise: bool = False  # whether the counts of a page are divided by its length
    smoothing: bool = True  # smoothing of naive Bayes; no: as printed in the papers
    tune: bool = False  # whether thresholds are tuned on the training set
    wordnet: bool = True  # whether words related to a keyword match too
    training: str = ""  # training set file, instead of examples

    def __post_init__(self) -> None:
        if self.guide not in CLASSIFIER_KINDS:
            raise StrategyError(f"{self.name}: guide is one of {', '.join(CLASSIFIER_KINDS)}, not {self.guide!r}")
        if self.weighting not in WEIGHTINGS:
            raise StrategyError(f"{self.name}: weighting is one of {', '.join(WEIGHTINGS)}, not {self.weighting!r}")
        if self.k < 1:
            raise StrategyError(f"{self.name}: k is {self.k}, a table has 1 keyword or more")

    @abstractmethod
    def get_thresholds(self) -> tuple[float, ...]:
        """Return the threshold above which each attribute is yes."""

    @abstractmethod
    def compute_example_attributes(
        self, url: str, training_data: TrainingData, parents: ParentsLookup
    ) -> tuple[float, ...] | None:
        """Return the attributes of an example URL from the links to it, or None if there are no such links."""

    @abstractmethod
    def get_related_words(self) -> RelatedWords | None:
        """Return a function that finds words related to a word, or None."""

    def bind(self, context: StrategyContext) -> None:
        """Store the context and the configuration of the classifier."""
        super().bind(context)
        self.classifier_config = ClassifierConfig(self.guide, self.get_thresholds(), self.smoothing, self.tune)
        self.table_weighting = (self.weighting, self.k)

    def get_expansion(self) -> RelatedWords | None:
        """Return a function that expands a word of a text to the words that match too, or None."""
        return None

    def _build_keyword_tables(self, words: dict[str, float], idf: Mapping[str, float] | None = None) -> None:
        """Build two keyword tables: one that matches related words too, and one that matches only the keywords.

        `idf`: the idf of the keywords in the examples, for the weighting `tf_seed_idf`.
        """
        lexicon = self.context.topic.lexicon
        self.exact_table = KeywordTable(words, lexicon, idf=idf)
        # WordNet supports only English. Other languages have no related words.
        is_expanded = self.wordnet and lexicon.language == "en"
        related, expand = (self.get_related_words(), self.get_expansion()) if is_expanded else (None, None)
        self.expanded_table = KeywordTable(words, lexicon, related, expand=expand)

    def fit(self, training_data: TrainingData) -> None:
        """Train on the training set file, or on the examples."""
        if self.training:
            training_set = parse_training_set(read_text_file(self.training, self.name), self.training, self.attributes)
            self.table_weighting = training_set.table_weighting or self.table_weighting
            self._build_keyword_tables(dict(training_set.keywords or self.context.topic.words), training_set.idf)
        else:
            training_set = self.build_training_set(training_data)
        self.train_classifier(training_set.rows)

    def train_classifier(self, rows: Sequence[TrainingRow]) -> None:
        """Train the classifier on rows."""
        self.classifier = LinkClassifier.fit(
            self.classifier_config, [row.values for row in rows], [row.relevant for row in rows]
        )

    def build_training_set(self, training_data: TrainingData) -> TrainingSet:
        """Build the keyword table and a training row for each example that another page links to.

        Raise `StrategyError` if one of the two classes has no usable example.
        """
        classes = (("relevant", training_data.relevant), ("irrelevant", training_data.irrelevant))
        for label, urls in classes:
            if not urls:
                raise StrategyError(
                    self._format_missing_examples(label, bool(training_data.relevant or training_data.irrelevant))
                )
        words, idf = self._select_keywords(training_data)
        self._build_keyword_tables(words, idf)
        rows: list[TrainingRow] = []
        for label, urls in classes:
            labelled = [
                TrainingRow(url, values, label == "relevant", "example")
                for url in urls
                if (
                    values := self.compute_example_attributes(
                        url, training_data, self._make_parents_lookup(training_data)
                    )
                )
                is not None
            ]
            if not labelled:
                raise StrategyError(
                    f"{self.name}: no recorded page links to any of the {len(urls)} {label} examples: "
                    f"use examples that other pages link to"
                )
            rows += labelled
        return TrainingSet(self.attributes, words, rows, self.table_weighting, idf)

    def _select_keywords(self, training_data: TrainingData) -> tuple[dict[str, float], dict[str, float]]:
        """Select the topic's keyword table from the relevant examples. Return the weights and the idf in the examples.

        The idf is empty unless the weighting uses it.

        A word that occurs on every example, relevant or not, has the idf log(N / n) = 0 of the papers, so it is never a
        keyword with any weighting. Site names are such words.
        """
        relevant, others = (
            [page.words for url in urls if (page := training_data.get_page(url)) is not None]
            for urls in (training_data.relevant, training_data.irrelevant)
        )
        if not relevant:
            raise StrategyError(
                f"{self.name}: none of the {len(training_data.relevant)} relevant examples can be read: "
                "pass their source "
                f"with --learn-from, look up backlinks in search engines with --back-links N, or create a training "
                f"set with `topicrawl train nb` and pass it with training=FILE"
            )
        own = [token for word in self.context.topic.words for token in tokenise(word)]
        everywhere = set.intersection(*map(set, (*relevant, *others))) - set(own) if others else set()
        texts = [[word for word in words if word not in everywhere] for words in relevant]
        lexicon = self.context.topic.lexicon
        keywords = build_weight_table(
            texts,
            lexicon,
            keep_words=own,
            k=self.k,
            weighting=self.weighting,
            others=others,
            normalise=self.normalise,
        ) or dict(self.context.topic.words)
        uses_examples = self.weighting == SEED_IDF
        return keywords, compute_seed_idf(keywords, (*relevant, *others), lexicon) if uses_examples else {}

    def _make_parents_lookup(self, training_data: TrainingData) -> ParentsLookup:
        """Return a lookup of the first links to a URL in the training data."""
        return lambda url: training_data.get_parents(url, MAX_PARENTS)

    def _format_missing_examples(self, label: str, has_other_class: bool) -> str:
        """Return the error message for missing examples. `has_other_class`: there are examples of the other class."""
        if has_other_class:
            subject = "the topic" if label == "relevant" else "other subjects"
            return (
                f"{self.name}: there are no {label} examples, but the classifier needs both classes: "
                f"add lines of url⇥{label} for pages about {subject}"
            )
        return (
            f"{self.name} learns from example pages: pass --examples FILE with lines of url⇥relevant|irrelevant, "
            f"or a training set from `topicrawl train nb`: {self.name}:training=FILE"
        )

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return {
            "keywords": dict(self.exact_table.words),
            "counted": list(self.table_weighting),
            **({"idf": dict(self.exact_table.idf)} if self.exact_table.idf else {}),
            "guide": self.classifier.get_state(),
        }

    def restore_state(self, state: Any) -> None:
        """Restore a state that `get_state` returned."""
        weighting, k = state["counted"]
        self.table_weighting = (weighting, k)
        self._build_keyword_tables(state["keywords"], state.get("idf"))
        self.classifier = LinkClassifier.from_state(state["guide"])
