"""Share learning in a shared crawl by sending visits, for strategies without a cheaper protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from topicrawl.models import Failure, JsonValue, Link, Page, Priority, Visit
from topicrawl.strategies.base import Strategy

_TEXT_FIELDS = ("anchor", "alt", "rel")
_CONTEXT_FIELDS = ("before", "after", "sentence", "heading", "tag_path")


class VisitSync:
    """Export the visits of one worker and replay the visits of the others.

    Every worker receives every visit, so several workers could rescore the same link. `is_own_url` selects the URLs
    that this worker rescores.
    """

    def __init__(self, strategy: Strategy, is_own_url: Callable[[str], bool]) -> None:
        self._strategy, self._is_own_url = strategy, is_own_url
        self._pending_visits: list[JsonValue] = []
        self._pending_scores: dict[str, float] = {}

    def record_visit(self, visit: Visit) -> None:
        """Queue a visit of this worker, after its strategy has learned from it."""
        self._pending_visits.append(pack_visit(visit, context=bool(self._strategy.link_context)))

    def export_delta(self) -> JsonValue:
        """Return the queued visits and clear the queue. None if there are none."""
        out, self._pending_visits = self._pending_visits, []
        return out or None

    def apply_delta(self, delta: JsonValue) -> None:
        """Let the strategy learn from the visits of another worker, and collect the new scores."""
        for values in cast("list[JsonValue]", delta):
            self._strategy.learn(unpack_visit(values))
            self._pending_scores.update(self._strategy.rescore())

    def rescore_links(self) -> Mapping[str, float]:
        """Return the collected scores of this worker's URLs, and clear them."""
        scores, self._pending_scores = self._pending_scores, {}
        return self.filter_own_scores(scores)

    def filter_own_scores(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Return the scores of the URLs that belong to this worker."""
        return {url: score for url, score in scores.items() if self._is_own_url(url)}

    def export_snapshot(self) -> JsonValue:
        """Return the state of the strategy."""
        return self._strategy.get_state()

    def load_snapshot(self, snapshot: JsonValue) -> None:
        """Restore the state of the strategy."""
        self._strategy.restore_state(snapshot)


def pack_visit(visit: Visit, *, context: bool = False) -> JsonValue:
    """Convert a visit to plain values with all fields that strategies learn from.

    >>> link = Link("http://b/", "http://a/", "see", depth=1)
    >>> page = Page("http://a/", "Owls", text="Owls", words=("owls",), links=(link,))
    >>> visit = Visit(3, Link("http://a/"), Priority(0.5, {"level": 2}, (("known", 0.5),)), "http://a/", page, 0.25)
    >>> unpack_visit(pack_visit(visit)) == visit
    True
    """
    link, priority = visit.link, visit.priority
    # The crawl stores no page for a failed visit, so strategies must not learn from it.
    page = visit.page if visit.failure is None else None
    values: list[Any] = [
        visit.step,
        [link.url, link.source, link.anchor, link.depth],
        [priority.score, priority.payload, priority.parts],
        visit.url,
        _pack_page(page, context=context) if page is not None else None,
        visit.relevance,
        visit.failure,
        visit.at,
        visit.status,
    ]
    return values


def unpack_visit(values: JsonValue) -> Visit:
    """Convert the values of `pack_visit` back to a visit."""
    step, (url, source, anchor, depth), (score, payload, parts), final, page, *rest = cast("list[Any]", values)
    relevance, failure, at, status = rest
    return Visit(
        step,
        Link(url, source, anchor, depth=depth),
        Priority(score, payload, tuple(map(tuple, parts))),
        final,
        _unpack_page(page, depth + 1) if page is not None else None,
        relevance,
        Failure(failure) if failure else None,
        at,
        status,
    )


def _pack_page(page: Page, *, context: bool) -> JsonValue:
    """Convert a page to plain values. With `context`, its links keep the text around them."""
    names = (*_TEXT_FIELDS, *_CONTEXT_FIELDS) if context else _TEXT_FIELDS
    columns: dict[str, Any] = {name: [getattr(link, name) for link in page.links] for name in names}
    # The parser returns word sequences, which JSON cannot encode.
    columns |= {name: list(map(list, columns[name])) for name in ("before", "after") if name in columns}
    values: list[Any] = [
        page.url,
        page.title,
        page.headings,
        page.text,
        list(page.words),
        page.language,
        page.digest,
        [link.url for link in page.links],
        columns,
    ]
    return values


def _unpack_page(values: list[Any], depth: int) -> Page:
    """Convert the values of `_pack_page` back to a page whose links have the given depth."""
    url, title, headings, text, words, language, digest, urls, columns = values
    links = []
    for position, target in enumerate(urls):
        near = {name: column[position] for name, column in columns.items()}
        near |= {name: tuple(near[name]) for name in ("before", "after") if name in near}
        links.append(Link(target, url, position=position, depth=depth, **near))
    return Page(url, title, tuple(headings), text, tuple(words), language=language, digest=digest, links=tuple(links))
