"""Progress of a running crawl: live view on a terminal, plain lines elsewhere, JSON events for programs."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import click

from topicrawl.engine.limits import StopReason
from topicrawl.engine.recall_estimate import RecallEstimate
from topicrawl.frontier.base import FrontierCounts
from topicrawl.models import Visit
from topicrawl.topic import Topic
from topicrawl.urls import get_host

if TYPE_CHECKING:
    from topicrawl.collection.reviewer_log import ReviewerReport
    from topicrawl.engine.crawl import Crawl

log = logging.getLogger("topicrawl")

_SPEED_WINDOW = 30.0  # seconds over which the speed is measured
_RELEVANT_WINDOW = 600.0  # seconds over which the rate of relevant pages is measured, because they may be rare
_MIN_RELEVANT = 3  # relevant pages from which a rate is computed


@dataclass
class CrawlProgress:
    """Counters of a crawl, for the display and the metrics."""

    topic: Topic
    page_goal: int  # pages; 0: no limit
    relevant_goal: int = 0  # relevant pages; 0: no limit
    pages: int = 0
    relevant: int = 0
    relevant_elsewhere: int = 0  # relevant pages of the other workers
    first_step: int = 0  # last step of the earlier runs
    failures: Counter[str] = field(default_factory=Counter)
    hosts: set[str] = field(default_factory=set)
    recent_pages: deque[tuple[float, int]] = field(default_factory=deque)
    recent_relevant: deque[tuple[float, int]] = field(default_factory=deque)  # of all workers
    last_visit: Visit | None = None
    best_url: str = ""  # URL of the most relevant page of this run
    best_relevance: float = -1.0
    recall_estimate: RecallEstimate | None = None
    reviewer: ReviewerReport | None = None  # None: the crawl has no reviewer

    def count_visit(self, visit: Visit, now: float) -> None:
        """Add a visit to the counters, unless an earlier run stored it and was killed before it was complete."""
        self.last_visit = visit
        if visit.step <= self.first_step:
            return
        if visit.failure is not None:
            self.failures[visit.failure] += 1
            return
        self.pages += 1
        self.relevant += (visit.relevance or 0.0) >= self.topic.threshold
        if (visit.relevance or 0.0) > self.best_relevance:
            self.best_url, self.best_relevance = visit.url, visit.relevance or 0.0
        self.hosts.add(get_host(visit.url))
        self.recent_pages.append((now, self.pages))
        self._drop_old_samples(now)

    def update_relevant(self, relevant: int, elsewhere: int, now: float) -> None:
        """Set the number of relevant pages of this process and of the other workers. Annotations may change it."""
        self.relevant, self.relevant_elsewhere = relevant, elsewhere
        samples = self.recent_relevant
        if not samples or samples[-1][1] != relevant + elsewhere:
            samples.append((now, relevant + elsewhere))
        while len(samples) > 2 and samples[1][0] < now - _RELEVANT_WINDOW:
            samples.popleft()

    def _drop_old_samples(self, now: float) -> None:
        while len(self.recent_pages) > 1 and self.recent_pages[0][0] < now - _SPEED_WINDOW:
            self.recent_pages.popleft()

    @property
    def harvest(self) -> float:
        """Share of relevant pages among the stored pages."""
        return self.relevant / self.pages if self.pages else 0.0

    @property
    def pages_per_second(self) -> float:
        """Pages per second over the last 30 seconds."""
        if len(self.recent_pages) < 2:
            return 0.0
        # Measured up to now, so that the speed falls while the crawler waits for hosts.
        (start, first), end = self.recent_pages[0], time.monotonic()
        return (self.recent_pages[-1][1] - first) / (end - start) if end > start else 0.0

    @property
    def relevant_per_second(self) -> float:
        """Relevant pages of all workers per second over the last ten minutes; 0 if they are too few for a rate."""
        if not self.recent_relevant:
            return 0.0
        (start, first), (_, last) = self.recent_relevant[0], self.recent_relevant[-1]
        seconds = time.monotonic() - start
        return (last - first) / seconds if last - first >= _MIN_RELEVANT and seconds > 0 else 0.0

    @property
    def eta(self) -> str:
        """Estimated time until the first limit is reached, as h:mm:ss, or "unknown"."""
        relevant = self.relevant + self.relevant_elsewhere
        return format_eta(
            (self.page_goal - self.pages, self.pages_per_second) if self.page_goal else None,
            (self.relevant_goal - relevant, self.relevant_per_second) if self.relevant_goal else None,
        )

    @property
    def pages_text(self) -> str:
        """Number of stored pages, with the limit if there is one and it is not below the number."""
        return f"{self.pages} of {self.page_goal}" if self.page_goal >= max(1, self.pages) else str(self.pages)

    @property
    def relevant_text(self) -> str:
        """Number of relevant pages, with the limit if there is one."""
        if not self.relevant_goal:
            return str(self.relevant)
        return f"{self.relevant + self.relevant_elsewhere} of {self.relevant_goal}"

    def format_line(self, counts: FrontierCounts) -> str:
        """Return the progress as one line of text."""
        failed = sum(self.failures.values())
        return (
            f"{self.pages_text} pages, {self.relevant_text} relevant ({self.harvest:.0%}), "
            f"{self.pages_per_second:.1f}/s, "
            f"{len(self.hosts)} hosts, {counts.waiting} links waiting, {failed} failed, {self.eta} left"
            + (
                f", {self.recall_estimate.summary}"
                if self.recall_estimate is not None and not self.recall_estimate.caveat
                else ""
            )
        )


def format_eta(*goals: tuple[int, float] | None) -> str:
    """Return the time until the first goal is reached as h:mm:ss, or "unknown".

    Each goal is a number of pages that are missing and the pages per second, or None.

    >>> format_eta((300, 2.0), None), format_eta((300, 2.0), (10, 0.5)), format_eta((300, 0.0), None)
    ('0:02:30', '0:00:20', 'unknown')
    """
    times = [max(0, missing) / rate for missing, rate in (goal for goal in goals if goal is not None) if rate]
    if not times:
        return "unknown"
    left = int(min(times))
    return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d}"


def announce_stop(fetches: int) -> None:
    """Print that an interrupted command waits for its running fetches."""
    waiting = f": waiting for {fetches} {'fetch' if fetches == 1 else 'fetches'}" if fetches else ""
    click.echo(f"stopping{waiting}; press Ctrl-C again to stop now (no data is lost)", err=True)


class CrawlDisplay(Protocol):
    """Display of a running crawl."""

    def start(self, directory: str, resumed: bool) -> None:
        """Show that a crawl starts or resumes."""

    def show_visit(self, visit: Visit) -> None:
        """Show one visit."""

    def update(self, tally: CrawlProgress, counts: FrontierCounts, crawl: Crawl) -> None:
        """Show the current counters; called several times a second."""

    def show_interrupt(self, fetches: int) -> None:
        """Show that the crawl has been interrupted and waits for its running fetches."""

    def stop(self, tally: CrawlProgress, counts: FrontierCounts, reason: StopReason) -> None:
        """Show that the crawl has ended."""


class LineDisplay:
    """Plain lines for files and pipes, one every few seconds."""

    def __init__(self, interval: float = 5.0) -> None:
        self.interval = interval
        self._next_update = 0.0

    def start(self, directory: str, resumed: bool) -> None:
        """Print the directory."""
        click.echo(f"{'resuming' if resumed else 'crawling into'} {directory}", err=True)

    def show_visit(self, visit: Visit) -> None:
        """Print nothing."""

    def update(self, tally: CrawlProgress, counts: FrontierCounts, crawl: Crawl) -> None:
        """Print a line of progress if the last one is old enough."""
        if (now := time.monotonic()) >= self._next_update:
            self._next_update = now + self.interval
            click.echo(
                tally.format_line(counts)
                + (f"; {crawl.last_failure}" if not tally.pages and crawl.last_failure else ""),
                err=True,
            )

    def show_interrupt(self, fetches: int) -> None:
        """Print the number of running fetches."""
        announce_stop(fetches)

    def stop(self, tally: CrawlProgress, counts: FrontierCounts, reason: StopReason) -> None:
        """Print the final line of progress."""
        click.echo(tally.format_line(counts), err=True)


class JsonEventDisplay:
    """JSON events on standard output, one per line."""

    def start(self, directory: str, resumed: bool) -> None:
        """Write the event `start`."""
        self._write_event({"event": "start", "directory": directory, "resumed": resumed})

    def show_visit(self, visit: Visit) -> None:
        """Write an event `visit`."""
        self._write_event(
            {
                "event": "visit",
                "step": visit.step,
                "url": visit.url,
                "requested": visit.link.url,
                "source": visit.link.source,
                "score": visit.priority.score,
                "relevance": visit.relevance,
                "failure": visit.failure,
                "status": visit.status,
                "title": visit.page.title if visit.page else None,
            }
        )

    def update(self, tally: CrawlProgress, counts: FrontierCounts, crawl: Crawl) -> None:
        """Write nothing."""

    def show_interrupt(self, fetches: int) -> None:
        """Print the number of running fetches to standard error."""
        announce_stop(fetches)

    def stop(self, tally: CrawlProgress, counts: FrontierCounts, reason: StopReason) -> None:
        """Write the event `stop`."""
        self._write_event(
            {
                "event": "stop",
                "reason": reason,
                "pages": tally.pages,
                "relevant": tally.relevant,
                "waiting": counts.waiting,
                "failures": dict(tally.failures),
                "outlook": tally.recall_estimate.to_json() if tally.recall_estimate is not None else None,
                "reviewer": tally.reviewer.to_json() if tally.reviewer is not None else None,
            }
        )

    def _write_event(self, event: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()


class LogDisplay(LineDisplay):
    """Progress events in the log, when standard error is a JSON log."""

    def __init__(self, interval: float = 10.0) -> None:
        super().__init__(interval)

    def start(self, directory: str, resumed: bool) -> None:
        """Log nothing."""

    def update(self, tally: CrawlProgress, counts: FrontierCounts, crawl: Crawl) -> None:
        """Log the progress if the last event is old enough."""
        if (now := time.monotonic()) >= self._next_update:
            self._next_update = now + self.interval
            figures = {
                "pages": tally.pages,
                "relevant": tally.relevant,
                "waiting": counts.waiting,
                "failed": dict(tally.failures),
                "speed": round(tally.pages_per_second, 1),
            }
            log.info("%s", tally.format_line(counts), extra={"event": "progress", **figures})

    def show_interrupt(self, fetches: int) -> None:
        """Log nothing: the signal handler logs the interruption."""

    def stop(self, tally: CrawlProgress, counts: FrontierCounts, reason: StopReason) -> None:
        """Log nothing: the command logs the end of the crawl itself."""


class TerminalDisplay:
    """Live table on a terminal."""

    def __init__(self) -> None:
        # Imported here, because the other displays do not need rich.
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)

    def start(self, directory: str, resumed: bool) -> None:
        """Print the directory and start the live table."""
        click.echo(
            f"{'Resuming' if resumed else 'Crawling into'} {directory}. Ctrl-C stops the crawl cleanly.", err=True
        )
        self._live.start()

    def show_visit(self, visit: Visit) -> None:
        """Show nothing: the table shows the last visit."""

    def update(self, tally: CrawlProgress, counts: FrontierCounts, crawl: Crawl) -> None:
        """Redraw the table, unless the crawl has been interrupted."""
        if not self._live.is_started:
            return
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        failed = ", ".join(f"{name} {count}" for name, count in tally.failures.most_common(4)) or "none"
        rows = {
            "pages": f"{tally.pages_text}, {tally.pages_per_second:.1f} per second, {tally.eta} left",
            "harvest": f"{tally.relevant_text} relevant, {tally.harvest:.0%} of the pages",
            "recall": tally.recall_estimate.summary if tally.recall_estimate is not None else "",
            "hosts": f"{len(tally.hosts)} visited, {crawl.in_flight} fetches in flight",
            "frontier": f"{counts.waiting} links waiting",
            "failures": failed,
        }
        if tally.reviewer is not None:
            rows["reviewer"] = tally.reviewer.trouble or tally.reviewer.summary
        if crawl.last_failure:
            rows["trouble"] = crawl.last_failure[:100]
        if tally.last_visit is not None:
            score = "-" if tally.last_visit.relevance is None else f"{tally.last_visit.relevance:.2f}"
            rows["last"] = f"{score} {tally.last_visit.url[:90]}"
        for name, text in rows.items():
            table.add_row(f"[bold]{name}[/bold]", text.replace("[", r"\["))
        self._live.update(table)

    def show_interrupt(self, fetches: int) -> None:
        """Remove the table and print the number of running fetches."""
        self._live.stop()
        announce_stop(fetches)

    def stop(self, tally: CrawlProgress, counts: FrontierCounts, reason: StopReason) -> None:
        """Remove the table."""
        self._live.stop()


def select_display(as_json: bool) -> CrawlDisplay:
    """Return the display for JSON output, a terminal, or plain lines."""
    if as_json:
        return JsonEventDisplay()
    return TerminalDisplay() if sys.stderr.isatty() else LineDisplay()
