"""What a running crawl shows: a live view on a terminal, plain lines elsewhere, JSON events for programs."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import click

from topicrawl.budget import Stop
from topicrawl.frontier.contract import Counts
from topicrawl.records import Visit
from topicrawl.remaining import Outlook
from topicrawl.topic import Topic
from topicrawl.urls import host

if TYPE_CHECKING:
    from topicrawl.crawl import Crawl

log = logging.getLogger("topicrawl")

_WINDOW = 30.0  # seconds over which the speed is measured


@dataclass
class Tally:
    """The figures of a crawl so far."""

    topic: Topic
    goal: int  # pages, 0: none
    pages: int = 0
    relevant: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    hosts: set[str] = field(default_factory=set)
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    last: Visit | None = None
    best: str = ""  # the most relevant page of this run
    best_relevance: float = -1.0
    outlook: Outlook | None = None  # how much of what can be found seems to be found

    def count(self, visit: Visit, now: float) -> None:
        self.last = visit
        if visit.failure is not None:
            self.failed[visit.failure] += 1
            return
        self.pages += 1
        self.relevant += (visit.relevance or 0.0) >= self.topic.threshold
        if (visit.relevance or 0.0) > self.best_relevance:
            self.best, self.best_relevance = visit.url, visit.relevance or 0.0
        self.hosts.add(host(visit.url))
        self.recent.append((now, self.pages))
        self._forget(now)

    def _forget(self, now: float) -> None:
        while len(self.recent) > 1 and self.recent[0][0] < now - _WINDOW:
            self.recent.popleft()

    @property
    def harvest(self) -> float:
        return self.relevant / self.pages if self.pages else 0.0

    @property
    def speed(self) -> float:
        if len(self.recent) < 2:
            return 0.0
        # Up to now, so that the figure falls while hosts keep us waiting.
        (start, first), end = self.recent[0], time.monotonic()
        return (self.recent[-1][1] - first) / (end - start) if end > start else 0.0

    @property
    def eta(self) -> str:
        if not self.goal or not self.speed:
            return "unknown"
        left = int(max(0, self.goal - self.pages) / self.speed)
        return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d}"

    def line(self, counts: Counts) -> str:
        goal = f" of {self.goal}" if self.goal else ""
        failed = sum(self.failed.values())
        return (
            f"{self.pages}{goal} pages, {self.relevant} relevant ({self.harvest:.0%}), {self.speed:.1f}/s, "
            f"{len(self.hosts)} hosts, {counts.waiting} links wait, {failed} failed, {self.eta} left"
            + (f", {self.outlook.words}" if self.outlook is not None and not self.outlook.doubt else "")
        )


class Show(Protocol):
    """One way to show a crawl."""

    def start(self, directory: str, resumed: bool) -> None: ...

    def visit(self, visit: Visit) -> None: ...

    def tick(self, tally: Tally, counts: Counts, crawl: Crawl) -> None: ...

    def stop(self, tally: Tally, counts: Counts, reason: Stop) -> None: ...


class Lines:
    """Plain lines, for files and pipes: one every few seconds."""

    def __init__(self, every: float = 5.0) -> None:
        self.every = every
        self._next = 0.0

    def start(self, directory: str, resumed: bool) -> None:
        click.echo(f"{'going on with' if resumed else 'crawling into'} {directory}", err=True)

    def visit(self, visit: Visit) -> None:
        pass

    def tick(self, tally: Tally, counts: Counts, crawl: Crawl) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + self.every
            click.echo(
                tally.line(counts) + (f"; {crawl.trouble}" if not tally.pages and crawl.trouble else ""), err=True
            )

    def stop(self, tally: Tally, counts: Counts, reason: Stop) -> None:
        click.echo(tally.line(counts), err=True)


class Events:
    """JSON events on standard output, one a line."""

    def start(self, directory: str, resumed: bool) -> None:
        self._event({"event": "start", "directory": directory, "resumed": resumed})

    def visit(self, visit: Visit) -> None:
        self._event(
            {
                "event": "visit",
                "step": visit.step,
                "url": visit.url,
                "requested": visit.link.url,
                "source": visit.link.source,
                "score": visit.place.score,
                "relevance": visit.relevance,
                "failure": visit.failure,
                "status": visit.status,
                "title": visit.page.title if visit.page else None,
            }
        )

    def tick(self, tally: Tally, counts: Counts, crawl: Crawl) -> None:
        pass

    def stop(self, tally: Tally, counts: Counts, reason: Stop) -> None:
        self._event(
            {
                "event": "stop",
                "reason": reason,
                "pages": tally.pages,
                "relevant": tally.relevant,
                "waiting": counts.waiting,
                "failures": dict(tally.failed),
                "outlook": tally.outlook.values() if tally.outlook is not None else None,
            }
        )

    def _event(self, event: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()


class Logged(Lines):
    """Figures in the log, for those who read nothing else."""

    def __init__(self, every: float = 10.0) -> None:
        super().__init__(every)

    def start(self, directory: str, resumed: bool) -> None:
        pass

    def tick(self, tally: Tally, counts: Counts, crawl: Crawl) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + self.every
            figures = {
                "pages": tally.pages, "relevant": tally.relevant, "waiting": counts.waiting,
                "failed": dict(tally.failed), "speed": round(tally.speed, 1),
            }  # fmt: skip
            log.info("%s", tally.line(counts), extra={"event": "progress", **figures})

    def stop(self, tally: Tally, counts: Counts, reason: Stop) -> None:
        pass


class Terminal:
    """A view that is drawn over itself."""

    def __init__(self) -> None:
        # Loaded here: the other two ways to show a crawl start without it.
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)

    def start(self, directory: str, resumed: bool) -> None:
        click.echo(f"{'Going on with' if resumed else 'Crawling into'} {directory}. Ctrl-C stops it cleanly.", err=True)
        self._live.start()

    def visit(self, visit: Visit) -> None:
        pass

    def tick(self, tally: Tally, counts: Counts, crawl: Crawl) -> None:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        goal = f" of {tally.goal}" if tally.goal else ""
        failed = ", ".join(f"{name} {count}" for name, count in tally.failed.most_common(4)) or "none"
        rows = {
            "pages": f"{tally.pages}{goal}, {tally.speed:.1f} a second, {tally.eta} left",
            "harvest": f"{tally.relevant} relevant, {tally.harvest:.0%} of the pages",
            "recall": tally.outlook.words if tally.outlook is not None else "",
            "hosts": f"{len(tally.hosts)} seen, {crawl.in_flight} being asked",
            "frontier": f"{counts.waiting} links wait",
            "failures": failed,
        }
        if crawl.trouble:
            rows["trouble"] = crawl.trouble[:100]
        if tally.last is not None:
            score = "-" if tally.last.relevance is None else f"{tally.last.relevance:.2f}"
            rows["last"] = f"{score} {tally.last.url[:90]}"
        for name, text in rows.items():
            table.add_row(f"[bold]{name}[/bold]", text.replace("[", r"\["))
        self._live.update(table)

    def stop(self, tally: Tally, counts: Counts, reason: Stop) -> None:
        self._live.stop()


def chosen(as_json: bool) -> Show:
    """The way that fits where the output goes."""
    if as_json:
        return Events()
    return Terminal() if sys.stderr.isatty() else Lines()
