"""Hidden Markov model with the centroid of the relevant pages: Batsakis 2007, section 3.4.2, equations 11 and 12.

The hidden Markov model gives the same score to all links of pages with the same cluster and path. The similarity of
page and anchor text to the relevant pages distinguishes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.hmm import HiddenMarkovStrategy


@dataclass
class HybridStrategy(HiddenMarkovStrategy):
    """Score a link by the mean of the hidden Markov model and the similarity of its page to the relevant pages.

        priority(pᵢ) = (similarity(pᵢ, c) + priority_hmm(pᵢ)) / 2                                    (11)

    pᵢ: the page that contains the link; c: the centroid of the relevant training pages; priority_hmm: as in `hmm`,
    without the steps of ε, because the similarity breaks ties.

    >>> HybridStrategy().mix_scores(hmm=0.4, page=0.6, anchor=0.0)
    0.5
    """

    name = "hybrid"
    paper = "Batsakis 2007, 3.4.2, Eq 11"

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return one priority for all links of a page."""
        hmm, _, payload, vector = self.follow_visit(visit)
        page = self.path_model.centroid.cosine(vector)
        priority = Priority(self.mix_scores(hmm, page, 0.0), payload, (("hmm", hmm), ("page", page)))
        return [priority for _ in links]

    def mix_scores(self, hmm: float, page: float, anchor: float) -> float:
        """Return the mean of the model's priority and the page similarity (equation 11)."""
        return (page + hmm) / 2


@dataclass
class HybridAnchorStrategy(HybridStrategy):
    """Score a link by the mean of the hidden Markov model and the similarity of page and anchor to relevant pages.

        priority(aᵢ) = (priority_hmm(pᵢ) + (similarity(pᵢ, c) + similarity(aᵢ, c)) / 2) / 2          (12)

    aᵢ: the anchor text of the link, or the alternative text of its image. The other symbols are as in `hybrid`.

    (.4 + (.6 + .2) / 2) / 2:

    >>> round(HybridAnchorStrategy().mix_scores(hmm=0.4, page=0.6, anchor=0.2), 6)
    0.4
    """

    name = "hybrid_anchor"
    paper = "Batsakis 2007, 3.4.2, Eq 12"

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return a priority for each link that depends on its anchor text."""
        hmm, _, payload, vector = self.follow_visit(visit)
        page = self.path_model.centroid.cosine(vector)
        anchors = self.path_model.centroid.score_texts([link.anchor or link.alt for link in links]) if links else []
        return [
            Priority(self.mix_scores(hmm, page, anchor), payload, (("hmm", hmm), ("page", page), ("anchor", anchor)))
            for anchor in anchors
        ]

    def mix_scores(self, hmm: float, page: float, anchor: float) -> float:
        """Return the mean of the model's priority and the mean similarity of page and anchor (equation 12)."""
        return (hmm + (page + anchor) / 2) / 2
