"""What a collection says of itself: counts, the harvest curve, hosts, failures, the links that come next."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from time import time

from topicrawl.collection import orders, report, verdicts
from topicrawl.collection.directory import crawling
from topicrawl.collection.orders import Order, Told
from topicrawl.collection.store import Store, Stored
from topicrawl.frontier.contract import Counts, Entry
from topicrawl.frontier.sqlite_look import look
from topicrawl.guidance import Guidance
from topicrawl.records import Carry
from topicrawl.web.shelves import Opened

_POINTS = 160  # of a curve
_LATELY = 60.0  # seconds over which speed is measured
_LONGEST = 200  # links of a path
_NOTHING = Counts(0, 0, 0, 0, 0)
#: What is not here may hold passwords, or says how the network is built.
_SETTINGS = (
    "strategy", "judge", "pages", "seconds", "stop_when_found", "delay", "concurrency", "focus", "only",
    "distinct", "main_text", "host_pages", "depth", "timeout", "max_bytes", "documents", "attempts", "robots",
)  # fmt: skip
_SOON = {Order.PAUSE: "pausing", Order.RESUME: "resuming", Order.STOP: "stopping"}
#: Why a crawl has ended, where its own words are those of its maker.
_WORDS = {
    "pages reached": "finished",
    "fetches reached": "finished",
    "frontier empty": "no links left",
    "interrupted": "stopped",
    **{word: f"{word}…" for word in _SOON.values()},
}


@dataclass(frozen=True)
class Figures:
    """What there is to say of a collection at a glance."""

    name: str
    topic: str
    strategy: str
    pages: int
    relevant: int
    threshold: float
    waiting: int
    leased: int
    speed: float  # pages a second, lately
    state: str  # "crawling", "paused", "stopping", or why it stopped
    crawling: bool
    paused: bool
    judged: int
    goal: int  # pages that the last run was to keep, 0: no limit

    @property
    def words(self) -> str:
        """The state as people say it."""
        return _WORDS.get(self.state, self.state)

    @property
    def changing(self) -> bool:
        """Whether the crawl has been told something that it will have done in a moment."""
        return self.crawling and self.state.endswith("ing") and self.state != "crawling"

    @property
    def harvest(self) -> float:
        return self.relevant / self.pages if self.pages else 0.0


def figures(opened: Opened) -> Figures:
    """The figures of a collection, read without disturbing its crawl."""
    store, directory = opened.store, opened.directory
    pages, relevant = report.harvest(store, opened.topic.threshold)
    counts, running = _counts(directory), crawling(directory)
    identity, settings = _table(store, "identity"), _table(store, "settings")
    stopped = store.fact("stopped")
    paused = running and bool(store.fact("paused"))
    state = _doing(opened, paused=paused) if running else str(stopped or "not running")
    return Figures(
        opened.name, opened.topic.name, _placeless(str(identity.get("strategy", ""))), pages, relevant,
        opened.topic.threshold, counts.waiting, counts.leased, _speed(store), state, running, paused,
        len(verdicts.latest(store)), int(str(settings.get("pages", 0))),
    )  # fmt: skip


def settings(opened: Opened) -> list[tuple[str, str]]:
    """How the crawl was set up, as far as that is a visitor's business."""
    known = _table(opened.store, "settings")
    return [(name, _said(known[name])) for name in _SETTINGS if known.get(name) not in (None, "", [])]


def _placeless(text: str) -> str:
    """A strategy without the places on the disk of what it was given: they are nobody's business.

    >>> _placeless("hmm:model=/home/me/dengue/hmm.json,levels=4")
    'hmm:model=hmm.json,levels=4'
    """
    return re.sub(r"(?<==)[^,]*/", "", text)


def _said(value: Carry) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else _placeless(str(value))


def _doing(opened: Opened, *, paused: bool) -> str:
    """What a crawl does, or is about to do because someone told it to."""
    if opened.store.fact("stopping"):
        return "stopping"
    told = [_SOON[order.kind] for order in _unheeded(opened) if order.kind in _SOON]
    return told[-1] if told else "paused" if paused else "crawling"


def _unheeded(opened: Opened) -> list[Told]:
    return orders.given(opened.store, after=int(str(heeded(opened).get("order", 0))))


def _table(store: Store, name: str) -> dict[str, Carry]:
    fact = store.fact(name)
    return fact if isinstance(fact, dict) else {}


def _speed(store: Store) -> float:
    sql = (
        "SELECT count(*) FROM visits WHERE at > ? AND failure IS NULL AND step > (SELECT max(step) FROM visits) - 20000"
    )
    ((count,),) = store.rows(sql, (time() - _LATELY,))
    return int(str(count)) / _LATELY


def _counts(directory: Path) -> Counts:
    async def counted() -> Counts:
        frontier = look(directory / "frontier.sqlite")
        try:
            return await frontier.counts()
        finally:
            await frontier.close()

    return asyncio.run(counted()) if (directory / "frontier.sqlite").exists() else _NOTHING


def curve(opened: Opened) -> list[tuple[int, int]]:
    """Pages kept → relevant ones among them, at up to 160 points."""
    found, points, pages, relevant = report.discoveries(opened.store, opened.topic.threshold), [(0, 0)], 0, 0
    ((last,),) = opened.store.rows("SELECT count(*) FROM visits")
    every = max(1, int(str(last)) // _POINTS)
    for hit in found:
        pages, relevant = pages + 1, relevant + hit
        if pages % every == 0:
            points.append((pages, relevant))
    if points[-1][0] != pages:
        points.append((pages, relevant))
    return points


def heeded(opened: Opened) -> dict[str, Carry]:
    """When the crawl last followed its readers, and how many links moved; empty: never."""
    return _table(opened.store, "heeded")


def pending(opened: Opened) -> int:
    """Verdicts and orders that the crawl has not followed yet."""
    said = verdicts.since(opened.store, int(str(heeded(opened).get("verdict", 0))))
    return len(said) + len(_unheeded(opened))


@dataclass(frozen=True)
class Next:
    """A link that waits, and why it stands where it stands."""

    url: str
    anchor: str
    source: str
    score: float
    parts: tuple[tuple[str, float], ...]
    readers: tuple[tuple[str, float], ...]  # what readers said that bears on it


def coming(opened: Opened, count: int) -> list[Next]:
    """The best links that wait."""
    path = opened.directory / "frontier.sqlite"

    async def best() -> list[Entry]:
        frontier = look(path)
        try:
            return await frontier.best(count)
        finally:
            await frontier.close()

    guide = guidance(opened)
    return [
        Next(
            entry.link.url, entry.link.anchor, entry.link.source, entry.place.score,
            tuple(part for part in entry.place.parts if part[0] != "readers"), tuple(guide.reasons(entry.link)),
        )
        for entry in (asyncio.run(best()) if path.exists() else ())
    ]  # fmt: skip


def guidance(opened: Opened) -> Guidance:
    """What readers have said so far, as the crawl sees it."""
    guide = Guidance(opened.topic.lexicon, opened.topic.own)
    guide.boosts = orders.standing(opened.store, Order.BOOST)
    guide.words = orders.standing(opened.store, Order.WORD)
    for verdict in verdicts.latest(opened.store).values():
        row = opened.store.visit_of(verdict.url)
        if row is not None and verdict.relevant is not None:
            titles = opened.store.rows("SELECT title FROM pages WHERE step=?", (row.step,))
            guide.judge(row.link, relevant=verdict.relevant, title=str(titles[0][0]) if titles else "")
    return guide


def path_to(opened: Opened, visit: Stored | None) -> list[Stored]:
    """The fetches from a seed to a page."""
    steps: list[Stored] = []
    while visit is not None and len(steps) < _LONGEST:
        steps.append(visit)
        visit = opened.store.visit_of(visit.source) if visit.source else None
    return steps[::-1]


def hosts(opened: Opened, count: int) -> list[tuple[str, int]]:
    """The hosts that have given most pages."""
    return sorted(report.hosts(opened.store).items(), key=lambda item: (-item[1], item[0]))[:count]
