"""`topicrawl status`: progress of a crawl, also while it is running."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from msgspec import Struct, convert
from msgspec.structs import asdict as asdict_struct

from topicrawl.cli.event_loop import run_async
from topicrawl.cli.progress import format_eta
from topicrawl.collection import queries
from topicrawl.collection.directory import is_crawling, load_crawl_topic
from topicrawl.collection.reviewer_log import ReviewerReport, load_report
from topicrawl.collection.store import CollectionStore
from topicrawl.engine.recall_estimate import RecallMonitor
from topicrawl.frontier.base import FrontierCounts
from topicrawl.frontier.sqlite.reader import open_reader
from topicrawl.models import JsonValue


class CrawlGoals(Struct, frozen=True):
    """Limits of a crawl in its stored settings; 0: no limit."""

    pages: int = 0
    relevant: int = 0
    min_score: float = 0.0


@dataclass(frozen=True)
class StatusReport:
    """Progress, failures and frontier of a crawl."""

    directory: str
    topic: str
    strategy: str
    pages: int
    relevant: int
    threshold: float
    harvest: float
    hosts: int
    largest_hosts: dict[str, int]
    failures: dict[str, int]
    frontier: FrontierCounts
    goals: CrawlGoals
    below_min_score: int  # waiting links below the minimum score
    eta: str  # time until the first goal is reached, as h:mm:ss; "" if the crawl is not running
    outlook: dict[str, JsonValue]
    last_stop: str | None
    archive_bytes: int
    crawling: bool
    reviewer: ReviewerReport | None = None  # None: the crawl has no reviewer


def load_status(directory: Path) -> StatusReport:
    """Read the status of a crawl. The databases are opened read-only, so the crawl may be running.

    Raise `CollectionError` if the directory contains no crawl.
    """
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        topic = load_crawl_topic(directory)
        pages, relevant = queries.count_relevant_pages(store, topic.threshold)
        hosts = queries.count_pages_by_host(store)
        settings = store.get_fact("settings")
        goals = convert(settings if isinstance(settings, dict) else {}, CrawlGoals)
        counts, below_min_score = run_async(_count_links(directory, goals.min_score))
        is_running = is_crawling(directory)
        monitor = RecallMonitor(topic.threshold)
        monitor.replay_visits(queries.iterate_discoveries(store, topic.threshold))
        identity, stop_reason = store.get_fact("identity"), store.get_fact("stopped")
        return StatusReport(
            directory=str(directory),
            topic=topic.name,
            strategy=str(identity.get("strategy")) if isinstance(identity, dict) else "",
            pages=pages,
            relevant=relevant,
            threshold=topic.threshold,
            harvest=relevant / pages if pages else 0.0,
            hosts=len(hosts),
            largest_hosts=dict(sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:5]),
            failures=queries.count_failures(store),
            frontier=counts,
            goals=goals,
            below_min_score=below_min_score,
            eta=_estimate_eta(store, goals, topic.threshold) if is_running else "",
            outlook=monitor.get_estimate(counts.waiting + counts.leased).to_json(),
            last_stop=stop_reason if isinstance(stop_reason, str) else None,
            archive_bytes=sum(path.stat().st_size for path in (directory / "warc").glob("*.warc.gz")),
            crawling=is_running,
            reviewer=load_report(store),
        )
    finally:
        store.close()


async def _count_links(directory: Path, min_score: float) -> tuple[FrontierCounts, int]:
    """Return the numbers of links, and how many of the waiting ones score below the minimum."""
    frontier = open_reader(directory / "frontier.sqlite")
    try:
        return await frontier.get_counts(), await frontier.count_waiting_below(min_score) if min_score else 0
    finally:
        await frontier.close()


def _estimate_eta(store: CollectionStore, goals: CrawlGoals, threshold: float) -> str:
    """Return the time until the first goal is reached at the speed of the last ten minutes, or "unknown"."""
    pages, relevant = queries.count_relevant_pages(store, threshold)
    page_rate, relevant_rate = queries.measure_recent_rates(store, threshold, time.time())
    return format_eta(
        (goals.pages - pages, page_rate) if goals.pages else None,
        (goals.relevant - relevant, relevant_rate) if goals.relevant else None,
    )


@click.command("status")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status_command(directory: Path, as_json: bool) -> None:
    """Show the progress of a crawl. The crawl may be running.

    \b
    Example:
      topicrawl status dengue-fever
    """
    report = load_status(directory)
    if as_json:
        click.echo(json.dumps({**asdict(report), "goals": asdict_struct(report.goals)}, indent=1))
        return
    goal = f" of {report.goals.relevant}" if report.goals.relevant else ""
    click.echo(f"{report.topic} with the strategy {report.strategy} in {directory}")
    rows = {
        "pages": f"{report.pages} from {report.hosts} hosts",
        "relevant": f"{report.relevant}{goal} ({report.harvest:.0%}) with relevance ≥ {report.threshold}",
        "recall": _format_recall_estimate(report.outlook),
        "frontier": f"{report.frontier.waiting} links waiting{_format_below(report)}, "
        f"{report.frontier.leased} being fetched",
        "hosts": _format_counts(report.largest_hosts),
        "failures": _format_counts(report.failures),
        "archive": f"{report.archive_bytes / 1e6:.1f} MB",
        "state": "crawling" if report.crawling else report.last_stop or "killed; run the same command to resume",
    }
    if report.crawling and (report.goals.pages or report.goals.relevant):
        rows["time left"] = f"{report.eta}, at the speed of the last ten minutes"
    if report.reviewer is not None:
        trouble = f"; stopped early: {report.reviewer.trouble}" if report.reviewer.trouble else ""
        rows["reviewer"] = f"{report.reviewer.summary}{trouble}"
    for name, text in rows.items():
        click.echo(f"  {name:<10} {text}")


def _format_below(report: StatusReport) -> str:
    """Format the number of waiting links that are not fetched because of the minimum score."""
    return f" ({report.below_min_score} below --min-score {report.goals.min_score:g})" if report.goals.min_score else ""


def _format_recall_estimate(estimate: Mapping[str, JsonValue]) -> str:
    """Format the estimate of the relevant pages not yet found, or the reason why there is no estimate."""
    if estimate["doubt"] or not estimate["ahead"]:
        return str(estimate["doubt"] or estimate["words"])
    low, high = (round(convert(estimate[name], float)) for name in ("remaining_low", "remaining_high"))
    return (
        f"{estimate['words']}: {estimate['ahead']} more fetches would give {low} to {high} more pages that it judges "
        "relevant; pages that no known link leads to are not included"
    )


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"
