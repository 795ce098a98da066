"""What the semantic crawlers share: an ontology, and a likeness of texts that is worked out once for each anchor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.likeness import Terms
from topicrawl.strategies.material import file_text
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.text import thesaurus
from topicrawl.text.ontology import Ontology
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.wordnet import wordnet
from topicrawl.topic import Topic

#: Anchors whose likeness is kept: a site's menu is on all its pages.
_KEPT = 10_000


def open_ontology(file: str, topic: Topic, strategy: str) -> Ontology:
    """The thesaurus that a parameter names, or WordNet."""
    if file:
        try:
            return thesaurus.read(file_text(file, strategy), file, topic.languages)
        except ValueError as error:
            raise StrategyError(f"{strategy}: {error}") from error
    if topic.lexicon.language != "en":
        raise StrategyError(
            f"{strategy}: WordNet knows English, the topic is in {topic.lexicon.language!r}: "
            f"name a thesaurus of that language with ontology=FILE"
        )
    return wordnet()


@dataclass
class Semantic(Strategy):
    """A link is worth what its anchor, and perhaps its page, means to the topic."""

    family = "semantic"

    page: float = 0.0  # weight of the page
    anchor: float = 1.0  # weight of the anchor
    ontology: str = ""  # file of a thesaurus, as SKOS or as a table; empty: WordNet

    def __post_init__(self) -> None:
        if self.page < 0 or self.anchor < 0 or not self.page + self.anchor:
            raise StrategyError(f"{self.name}: page and anchor are weights of 0 or more, not both 0")

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        net = open_ontology(self.ontology, setting.topic, self.name)
        terms = Terms(setting.topic, net)
        if self.ontology and not any(map(net.senses, terms.topic)):
            raise StrategyError(
                f"{self.name}: {self.ontology} knows none of the topic's words: name the topic in its terms"
            )
        self.open(setting.topic, terms)
        self._anchors: Callable[[str], float] = lru_cache(_KEPT)(self._anchor)

    @abstractmethod
    def open(self, topic: Topic, terms: Terms) -> None:
        """Take up the topic, and its terms in the ontology."""

    @abstractmethod
    def alike(self, words: Sequence[str]) -> float:
        """How alike a text is to the topic, from 0 to 1."""

    def page_alike(self, page: Page) -> float:
        return self.alike([*tokenise(page.title), *page.words])

    def _anchor(self, text: str) -> float:
        return self.alike(tokenise(text))

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        on_page = self.page_alike(visit.page) if self.page and visit.page else 0.0
        page, anchor = self.page / (self.page + self.anchor), self.anchor / (self.page + self.anchor)
        in_anchors = [self._anchors(link.anchor or link.alt) if anchor else 0.0 for link in links]
        return [
            Place(page * on_page + anchor * in_anchor, None, (("page", on_page), ("anchor", in_anchor)))
            for in_anchor in in_anchors
        ]


@dataclass
class TermByTerm(Semantic):
    """A semantic crawler that compares each term of a text with each of the topic."""

    least: float = 0.0  # similarities of terms below this count as none; 0: all count

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least <= 1:
            raise StrategyError(f"{self.name}: least is {self.least}, it must be from 0 to 1")
