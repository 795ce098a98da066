"""From the links of a visited page to offers for the frontier: what may be followed, and where it goes.

Links that a rule forbids never reach the strategy; each has a named refusal. Links into a suspected trap go behind
everything else, because a finite site made from one mould looks the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from topicrawl.errors import StrategyError
from topicrawl.frontier.contract import Frontier, Offer
from topicrawl.frontier.limits import Limits, refusal
from topicrawl.frontier.monotony import Monotony
from topicrawl.guidance import Guidance
from topicrawl.records import Link, Place, Refusal, Visit
from topicrawl.strategies.strategy import Strategy

LATE = 2.0  # taken from the scores of suspected traps: below 0, where no honest link stands


class Outlink(NamedTuple):
    """A link of a visited page and what became of it: a place, or a refusal."""

    link: Link
    place: Place | None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Fences:
    """Which links may be followed."""

    limits: Limits | None = None  # None: no trap rules (a recorded web is finite)
    monotony: Monotony | None = None
    scope: Callable[[str], bool] | None = None  # which URLs may be offered at all
    guidance: Guidance | None = None  # what people add to the scores
    directives: bool = True  # whether noindex and nofollow are obeyed (a recording asks nobody anew)

    def refusal(self, link: Link) -> Refusal | None:
        """Why a link must not be followed, or None."""
        if link.rel and self.directives and "nofollow" in link.rel.split():
            return Refusal.NOFOLLOW
        if self.scope is not None and not self.scope(link.url):
            return Refusal.OUT_OF_SCOPE
        if self.limits is not None and (reason := refusal(link, self.limits)) is not None:
            return reason
        if self.monotony is not None and self.monotony.alert and self.monotony.endless(link.url, link.source):
            return Refusal.TRAP
        return None

    def late(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """New scores of waiting links, where suspected traps stay behind all others, and people's wishes count."""
        if self.guidance:
            scores = self.guidance.again(scores)
        if self.monotony is None or not self.monotony.alert:
            return scores
        return {url: score - LATE if self.monotony.exhausted(url) else score for url, score in scores.items()}

    def exhausted(self, link: Link) -> bool:
        """Whether a link is suspected of leading into a trap."""
        return self.monotony is not None and self.monotony.alert and self.monotony.exhausted(link.url)


def placed(visit: Visit, strategy: Strategy, fences: Fences) -> list[Outlink]:
    """Every distinct link of the page with its place, or why it has none."""
    page = visit.page
    if page is None or not page.links:
        return []
    links: list[Link] = []
    refused: dict[str, Outlink] = {}
    closed = fences.directives and "nofollow" in page.directives
    for link in page.links:
        reason = Refusal.NOFOLLOW if closed else fences.refusal(link)
        if reason is None:
            links.append(link)
        else:
            refused.setdefault(link.url, Outlink(link, None, reason))
    best: dict[str, Outlink] = {}
    places = strategy.place(links, visit)
    if len(places) != len(links):
        raise StrategyError(f"{strategy.name} gave {len(places)} places for {len(links)} links")
    for link, place in zip(links, places, strict=True):
        if place is not None and not isfinite(place.score):
            raise StrategyError(f"{strategy.name} gave {link.url} the score {place.score}: scores are finite")
        known = best.get(link.url)
        if known is None or (place is not None and (known.place is None or place.score > known.place.score)):
            best[link.url] = Outlink(link, place, None if place is not None else Refusal.STRATEGY)
    if fences.guidance or (fences.monotony is not None and fences.monotony.alert):
        best = {url: _moved(out, fences) for url, out in best.items()}
    return [*best.values(), *(out for url, out in refused.items() if url not in best)]


def _moved(out: Outlink, fences: Fences) -> Outlink:
    """A link where people want it, or behind all others if it is suspected of leading into a trap."""
    place = out.place
    if place is not None and fences.guidance:
        place = _guided(out.link, place, fences.guidance)
    if place is not None and fences.exhausted(out.link):
        place = _late(place)
    return out if place is out.place else out._replace(place=place)


def _late(place: Place) -> Place:
    return Place(place.score - LATE, place.carry, (*place.parts, ("monotonous", -LATE)))


def _guided(link: Link, place: Place, guidance: Guidance) -> Place:
    score = guidance.applied(link, place.score)
    if score == place.score:
        return place
    return Place(score, place.carry, (*place.parts, ("readers", score - place.score)))


async def combined(outlinks: Sequence[Outlink], strategy: Strategy, frontier: Frontier) -> list[Offer]:
    """The placed links as offers, combined with where they stand already if the strategy wants that."""
    offers = [Offer(out.link, out.place) for out in outlinks if out.place is not None]
    if strategy.combines and offers:
        waiting = await frontier.places([offer.link.url for offer in offers])
        for index, offer in enumerate(offers):
            if (old := waiting.get(offer.link.url)) is not None:
                offers[index] = offer._replace(place=strategy.combine(old, offer.place), replace=True)
    return offers
