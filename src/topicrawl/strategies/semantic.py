"""Base classes of the semantic crawlers: ontology, text similarity and a cache of anchor similarities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.term_similarity import OntologyTerms
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.training.training_data import read_text_file
from topicrawl.text import thesaurus
from topicrawl.text.ontology import Ontology
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.wordnet import load_wordnet
from topicrawl.topic import Topic

#: Size of the cache of anchor similarities. A site repeats the anchors of its menu on all pages.
_CACHED_ANCHORS = 10_000


def load_ontology(path: str, topic: Topic, strategy_name: str) -> Ontology:
    """Return the thesaurus in the file at `path`, or WordNet if `path` is empty."""
    if path:
        try:
            return thesaurus.parse_thesaurus(read_text_file(path, strategy_name), path, topic.languages)
        except ValueError as error:
            raise StrategyError(f"{strategy_name}: {error}") from error
    if topic.lexicon.language != "en":
        raise StrategyError(
            f"{strategy_name}: WordNet supports only English, but the topic is in {topic.lexicon.language!r}: "
            f"give a thesaurus of that language with ontology=FILE"
        )
    return load_wordnet()


@dataclass
class SemanticStrategy(Strategy):
    """Score a link by the semantic similarity of its anchor text, and optionally its page, to the topic."""

    family = "semantic"

    page: float = 0.0  # weight of the page similarity
    anchor: float = 1.0  # weight of the anchor similarity
    ontology: str = ""  # thesaurus file, SKOS or a table; empty: WordNet

    def __post_init__(self) -> None:
        if self.page < 0 or self.anchor < 0 or not self.page + self.anchor:
            raise StrategyError(f"{self.name}: page and anchor are weights of 0 or more, not both 0")

    def bind(self, context: StrategyContext) -> None:
        """Load the ontology and prepare the similarity measure."""
        super().bind(context)
        ontology = load_ontology(self.ontology, context.topic, self.name)
        terms = OntologyTerms(context.topic, ontology)
        if self.ontology and not any(map(ontology.get_senses, terms.topic_weights)):
            raise StrategyError(
                f"{self.name}: {self.ontology} contains none of the topic's words: describe the topic with its terms"
            )
        self.prepare_similarity(context.topic, terms)
        self._cached_anchor_similarity: Callable[[str], float] = lru_cache(_CACHED_ANCHORS)(
            self._compute_anchor_similarity
        )

    @abstractmethod
    def prepare_similarity(self, topic: Topic, terms: OntologyTerms) -> None:
        """Prepare the similarity measure for a topic and its terms in the ontology."""

    @abstractmethod
    def compute_similarity(self, words: Sequence[str]) -> float:
        """Return the similarity of a text to the topic, from 0 to 1."""

    def compute_page_similarity(self, page: Page) -> float:
        """Return the similarity of a page, including its title, to the topic."""
        return self.compute_similarity([*tokenise(page.title), *page.words])

    def _compute_anchor_similarity(self, text: str) -> float:
        """Return the similarity of an anchor text to the topic."""
        return self.compute_similarity(tokenise(text))

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the weighted mean of page and anchor similarity for each link."""
        on_page = self.compute_page_similarity(visit.page) if self.page and visit.page else 0.0
        page, anchor = self.page / (self.page + self.anchor), self.anchor / (self.page + self.anchor)
        in_anchors = [self._cached_anchor_similarity(link.anchor or link.alt) if anchor else 0.0 for link in links]
        return [
            Priority(page * on_page + anchor * in_anchor, None, (("page", on_page), ("anchor", in_anchor)))
            for in_anchor in in_anchors
        ]


@dataclass
class TermSimilarityStrategy(SemanticStrategy):
    """Semantic crawler that compares each term of a text with each term of the topic."""

    least: float = 0.0  # term similarities below this value count as 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least <= 1:
            raise StrategyError(f"{self.name}: least is {self.least}, it must be from 0 to 1")
