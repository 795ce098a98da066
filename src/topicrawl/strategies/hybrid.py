"""The hidden Markov model together with the centroid of the relevant pages: Batsakis 2007, section 3.4.2, equations 11
and 12.

Links of pages of one cluster and one history are worth the same to the model; how like the relevant pages their page
and their anchor are tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.hmm import HiddenMarkov


@dataclass
class Hybrid(HiddenMarkov):
    """A link is worth the mean of what the hidden Markov model says and of how like the relevant pages its page is.

        priority(pᵢ) = (similarity(pᵢ, c) + priority_hmm(pᵢ)) / 2                                    (11)

    pᵢ: the page the link stands on; c: the centroid of the relevant training pages; priority_hmm: as in `hmm`, without
    its steps of ε, because similarity tells equals apart.

    >>> Hybrid().mixed(hmm=0.4, page=0.6, anchor=0.0)
    0.5
    """

    name = "hybrid"
    paper = "Batsakis 2007, 3.4.2, Eq 11"

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        one, _, carry, vector = self.followed(visit)
        page = self.trained.centroid.cosine(vector)
        place = Place(self.mixed(one, page, 0.0), carry, (("hmm", one), ("page", page)))
        return [place for _ in links]

    def mixed(self, hmm: float, page: float, anchor: float) -> float:
        return (page + hmm) / 2


@dataclass
class HybridAnchor(Hybrid):
    """A link is worth the mean of what the hidden Markov model says and of how like the relevant pages its page and
    its anchor are.

        priority(aᵢ) = (priority_hmm(pᵢ) + (similarity(pᵢ, c) + similarity(aᵢ, c)) / 2) / 2          (12)

    aᵢ: the anchor text of the link, or the alternative text of its image; the rest as in `hybrid`.

    (.4 + (.6 + .2) / 2) / 2:

    >>> round(HybridAnchor().mixed(hmm=0.4, page=0.6, anchor=0.2), 6)
    0.4
    """

    name = "hybrid_anchor"
    paper = "Batsakis 2007, 3.4.2, Eq 12"

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        one, _, carry, vector = self.followed(visit)
        page = self.trained.centroid.cosine(vector)
        anchors = self.trained.centroid.phrases([link.anchor or link.alt for link in links]) if links else []
        return [
            Place(self.mixed(one, page, anchor), carry, (("hmm", one), ("page", page), ("anchor", anchor)))
            for anchor in anchors
        ]

    def mixed(self, hmm: float, page: float, anchor: float) -> float:
        return (hmm + (page + anchor) / 2) / 2
