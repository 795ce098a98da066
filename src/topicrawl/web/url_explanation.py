"""Explain why a URL was fetched or was not fetched, for `topicrawl why` and for the web application."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from topicrawl.collection import queries
from topicrawl.collection.annotations import find_annotation
from topicrawl.collection.reviewer_log import find_verdict
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.frontier.base import FrontierEntry
from topicrawl.frontier.sqlite.reader import open_reader
from topicrawl.models import STORAGE_DIRECTIVES, Failure, Refusal

_MAX_CHAIN_LENGTH = 1000
#: Failures of pages that were fetched, but not stored.
FETCHED_NOT_STORED = frozenset({Failure.DUPLICATE, Failure.LINK_LIST, *STORAGE_DIRECTIVES})


@dataclass(frozen=True)
class ChainStep:
    """One fetch in the chain of links from a seed to a page."""

    step: int
    url: str
    ended: str
    anchor: str
    score: float
    parts: dict[str, float]
    relevance: float | None
    failure: str | None


@dataclass(frozen=True)
class WaitingLinkDetails:
    """Priority of a link in the frontier."""

    score: float
    score_at_first: float
    parts: dict[str, float]
    anchor: str
    source: str
    attempts: int


@dataclass(frozen=True)
class PageLabel:
    """Label that a user or the language-model reviewer has given to a page."""

    label: str
    by: str  # "user" or "reviewer"
    at: float
    confidence: float | None = None  # of the reviewer, as are the fields below
    reason: str = ""
    model: str = ""


@dataclass(frozen=True)
class Explanation:
    """Explanation of a URL. The chain leads from a seed to the URL, or to the page that links to it."""

    url: str
    fetched: bool
    reason: str  # failure, refusal or state of the link; "fetched" for a page
    detail: str = ""
    chain: list[ChainStep] = field(default_factory=list)
    waiting: WaitingLinkDetails | None = None
    labels: list[PageLabel] = field(default_factory=list)  # the first one counts
    summary: list[str] = field(default_factory=list)  # main sentences of a stored page


def explain_url(directory: Path, url: str) -> Explanation:
    """Explain why a URL was fetched or was not fetched. The crawl may be running.

    A visit gives the chain of visits from a seed to it. Otherwise the entry of the URL in the frontier is the
    explanation, and for a URL that is not there, a refused link to it.
    """
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        visit = store.find_visit(url)
        if visit is not None:
            chain, labels = _build_chain(store, visit), _list_labels(store, visit)
            reason, fetched = visit.failure or "fetched", visit.failure is None
            summary = load_summary(directory, visit) if fetched else []
            return Explanation(url, fetched, reason, visit.detail, chain, labels=labels, summary=summary)
        entry = asyncio.run(_load_entry(directory, url))
        if entry is None:
            return _explain_unknown_link(store, url)
        return _explain_known_link(store, url, entry, _explain_waiting_link(directory, store, entry))
    finally:
        store.close()


def load_summary(directory: Path, visit: StoredVisit) -> list[str]:
    """Return the main sentences of a stored page; empty if it cannot be read from the archive."""
    from topicrawl import parse
    from topicrawl.collection.archive import WarcArchive
    from topicrawl.collection.page_loader import reload_page
    from topicrawl.relevance.page_summary import SHOWN_SENTENCES, select_summary

    archive = WarcArchive(directory)
    try:
        page = reload_page(archive, visit, partial(parse.parse_response, context=False, styles=True))
    finally:
        archive.close()
    return select_summary(page, anchor=visit.anchor, limit=SHOWN_SENTENCES) if page is not None else []


def _build_chain(store: CollectionStore, visit: StoredVisit | None) -> list[ChainStep]:
    """Return the visits from a seed to this visit, in order; empty if `visit` is None."""
    steps: list[ChainStep] = []
    while visit is not None and len(steps) < _MAX_CHAIN_LENGTH:
        priority = visit.priority
        steps.append(
            ChainStep(
                visit.step,
                visit.requested,
                visit.url,
                visit.anchor,
                priority.score,
                dict(priority.parts),
                visit.relevance,
                visit.failure,
            )
        )
        visit = store.find_visit(visit.source) if visit.source else None
    return steps[::-1]


def _list_labels(store: CollectionStore, visit: StoredVisit) -> list[PageLabel]:
    """Return the label of a user, followed by the verdict of the reviewer, for those that exist."""
    annotation, verdict = find_annotation(store, visit.url), find_verdict(store, visit.url)
    labels = []
    if annotation is not None and not annotation.is_by_reviewer:
        labels.append(PageLabel(annotation.label, "user", annotation.at))
    if verdict is not None:
        details = (verdict.confidence, verdict.reason, verdict.model)
        labels.append(PageLabel(verdict.label, "reviewer", verdict.at, *details))
    return labels


def _explain_waiting_link(directory: Path, store: CollectionStore, entry: FrontierEntry) -> dict[str, float]:
    """Return the parts of the score of a waiting link, by the last saved state of the strategy.

    A strategy that gives no explanations has the parts that were computed when the link was found. The demotion by the
    rules for traps and domains is a part as well.
    """
    from topicrawl import strategies
    from topicrawl.builder.stored_settings import load_topic_and_settings
    from topicrawl.engine.checkpoint import restore_link_rules
    from topicrawl.engine.link_filter import LinkFilter
    from topicrawl.engine.scheduling import list_score_parts
    from topicrawl.frontier.domain_monitor import DomainMonitor
    from topicrawl.frontier.trap_detector import TrapDetector
    from topicrawl.relevance.multilingual import MultilingualVsm
    from topicrawl.strategies.base import StrategyContext
    from topicrawl.text.embedding import load_vector_source

    learned = store.get_fact("learned")
    if entry.state == "waiting" and isinstance(learned, dict):
        topic, settings = load_topic_and_settings(directory, {})
        strategy = strategies.create_strategy(settings.strategy)
        vsm = MultilingualVsm(topic, vector_source=load_vector_source(settings.embedding))
        strategy.bind(StrategyContext(topic, vsm, Random(0)))
        strategy.restore_state(learned.get("strategy"))
        link_filter = LinkFilter(trap_detector=TrapDetector(), domain_monitor=DomainMonitor())
        restore_link_rules(link_filter, learned)
        return dict(list_score_parts(entry.link, entry.priority, strategy.explain(entry.link), link_filter))
    return dict(entry.priority.parts)


def _explain_known_link(store: CollectionStore, url: str, entry: FrontierEntry, parts: dict[str, float]) -> Explanation:
    """Explain a link that is in the frontier and has no visit: it waits, is being fetched, was dropped or moved."""
    link, priority = entry.link, entry.priority
    chain = _build_chain(store, store.find_visit(link.source) if link.source else None)
    waiting = WaitingLinkDetails(priority.score, entry.first_score, parts, link.anchor, link.source, entry.attempts)
    details = {"waiting": "the link waits in the frontier", "leased": "the page is being fetched now"}
    reason = entry.reason if entry.state in ("done", "dropped") else entry.state
    detail = details.get(entry.state, "")
    if reason.startswith("moved "):
        reason, _, target = reason.partition(" ")
        detail = f"it redirects to {target}, which was added to the frontier instead"
    return Explanation(url, False, reason, detail, chain, waiting)


def _explain_unknown_link(store: CollectionStore, url: str) -> Explanation:
    """Explain a URL that is not in the frontier: a link to it was refused, or no fetched page links to it."""
    link = queries.find_link_to(store, url)
    if link is not None and link.refusal:
        detail = f"the link “{link.anchor}” on {link.source or 'a page with noindex'} was not followed"
        return Explanation(url, False, link.refusal, detail, _build_chain(store, store.find_visit(link.source)))
    if link is not None:
        return Explanation(url, False, Refusal.HOST_BUDGET, "the host has reached its page limit (--host-pages)")
    return Explanation(url, False, "unseen", "no fetched page links to it")


async def _load_entry(directory: Path, url: str) -> FrontierEntry | None:
    frontier = open_reader(directory / "frontier.sqlite")
    try:
        return await frontier.get_entry(url)
    finally:
        await frontier.close()
