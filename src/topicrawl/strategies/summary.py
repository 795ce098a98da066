"""Links by the summary of their page: Mohammadi, "A New Approach To Focused Crawling: Combination of Text summarizing
With Neural Networks and Vector Space Model", sections 3 to 7, equations 2 to 4, figure 1.

Pruning, features, network and similarity are in `topicrawl.relevance.summary` and beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.learn.network import Network
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.relevance.pruning import Rules
from topicrawl.relevance.summary import Summariser
from topicrawl.relevance.summary_network import network_in, shipped
from topicrawl.strategies.material import Material, file_text
from topicrawl.strategies.strategy import Strategy


@dataclass
class SummaryFirst(Strategy):
    """All links of a page are worth what the page's summary is worth, without what is hidden, tiny or repeated.

        Priority(i) = S / (1 + S),   S = D · Sim,   Sim = Σⱼ wqⱼ · tfⱼ,   D = Ns / N                    (2, 3, 4)

    j: a word of the topic; wqⱼ: its weight; tfⱼ: how often it stands in the summary of the page that link i stands on;
    Ns, N: sentences of the summary, and of the page before pruning. S has no upper bound; S / (1 + S) keeps its order
    and lies between 0 and 1. What leads to the page (its anchor) has a say in what its summary is. Pages in very small
    or invisible print are worth what is left of them.

    Five of eight sentences stay, "fever" stands in two of them, and a network that chooses all makes
    D = 5/8, Sim = 2, S = 1.25 and 1.25 / 2.25 = .555556:

    >>> from random import Random
    >>> from topicrawl.records import Page, Sentence, Style
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.strategy import Setting
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("fever")
    >>> crawler = SummaryFirst()
    >>> crawler.begin(Setting(topic, Vsm(topic), Random(0)))
    >>> crawler.restore(Network([0.0] * 6, [1.0] * 6, [[[0.0] * 6 + [1.0]]]).state())
    >>> said = ["The fever rises in the night."] * 2 + ["Nobody else was in the house."] * 3
    >>> cheats = [("Fever is what this is about.", Style(hidden=True)), ("Fever fever fever fever fever.", Style())]
    >>> cheats.append(("Fever is what this is about.", Style(font_size=8)))
    >>> told = [Sentence(text, 0) for text in said] + [Sentence(text, 1, style) for text, style in cheats]
    >>> page = Page("http://a/", sentences=tuple(told))
    >>> (place,) = crawler.place([Link("http://b/")], Visit(1, Link("http://a/"), Place(1.0), "http://a/", page))
    >>> round(place.score, 6), place.parts
    (0.555556, (('similarity', 2.0), ('density', 0.625)))
    """

    name = "summary"
    family = "summary"
    paper = "Mohammadi, sections 3–7, Eq 2–4"
    styles = True

    network: str = ""  # a file of `topicrawl train summary`, or the language of a network that comes with us
    words: int = 5  # sentences of fewer words are left out
    smallest: float = 9.0  # so are letters of this size in CSS pixels and below: xx-small
    repeats: int = 3  # and sentences that say a word more often

    def __post_init__(self) -> None:
        if self.words < 0 or self.smallest < 0 or self.repeats < 1:
            raise StrategyError("summary: words and smallest are 0 or more, repeats is 1 or more")

    def prepare(self, material: Material) -> None:
        if len(self.network) in (0, 2):
            language = self.network or self.setting.topic.lexicon.language
            found = shipped(language)
            if found is None:
                raise StrategyError(
                    f"summary: there is no network for the language {language!r}: train one with `topicrawl train "
                    "summary` and give it as summary:network=FILE, or take the English one: summary:network=en"
                )
            self._use(found)
            return
        try:
            self._use(network_in(file_text(self.network, self.name)))
        except ValueError as error:
            raise StrategyError(f"summary: {self.network}: {error}") from error

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        if visit.page is None or not links:
            return [Place(0.0)] * len(links)
        summary = self._summariser.summary(visit.page, visit.link.anchor or visit.link.alt)
        place = Place(summary.score, None, (("similarity", summary.similarity), ("density", summary.density)))
        return [place] * len(links)

    def state(self) -> Carry:
        return self._network.state()

    def restore(self, state: Carry) -> None:
        assert isinstance(state, list)
        self._use(Network.of(state))

    def _use(self, network: Network) -> None:
        self._network = network
        self._summariser = Summariser(self.setting.topic, network, Rules(self.words, self.smallest, self.repeats))
