"""Hand-built visits for strategies that use only links and similarities."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from topicrawl.models import JsonValue, Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")


def bind_strategy(spec: str, topic: Topic = TOPIC) -> Strategy:
    """Return a strategy that is bound to a topic."""
    strategy = create_strategy(spec)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    return strategy


def build_visit(
    url: str, targets: Sequence[str] = (), *, relevance: float = 0.0, payload: JsonValue = None, text: str = ""
) -> Visit:
    """Return the visit of a page with links to the targets."""
    links = tuple(Link(target, url, position=place, depth=1) for place, target in enumerate(targets))
    page = Page(url, text=text, words=tuple(tokenise(text)), links=links)
    return Visit(1, Link(url), Priority(1.0, payload), url, page, relevance)


def score_visit_links(strategy: Strategy, visit: Visit) -> dict[str, float]:
    """Return the score of each link of a visit. Links that the strategy rejects are left out."""
    assert visit.page is not None
    places = strategy.score_links(visit.page.links, visit)
    pairs = zip(visit.page.links, places, strict=True)
    return {link.url: place.score for link, place in pairs if place is not None}
