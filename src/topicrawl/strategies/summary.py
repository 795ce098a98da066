"""Links by the summary of their page: Mohammadi, sections 3 to 7, equations 2 to 4, figure 1.

The paper is "A New Approach To Focused Crawling: Combination of Text summarizing With Neural Networks and Vector Space
Model". The modules next to `topicrawl.relevance.summary` implement pruning, features, network and similarity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.ml.network import NeuralNetwork
from topicrawl.models import JsonValue, Link, Priority, Visit
from topicrawl.relevance.hidden_text import SentenceRules
from topicrawl.relevance.summary import Summariser
from topicrawl.relevance.summary_network import load_bundled_network, parse_network
from topicrawl.strategies.base import Strategy
from topicrawl.strategies.training.training_data import TrainingData, read_text_file


@dataclass
class SummaryStrategy(Strategy):
    """Give all links of a page the score of the page's summary, without hidden, tiny or repeated text.

        Priority(i) = S / (1 + S),   S = D · Sim,   Sim = Σⱼ wqⱼ · tfⱼ,   D = Ns / N                    (2, 3, 4)

    j: a word of the topic; wqⱼ: its weight; tfⱼ: its frequency in the summary of the page that contains the link i; Ns,
    N: the number of sentences of the summary, and of the page before pruning. S has no upper bound. S / (1 + S) keeps
    the order and lies between 0 and 1. The anchor text of the link to the page influences its summary. Very small or
    invisible text does not count.

    Five of eight sentences remain after pruning, and "fever" occurs in two of them. A network that selects all
    sentences gives D = 5/8, Sim = 2, S = 1.25 and 1.25 / 2.25 = .555556:

    >>> from random import Random
    >>> from topicrawl.models import Page, Sentence, Style
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("fever")
    >>> crawler = SummaryStrategy()
    >>> crawler.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    >>> crawler.restore_state(NeuralNetwork([0.0] * 6, [1.0] * 6, [[[0.0] * 6 + [1.0]]]).get_state())
    >>> texts = ["The fever rises in the night."] * 2 + ["No other person was in the house."] * 3
    >>> cheats = [("Fever is what this is about.", Style(hidden=True)), ("Fever fever fever fever fever.", Style())]
    >>> cheats.append(("Fever is what this is about.", Style(font_size=8)))
    >>> sentences = [Sentence(text, 0) for text in texts] + [Sentence(text, 1, style) for text, style in cheats]
    >>> page = Page("http://a/", sentences=tuple(sentences))
    >>> (priority,) = crawler.score_links(
    ...     [Link("http://b/")], Visit(1, Link("http://a/"), Priority(1.0), "http://a/", page)
    ... )
    >>> round(priority.score, 6), priority.parts
    (0.555556, (('similarity', 2.0), ('density', 0.625)))
    """

    name = "summary"
    family = "summary"
    paper = "Mohammadi, sections 3–7, Eq 2–4"
    needs_styles = True

    network: str = ""  # file from `topicrawl train summary`, or the language of a bundled network
    words: int = 5  # shorter sentences are ignored, in words
    smallest: float = 9.0  # text of this font size or smaller is ignored, in CSS pixels: xx-small
    repeats: int = 3  # sentences that repeat a word more often are ignored

    def __post_init__(self) -> None:
        if self.words < 0 or self.smallest < 0 or self.repeats < 1:
            raise StrategyError("summary: words and smallest are 0 or more, repeats is 1 or more")

    def fit(self, training_data: TrainingData) -> None:
        """Load the bundled network of a language, or the network in a file."""
        if len(self.network) in (0, 2):
            language = self.network or self.context.topic.lexicon.language
            network = load_bundled_network(language)
            if network is None:
                raise StrategyError(
                    f"summary: there is no network for the language {language!r}: train one with `topicrawl train "
                    "summary` and pass it as summary:network=FILE, or use the English one: summary:network=en"
                )
            self._set_network(network)
            return
        try:
            self._set_network(parse_network(read_text_file(self.network, self.name)))
        except ValueError as error:
            raise StrategyError(f"summary: {self.network}: {error}") from error

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return one priority for all links of a page."""
        if visit.page is None or not links:
            return [Priority(0.0)] * len(links)
        summary = self._summariser.summarise(visit.page, visit.link.anchor or visit.link.alt)
        priority = Priority(summary.score, None, (("similarity", summary.similarity), ("density", summary.density)))
        return [priority] * len(links)

    def get_state(self) -> JsonValue:
        """Return the network as plain values."""
        return self._network.get_state()

    def restore_state(self, state: JsonValue) -> None:
        """Restore the network."""
        assert isinstance(state, list)
        self._set_network(NeuralNetwork.from_state(state))

    def _set_network(self, network: NeuralNetwork) -> None:
        """Set the network and build the summariser."""
        self._network = network
        self._summariser = Summariser(
            self.context.topic, network, SentenceRules(self.words, self.smallest, self.repeats)
        )
