"""Compare rankings of pages by VSM and by their summaries with the ranking of a reader (Mohammadi, tables 2 to 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topicrawl.errors import SettingError
from topicrawl.lab.rank_correlation import count_equal_ranks, kendall, spearman
from topicrawl.models import Page
from topicrawl.relevance.summary import Summariser
from topicrawl.relevance.summary_network import load_bundled_network
from topicrawl.relevance.vsm import Vsm
from topicrawl.topic import Topic


@dataclass(frozen=True)
class RankAgreement:
    """Agreement of a ranking with the ranking of a reader."""

    spearman: float
    kendall: float
    exact: int  # pages at the same rank in both

    @classmethod
    def of(cls, human: Sequence[float], scores: Sequence[float]) -> RankAgreement:
        """Compare the ranks that a reader gave (1 is best) with the scores of a method (high is best).

        >>> agreement = RankAgreement.of([1, 2, 3, 4], [0.9, 0.5, 0.1, 0.2])
        >>> round(agreement.spearman, 6), round(agreement.kendall, 6), agreement.exact
        (0.8, 0.666667, 2)
        """
        order = [-score for score in scores]
        return cls(spearman(human, order), kendall(human, order), count_equal_ranks(human, order))


def score_pages(
    pages: Sequence[Page], topic: Topic, anchors: Mapping[str, str] | None = None
) -> dict[str, list[float]]:
    """Return the scores of pages by the two methods: `vsm` (the whole page) and `summary` (D · Sim of its summary).

    `anchors` maps the URLs of pages to the text of a link to them. The pages must have styled sentences. Raise
    `SettingError` if there is no network for the language of the topic.
    """
    language = topic.lexicon.language
    network = load_bundled_network(language)
    if network is None:
        raise SettingError(f"there is no summary network for the language {language!r}")
    vsm, summariser = Vsm(topic), Summariser(topic, network)
    known_anchors = anchors or {}
    return {
        "vsm": [vsm.score(page) for page in pages],
        "summary": [summariser.summarise(page, known_anchors.get(page.url, "")).value for page in pages],
    }


def compare_rankings(human: Sequence[float], scores: Mapping[str, Sequence[float]]) -> dict[str, RankAgreement]:
    """Return the agreement of each method with the ranking of a reader."""
    return {method: RankAgreement.of(human, values) for method, values in scores.items()}
