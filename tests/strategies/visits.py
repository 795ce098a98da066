"""Visits made by hand, for strategies that look at links and similarities alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from topicrawl.records import Carry, Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.text.tokens import words
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")


def begun(spec: str, topic: Topic = TOPIC) -> Strategy:
    strategy = make(spec)
    strategy.begin(Setting(topic, Vsm(topic), Random(0)))
    return strategy


def visited(
    url: str, targets: Sequence[str] = (), *, relevance: float = 0.0, carry: Carry = None, text: str = ""
) -> Visit:
    """A fetched page with links to the targets."""
    links = tuple(Link(target, url, position=place, depth=1) for place, target in enumerate(targets))
    page = Page(url, text=text, words=tuple(words(text)), links=links)
    return Visit(1, Link(url), Place(1.0, carry), url, page, relevance)


def scores(strategy: Strategy, visit: Visit) -> dict[str, float]:
    """URL → the score of its link; links that are not followed are left out."""
    assert visit.page is not None
    places = strategy.place(visit.page.links, visit)
    pairs = zip(visit.page.links, places, strict=True)
    return {link.url: place.score for link, place in pairs if place is not None}
