"""State and statistics of a collection: counts, harvest curve, hosts, and the next links of the frontier."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from time import time
from typing import cast

from msgspec import Struct, convert

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands, queries
from topicrawl.collection.commands import CommandKind, CrawlCommand
from topicrawl.collection.directory import is_crawling
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.engine.limits import StopReason
from topicrawl.engine.steering import AppliedFeedback
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.frontier.base import FrontierCounts, FrontierEntry
from topicrawl.frontier.sqlite.reader import open_reader
from topicrawl.models import JsonValue
from topicrawl.settings import Settings, parse_stored_settings
from topicrawl.web.collections import OpenCollection

_MAX_POINTS = 160  # points of a curve
_SPEED_WINDOW = 60.0  # seconds over which the speed is measured
_MAX_SPEED_PAGES = 3000  # pages that are counted for the speed
_MAX_PATH_LENGTH = 200  # links of a path
_NO_COUNTS = FrontierCounts(0, 0, 0, 0, 0)
#: Settings that the web page shows; the others may contain passwords or describe the network.
_SHOWN_SETTINGS = (
    "strategy",
    "judge",
    "embedding",
    "reviewer_model",
    "pages",
    "relevant",
    "seconds",
    "stop_when_found",
    "delay",
    "concurrency",
    "min_score",
    "focus",
    "poor_share",
    "only",
    "distinct",
    "main_text",
    "host_pages",
    "depth",
    "timeout",
    "max_bytes",
    "documents",
    "attempts",
    "robots",
)
_PENDING_STATES = {CommandKind.PAUSE: "pausing", CommandKind.RESUME: "resuming", CommandKind.STOP: "stopping"}
#: Labels of states on the web page, where they differ from the stored state.
_STATE_LABELS = {
    "pages reached": "finished",
    "relevant pages reached": "finished",
    "fetches reached": "finished",
    "frontier empty": "no links left",
    "interrupted": "stopped",
    **{word: f"{word}…" for word in _PENDING_STATES.values()},
}


class _StoredLimits(Struct, frozen=True):
    """Limits in the stored settings of a crawl."""

    pages: int = 0
    relevant: int = 0


#: Explanations of stored states that a user may not expect.
_EXPLANATIONS = {
    "not running": "The last run ended without a reason: its process was killed, or the machine failed. The stored"
    " pages and links are kept, and the next run continues from there.",
    StopReason.EMPTY: "No links are waiting. Add seeds, then continue the crawl.",
    StopReason.MIN_SCORE: "All waiting links score less than the minimum score of the settings.",
    StopReason.UNREACHABLE: "The hosts of all waiting links do not respond. Continue the crawl later.",
    StopReason.FOUND: "The crawl estimates that the links that are left lead to few relevant pages.",
    StopReason.TIME: "The time limit of the run is reached.",
    StopReason.SPACE: "The disk is almost full. Free some space, then continue the crawl.",
}


@dataclass(frozen=True)
class CollectionFigures:
    """Key figures of a collection."""

    name: str
    topic: str
    strategy: str
    pages: int
    relevant: int
    threshold: float
    waiting: int
    leased: int
    speed: float  # pages per second in the last minute
    state: str  # "crawling", "paused", "stopping", … or the reason why the crawl stopped
    crawling: bool
    paused: bool
    judged: int
    goal: int  # page limit of the last run; 0 if there was none
    relevant_goal: int  # limit of relevant pages of the last run; 0 if there was none

    @property
    def words(self) -> str:
        """Label of the state for the web page."""
        return _STATE_LABELS.get(self.state, self.state)

    @property
    def explanation(self) -> str:
        """Why the last run ended, in a sentence, and what to do; "" if the label of the state says all."""
        return "" if self.crawling else _EXPLANATIONS.get(self.state, "")

    @property
    def changing(self) -> bool:
        """Whether the crawl has received a command that it has not executed yet."""
        return self.crawling and self.state.endswith("ing") and self.state != "crawling"

    @property
    def progress(self) -> float | None:
        """Share of the page limit, or of the limit of relevant pages, that is reached; None without a limit."""
        shares = [done / goal for done, goal in self._list_goals()]
        return min(1.0, max(shares)) if shares else None

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until a limit is reached at the present speed and harvest; None if it is unknown."""
        if not self.crawling or self.paused or not self.speed:
            return None
        rates = (self.speed, self.speed * self.harvest)
        goals = ((self.pages, self.goal), (self.relevant, self.relevant_goal))
        times = [(goal - done) / rate for (done, goal), rate in zip(goals, rates, strict=True) if goal and rate]
        return max(0.0, min(times)) if times else None

    def _list_goals(self) -> list[tuple[int, int]]:
        goals = ((self.pages, self.goal), (self.relevant, self.relevant_goal))
        return [(done, goal) for done, goal in goals if goal]

    @property
    def harvest(self) -> float:
        """Harvest rate: share of relevant pages."""
        return self.relevant / self.pages if self.pages else 0.0


def get_figures(opened: OpenCollection) -> CollectionFigures:
    """Return the figures of a collection; reading them does not block a running crawl."""
    store, directory = opened.store, opened.directory
    threshold = opened.topic.threshold
    changes = _list_relevance_changes(opened)
    pages, relevant = opened.cache.compute(
        "relevant", store, lambda: queries.count_relevant_pages(store, threshold, changes)
    )
    counts, running = _count_links(directory), is_crawling(directory)
    identity, settings = _load_dict(store, "identity"), _load_dict(store, "settings")
    limits = convert(settings, _StoredLimits)
    stopped = store.get_fact("stopped")
    paused = running and bool(store.get_fact("paused"))
    state = _get_running_state(opened, paused=paused) if running else str(stopped or "not running")
    return CollectionFigures(
        opened.name,
        opened.topic.name,
        _strip_paths(str(identity.get("strategy", ""))),
        pages,
        relevant,
        opened.topic.threshold,
        counts.waiting,
        counts.leased,
        _measure_speed(store),
        state,
        running,
        paused,
        opened.cache.compute("judged", store, lambda: annotation_log.count_annotated_pages(store)),
        limits.pages,
        limits.relevant,
    )


def load_settings(opened: OpenCollection) -> Settings:
    """Return the stored settings of a crawl."""
    return parse_stored_settings(_load_dict(opened.store, "settings"))


def measure_size(directory: Path) -> int:
    """Return the size of the files of a collection in bytes."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def list_settings(opened: OpenCollection) -> list[tuple[str, str]]:
    """Return the settings of a crawl that users of the web page may see."""
    stored = _load_dict(opened.store, "settings")
    return [(name, _format_setting(stored[name])) for name in _SHOWN_SETTINGS if stored.get(name) not in (None, "", [])]


def _strip_paths(text: str) -> str:
    """Remove directories from the parameters of a strategy, because users of the web page must not see paths.

    >>> _strip_paths("hmm:model=/home/me/dengue/hmm.json,levels=4")
    'hmm:model=hmm.json,levels=4'
    """
    return re.sub(r"(?<==)[^,]*/", "", text)


def _format_setting(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else _strip_paths(str(value))


def _get_running_state(opened: OpenCollection, *, paused: bool) -> str:
    """Return the state of a running crawl, including the effect of commands that it has not executed yet."""
    if opened.store.get_fact("stopping"):
        return "stopping"
    states = [_PENDING_STATES[order.kind] for order in _list_pending_commands(opened) if order.kind in _PENDING_STATES]
    return states[-1] if states else "paused" if paused else "crawling"


def _list_pending_commands(opened: OpenCollection) -> list[CrawlCommand]:
    return commands.list_commands(opened.store, after=_get_applied_feedback(opened).order)


def _load_dict(store: CollectionStore, name: str) -> dict[str, JsonValue]:
    fact = store.get_fact(name)
    return fact if isinstance(fact, dict) else {}


def _measure_speed(store: CollectionStore) -> float:
    """Return the pages per second in the last minute, or since the first page if the run is younger."""
    sql = "SELECT at FROM visits WHERE failure IS NULL ORDER BY step DESC LIMIT ?"
    now = time()
    rows = store.iterate_rows(sql, (_MAX_SPEED_PAGES,))
    # The pages of a crawl that is not running are older, so only one row is read.
    recent = list(takewhile(lambda at: at > now - _SPEED_WINDOW, (cast(float, at) for (at,) in rows)))
    return len(recent) / max(1.0, now - min(recent)) if len(recent) > 1 else 0.0


def _count_links(directory: Path) -> FrontierCounts:
    """Return the numbers of links in the frontier of a directory; all 0 if it has no local frontier."""

    async def count() -> FrontierCounts:
        frontier = open_reader(directory / "frontier.sqlite")
        try:
            return await frontier.get_counts()
        finally:
            await frontier.close()

    return asyncio.run(count()) if (directory / "frontier.sqlite").exists() else _NO_COUNTS


def compute_harvest_curve(opened: OpenCollection) -> list[tuple[int, int]]:
    """Return the harvest curve: (fetches, relevant pages) at about `_MAX_POINTS` points."""
    threshold, changes = opened.topic.threshold, _list_relevance_changes(opened)
    return opened.cache.compute(
        "curve", opened.store, lambda: queries.compute_harvest_curve(opened.store, threshold, _MAX_POINTS, changes)
    )


def _list_relevance_changes(opened: OpenCollection) -> list[tuple[int, int]]:
    store, threshold = opened.store, opened.topic.threshold
    return opened.cache.compute("changes", store, lambda: queries.list_relevance_changes(store, threshold))


def get_feedback_state(opened: OpenCollection) -> dict[str, JsonValue]:
    """Return when the crawl last applied user feedback and how many links changed; empty if it never did."""
    return _load_dict(opened.store, "heeded")


def _get_applied_feedback(opened: OpenCollection) -> AppliedFeedback:
    return convert(get_feedback_state(opened), AppliedFeedback, strict=False)


def count_pending(opened: OpenCollection) -> int:
    """Return the number of verdicts and commands that the crawl has not applied yet."""
    sql = "SELECT count(*) FROM annotations WHERE number > ?"
    verdicts = opened.store.query_value(int, sql, (_get_applied_feedback(opened).verdict,))
    return verdicts + len(_list_pending_commands(opened))


class NextLink(Struct, frozen=True):
    """A waiting link and the parts of its score."""

    url: str
    anchor: str
    source: str
    score: float
    parts: tuple[tuple[str, float], ...]
    feedback: tuple[tuple[str, float], ...]  # effects of user feedback


class NextLinks(Struct, frozen=True):
    """Response with the best waiting links."""

    links: list[NextLink]


def list_next_links(opened: OpenCollection, count: int) -> list[NextLink]:
    """Return the waiting links with the highest scores."""
    path = opened.directory / "frontier.sqlite"

    async def get_best() -> list[FrontierEntry]:
        frontier = open_reader(path)
        try:
            return await frontier.get_best_entries(count)
        finally:
            await frontier.close()

    guide = load_user_feedback(opened)
    return [
        NextLink(
            entry.link.url,
            entry.link.anchor,
            entry.link.source,
            entry.priority.score,
            tuple(part for part in entry.priority.parts if part[0] != "feedback"),
            tuple(guide.explain_preference(entry.link)),
        )
        for entry in (asyncio.run(get_best()) if path.exists() else ())
    ]


def load_user_feedback(opened: OpenCollection) -> UserFeedback:
    """Load the user feedback of a collection in the form that the crawl uses."""
    return opened.cache.get_feedback(opened.store, opened.topic)


def trace_path(opened: OpenCollection, visit: StoredVisit | None) -> list[StoredVisit]:
    """Return the visits from a seed to a page."""
    steps: list[StoredVisit] = []
    while visit is not None and len(steps) < _MAX_PATH_LENGTH:
        steps.append(visit)
        visit = opened.store.find_visit(visit.source) if visit.source else None
    return steps[::-1]


def list_hosts(opened: OpenCollection, count: int) -> list[tuple[str, int]]:
    """Return the hosts with the most pages."""
    hosts = opened.cache.compute("hosts", opened.store, lambda: queries.count_pages_by_host(opened.store))
    return list(hosts.items())[:count]


def count_failures(opened: OpenCollection) -> dict[str, int]:
    """Return the number of final failures by name, most frequent first."""
    return opened.cache.compute("failures", opened.store, lambda: queries.count_failures(opened.store))
