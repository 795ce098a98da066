"""How strategies that learn and have no shorter lessons share what they learn: workers tell each other their visits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from topicrawl.records import Carry, Failure, Link, Page, Place, Visit
from topicrawl.strategies.strategy import Strategy

_NEAR = ("anchor", "alt", "rel")
_CONTEXT = ("before", "after", "sentence", "heading", "tag_path")


class Visits:
    """The visits of one worker, for the others.

    Every worker hears of every visit and could score the same links anew; `ours` says which of them are for this one.
    """

    def __init__(self, strategy: Strategy, ours: Callable[[str], bool]) -> None:
        self._strategy, self._ours = strategy, ours
        self._out: list[Carry] = []
        self._scores: dict[str, float] = {}

    def seen(self, visit: Visit) -> None:
        """A visit of this worker, which its strategy has learned from already."""
        self._out.append(values_of(visit, context=bool(self._strategy.context)))

    def lesson(self) -> Carry:
        out, self._out = self._out, []
        return out or None

    def hear(self, lesson: Carry) -> None:
        for values in cast("list[Carry]", lesson):
            self._strategy.learn(visit_of(values))
            self._scores.update(self._strategy.revise())

    def revised(self) -> Mapping[str, float]:
        scores, self._scores = self._scores, {}
        return self.chosen(scores)

    def chosen(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Those scores that are for this worker to tell the frontier."""
        return {url: score for url, score in scores.items() if self._ours(url)}

    def beliefs(self) -> Carry:
        return self._strategy.state()

    def take(self, beliefs: Carry) -> None:
        self._strategy.restore(beliefs)


def values_of(visit: Visit, *, context: bool = False) -> Carry:
    """A visit as plain values, with what strategies learn from.

    >>> link = Link("http://b/", "http://a/", "see", depth=1)
    >>> page = Page("http://a/", "Owls", text="Owls", words=("owls",), links=(link,))
    >>> visit = Visit(3, Link("http://a/"), Place(0.5, {"level": 2}, (("known", 0.5),)), "http://a/", page, 0.25)
    >>> visit_of(values_of(visit)) == visit
    True
    """
    link, place = visit.link, visit.place
    # What is not kept is not learned from.
    page = visit.page if visit.failure is None else None
    values: list[Any] = [
        visit.step, [link.url, link.source, link.anchor, link.depth], [place.score, place.carry, place.parts],
        visit.url, _page_values(page, context=context) if page is not None else None, visit.relevance,
        visit.failure, visit.at, visit.status,
    ]  # fmt: skip
    return values


def visit_of(values: Carry) -> Visit:
    """The visit that `values_of` took apart."""
    step, (url, source, anchor, depth), (score, carry, parts), final, page, *rest = cast("list[Any]", values)
    relevance, failure, at, status = rest
    return Visit(
        step, Link(url, source, anchor, depth=depth), Place(score, carry, tuple(map(tuple, parts))), final,
        _page_of(page, depth + 1) if page is not None else None, relevance, Failure(failure) if failure else None,
        at, status,
    )  # fmt: skip


def _page_values(page: Page, *, context: bool) -> Carry:
    names = (*_NEAR, *_CONTEXT) if context else _NEAR
    columns: dict[str, Any] = {name: [getattr(link, name) for link in page.links] for name in names}
    values: list[Any] = [
        page.url, page.title, page.headings, page.text, page.words, page.language, page.digest,
        [link.url for link in page.links], columns,
    ]  # fmt: skip
    return values


def _page_of(values: list[Any], depth: int) -> Page:
    url, title, headings, text, words, language, digest, urls, columns = values
    links = []
    for position, target in enumerate(urls):
        near = {name: column[position] for name, column in columns.items()}
        near |= {name: tuple(near[name]) for name in ("before", "after") if name in near}
        links.append(Link(target, url, position=position, depth=depth, **near))
    return Page(
        url, title, tuple(headings), text, tuple(words), language=language, digest=digest, links=tuple(links)
    )  # fmt: skip
