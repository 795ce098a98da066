"""`topicrawl crawl`: crawl the web for a topic, or resume a crawl."""

from __future__ import annotations

import logging
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl import topic as topics
from topicrawl.cli import EXIT_INTERRUPTED
from topicrawl.cli.completion import add_completion_options, check_completion_options, send_notices
from topicrawl.cli.event_loop import install_signal_handlers, run_async
from topicrawl.cli.logs import LoggingSession, log_to_file
from topicrawl.cli.observability import (
    add_observability_options,
    check_metrics_address,
    expose_crawl_metrics,
    get_crawl_labels,
    warn_about_password,
)
from topicrawl.cli.progress import CrawlDisplay, CrawlProgress, LogDisplay, select_display
from topicrawl.cli.setting_options import add_config_option, add_setting_options, get_given_settings, load_config
from topicrawl.engine.limits import StopReason
from topicrawl.errors import SeedError, TopicError, TopicrawlError
from topicrawl.frontier.base import FrontierCounts
from topicrawl.models import Failure
from topicrawl.seeds.election import ElectionResult
from topicrawl.settings import Settings, list_settings, parse_seed_urls, resolve_goals
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.engine.crawl import Crawl

#: Exit code of a crawl that could not fetch any page.
EXIT_NOTHING_FETCHED = 5
# Advice when no page could be fetched, by the most frequent failure.
_FAILURE_ADVICE: dict[str, str] = {
    Failure.DNS: "check the spelling of the seed hosts; `topicrawl doctor` checks the network",
    Failure.ADDRESS: "private addresses are refused; --allow-net allows a private network",
    Failure.PORT: "the ports of other services are refused, except in the networks of --allow-net",
    Failure.ROBOTS: "the robots.txt of the hosts forbids it; give other seeds",
}
_DISPLAY_INTERVAL = 0.25  # seconds between two updates of the display


@click.command("crawl")
@click.argument("words", required=False)
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Example pages, one per line: url⇥relevant|irrelevant."
)
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="A seed URL; may be repeated.")
@click.option(
    "--seeds",
    "seed_file",
    type=click.Path(path_type=Path),
    help="A file with one seed URL per line, or the output of `topicrawl seeds --out`.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The directory of the crawl. [default: the name of the topic]"
)
@add_config_option
@click.option("--json", "as_json", is_flag=True, help="Write events as JSON lines to standard output.")
@click.option("--dry-run", is_flag=True, help="Show which URLs would be requested first, and send no request.")
@add_completion_options
@add_observability_options
@add_setting_options
def crawl_command(**options: Any) -> None:
    """Crawl the web for a topic into a directory. If the directory already contains a crawl, resume it.

    Without --seed and --seeds, the configured search engines supply the seeds (see `topicrawl seeds --help`).

    \b
    Examples:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --pages 1000 --contact you@example.org
      topicrawl crawl "dengue fever" --pages 5000            # resume ./dengue-fever, up to 5,000 pages
      topicrawl crawl "dengue fever" --relevant 500          # resume it until 500 relevant pages are stored
      topicrawl crawl --topic topic.toml --seeds seeds.txt --out tropical --strategy best_first:anchor=0.7
      topicrawl crawl dengue --seed https://www.who.int/ --strategy nb4_ordered --examples ex.tsv --learn-from old-crawl
    """
    settings = list_settings()
    given = get_given_settings(options)
    check_completion_options(options)
    is_dry_run = options.pop("dry_run")
    with LoggingSession(options["log_format"]) as logging_session:
        others = {name: value for name, value in options.items() if name not in settings}
        crawl_options = CrawlOptions(**others, setting_options=given)
        warn_about_password(crawl_options.setting_options.get("frontier", ""))
        resolved = _resolve_crawl(crawl_options)
        if is_dry_run:
            _show_first_requests(crawl_options, resolved)
            return
        sys.exit(run_async(run_crawl(crawl_options, resolved, _find_seeds(crawl_options, resolved), logging_session)))


@dataclass(frozen=True)
class CrawlOptions:
    """Options of `topicrawl crawl` and `topicrawl worker`."""

    words: str | None
    topic_file: Path | None
    examples: Path | None
    seeds: tuple[str, ...]
    seed_file: Path | None
    out: Path | None
    config: Path | None
    as_json: bool
    metrics: str  # address of the metrics server; "": none
    log_format: str
    on_completion: str  # command that runs at the end; "": none
    webhook: str  # URL that gets a summary at the end; "": none
    setting_options: Mapping[str, Any]  # settings that the user gave as options

    @property
    def is_quiet(self) -> bool:
        """Whether the output is JSON only, without text for people."""
        return self.as_json or self.log_format == "json"

    def load_topic(self) -> Topic | None:
        """Return the topic from the words or the topic file, or None if neither is given."""
        if self.topic_file is not None and self.words is not None:
            raise TopicError("give the topic as words or as --topic FILE, not both")
        topic = Topic.of(self.words) if self.words is not None else None
        if self.topic_file is not None:
            topic = topics.load_topic(self.topic_file)
        if topic is not None and self.examples is not None:
            topic = topic.with_examples(*topics.load_examples(self.examples))
        return topic

    def resolve_directory(self, topic: Topic | None) -> Path:
        """Return the directory of the crawl; by default it has the name of the topic.

        Raise `TopicError` if neither is given.
        """
        if self.out is not None:
            return self.out
        if topic is None:
            raise TopicError('no topic given, for example: topicrawl crawl "dengue fever" --seed https://…')
        return Path(slugify(topic.name))

    def read_seed_file(self) -> str:
        """Return the content of the seed file, or "" if no file is given. Raise `SeedError` if it cannot be read."""
        try:
            return self.seed_file.read_text("utf-8-sig") if self.seed_file is not None else ""
        except (OSError, UnicodeDecodeError) as error:
            raise SeedError(f"{self.seed_file}: cannot be read: {error}") from error

    def collect_seed_urls(self) -> list[str]:
        """Return the seeds of `--seed` and of the lines of the seed file, in canonical form.

        A seed file in JSON gives none here: see `_find_seeds`. Raise `SeedError` for an invalid URL or a file without
        seeds.
        """
        text = self.read_seed_file()
        lines = [] if text.lstrip().startswith("{") else text.splitlines()
        urls = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if self.seed_file is not None and lines and not urls and not self.seeds:
            raise SeedError(f"{self.seed_file} contains no seeds: write one URL per line")
        return parse_seed_urls([*self.seeds, *urls])


def slugify(name: str) -> str:
    """Return a directory name for a topic.

    >>> slugify("Dengue fever: causes & cures"), slugify("東京")
    ('dengue-fever-causes-cures', '東京')
    """
    return re.sub(r"\W+", "-", name.lower()).strip("-")[:60] or "crawl"


def _resolve_crawl(options: CrawlOptions) -> tuple[Path, Topic, Settings]:
    """Return the directory, topic and settings, from the options or from the crawl that is resumed.

    Options override the stored settings. A worker that joins a shared crawl has its page limit by default. Raise
    `IdentityError` if the directory contains a crawl for another topic.
    """
    from topicrawl.builder.stored_settings import load_topic_and_settings
    from topicrawl.engine.identity import build_identity, check_identity

    topic = options.load_topic()
    directory = options.resolve_directory(topic)
    given: dict[str, Any] = resolve_goals({**load_config(options.config), **options.setting_options})
    if contains_crawl(directory):
        stored_topic, settings = load_topic_and_settings(directory, given)
        if topic is not None:
            check_identity(directory, build_identity(stored_topic, settings), build_identity(topic, settings))
        return directory, stored_topic, settings
    if topic is None:
        raise TopicError(f"there is no crawl in {directory} yet: give the topic as words or with --topic FILE")
    settings = Settings(**given)
    if settings.frontier and "pages" not in given:
        from topicrawl.cluster.worker_session import load_page_limit  # not needed for a local crawl

        pages = run_async(load_page_limit(settings.frontier, directory))
        settings = settings if pages is None else replace(settings, pages=pages)
    return directory, topic, settings


def _show_first_requests(options: CrawlOptions, resolved: tuple[Path, Topic, Settings]) -> None:
    """Print which URLs the crawl would request first. Search engines are not queried."""
    from topicrawl.cli.dry_run import plan_first_requests
    from topicrawl.cli.seed_search import load_saved_seeds

    directory, topic, settings = resolved
    is_resumed, text = contains_crawl(directory), options.read_seed_file()
    seeds = options.collect_seed_urls()
    if text.lstrip().startswith("{"):
        seeds += [seed.url for seed in load_saved_seeds(text, str(options.seed_file)).selected_seeds]
    if not seeds and not is_resumed:
        raise SeedError(
            f"the crawl would query search engines for seeds: see `topicrawl seeds {shlex.quote(topic.name)}`"
        )
    plan_first_requests(directory, seeds, settings, is_resumed=is_resumed).print(as_json=options.as_json)


def _find_seeds(options: CrawlOptions, resolved: tuple[Path, Topic, Settings]) -> ElectionResult | None:
    """Return the seeds that search engines found: from a saved file, or by a query if the user gives no seeds.

    Return None if seeds are given, if the crawl is resumed, or if its frontier is in Redis.
    """
    from topicrawl.cli.seed_search import find_crawl_seeds, load_saved_seeds

    directory, topic, settings = resolved
    text = options.read_seed_file()
    if text.lstrip().startswith("{"):
        return load_saved_seeds(text, str(options.seed_file))
    if options.seeds or options.seed_file or contains_crawl(directory) or settings.frontier:
        return None
    return find_crawl_seeds(topic, settings, as_json=options.is_quiet)


async def run_crawl(
    options: CrawlOptions,
    resolved: tuple[Path, Topic, Settings],
    found: ElectionResult | None,
    logging_session: LoggingSession,
) -> int:
    """Run a crawl, send the notices at its end, and return the exit code. See `_run_until_stopped`."""
    started = time.monotonic()
    try:
        code, result = await _run_until_stopped(options, resolved, found, logging_session)
    except TopicrawlError as error:
        result = {"exit_code": error.exit_code, "error": str(error)}
        await _send_crawl_notices(options, resolved, {**result, "seconds": round(time.monotonic() - started, 1)})
        raise
    result = {"exit_code": code, **result, "seconds": round(time.monotonic() - started, 1)}
    await _send_crawl_notices(options, resolved, result)
    return code


async def _send_crawl_notices(
    options: CrawlOptions, resolved: tuple[Path, Topic, Settings], result: Mapping[str, object]
) -> None:
    """Send the notices at the end of a crawl."""
    directory, topic, settings = resolved
    notices = {"on_completion": options.on_completion, "webhook": options.webhook}
    summary = {"event": "completed", "directory": str(directory), "topic": topic.name, **result}
    await send_notices(notices, summary, settings)


async def _run_until_stopped(
    options: CrawlOptions,
    resolved: tuple[Path, Topic, Settings],
    found: ElectionResult | None,
    logging_session: LoggingSession,
) -> tuple[int, dict[str, object]]:
    """Run a crawl, show its progress and its summary. Return the exit code and the result for notices.

    `resolved` contains the directory, topic and settings; `found` contains the seeds from search engines, if any.
    """
    # Imported here, because `--help` does not need the HTTP client.
    from topicrawl.builder.crawls import open_crawl

    directory, topic, settings = resolved
    check_metrics_address(options.metrics)  # before the crawl creates its directory
    is_resumed = contains_crawl(directory)
    seeds = [*options.collect_seed_urls(), *(seed.url for seed in (found.selected_seeds if found is not None else ()))]
    if settings.back_links and topic.relevant and not is_resumed and not options.is_quiet:
        click.echo("fetching the example pages and their backlinks; this may take some minutes", err=True)
    async with open_crawl(directory, topic, seeds, settings, found) as crawl:
        progress = _load_progress(directory, topic, settings)
        display = LogDisplay() if logging_session.is_json and not options.as_json else select_display(options.as_json)
        logging_session.set_worker(get_crawl_labels(crawl, directory).get("worker", ""))
        with log_to_file(directory / "crawl.log", logging_session.formatter):
            display.start(str(directory), is_resumed)
            if not settings.contact and not options.is_quiet:
                click.echo("no --contact given: the operators of the hosts cannot reach you", err=True)
            async with expose_crawl_metrics(options.metrics, crawl, progress, directory=directory) as address:
                if address and not options.is_quiet:
                    click.echo(f"metrics at {address}", err=True)
                stop = await _show_visits(crawl, progress, display, directory=directory)
    _print_summary(options, directory, stop, progress)
    result = {"reason": str(stop), "pages": progress.pages, "relevant": progress.relevant}
    if stop == StopReason.INTERRUPTED:
        return EXIT_INTERRUPTED, result
    # In a shared crawl, the other workers may have fetched all pages.
    return 0 if progress.pages or settings.frontier else EXIT_NOTHING_FETCHED, result


def contains_crawl(directory: Path) -> bool:
    """Return whether the directory contains a crawl. Raise `CollectionError` if it contains other files."""
    from topicrawl.collection import directory as directories  # not needed for `--help`

    return directories.contains_crawl(directory)


async def _show_visits(crawl: Crawl, progress: CrawlProgress, display: CrawlDisplay, *, directory: Path) -> StopReason:
    """Run the crawl, show its visits, and return the reason why it stopped."""
    log = logging.getLogger("topicrawl")
    restore = install_signal_handlers(crawl.interrupt, announce=lambda: display.show_interrupt(crawl.in_flight))
    log.info("start: %d pages so far", progress.pages, extra={"event": "start", "pages": progress.pages})
    import asyncio  # not needed for `--help`

    updates = asyncio.create_task(_update_display(crawl, progress, display))
    try:
        async for visit in crawl.visits():
            progress.count_visit(visit, time.monotonic())
            display.show_visit(visit)
    finally:
        updates.cancel()
        restore()
        reason = crawl.stop_reason or StopReason.INTERRUPTED
        counts = await _count_links(crawl, progress)
        if sys.exception() is None:  # reading the collection could hide another error
            _load_counts(directory, progress)
        log.info("stop: %s, %s", reason, progress.format_line(counts), extra={"event": "stop", "reason": str(reason)})
        display.stop(progress, counts, reason)
    return reason


async def _update_display(crawl: Crawl, progress: CrawlProgress, display: CrawlDisplay) -> None:
    """Update the display at regular intervals, also while the crawler waits for hosts."""
    import asyncio

    while True:
        display.update(progress, await _count_links(crawl, progress), crawl)
        await asyncio.sleep(_DISPLAY_INTERVAL)


async def _count_links(crawl: Crawl, progress: CrawlProgress) -> FrontierCounts:
    """Return the counts of the frontier, and update the recall estimate of `progress` with them."""
    counts = await crawl.context.frontier.get_counts()
    progress.page_goal = crawl.limits.pages  # another worker of a shared crawl may change it
    progress.update_relevant(crawl.relevant, crawl.relevant_elsewhere, time.monotonic())
    if crawl.context.recall_monitor is not None:
        progress.recall_estimate = crawl.context.recall_monitor.get_estimate(counts.waiting + counts.leased)
    if crawl.context.reviewer_log is not None:
        progress.reviewer = crawl.context.reviewer_log.report
    return counts


def _load_progress(directory: Path, topic: Topic, settings: Settings) -> CrawlProgress:
    """Return counters that start with the pages and failures of earlier runs."""
    from topicrawl.collection import queries
    from topicrawl.collection.store import CollectionStore

    progress = CrawlProgress(topic, settings.pages, settings.relevant)
    _load_counts(directory, progress)
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        progress.first_step, _ = queries.get_progress(store)
        progress.hosts.update(queries.count_pages_by_host(store))
    finally:
        store.close()
    return progress


def _load_counts(directory: Path, progress: CrawlProgress) -> None:
    """Set the numbers of pages, relevant pages and failures to those of the collection."""
    from topicrawl.collection import queries
    from topicrawl.collection.store import CollectionStore

    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        progress.pages, progress.relevant = queries.count_relevant_pages(store, progress.topic.threshold)
        progress.failures = Counter(queries.count_failures(store))
    finally:
        store.close()


def _print_summary(options: CrawlOptions, directory: Path, stop: StopReason, progress: CrawlProgress) -> None:
    """Print the result of the crawl and what the user can do next."""
    if options.is_quiet:
        return
    if progress.last_visit is None and stop == StopReason.PAGES:
        stored = max(progress.pages, progress.page_goal)  # in a shared crawl, other workers may have stored them
        click.echo(f"nothing to do: {stored} pages are stored already; raise the limit with --pages N", err=True)
        return
    if progress.last_visit is None and stop == StopReason.RELEVANT:
        relevant = progress.relevant + progress.relevant_elsewhere
        click.echo(
            f"nothing to do: {relevant} relevant pages are stored already; raise the limit with --relevant N", err=True
        )
        return
    if progress.last_visit is None and stop == StopReason.FOUND:
        click.echo(f"{stop}: {progress.pages} pages are stored; to continue anyway: --stop-when-found 0", err=True)
        return
    estimate = (
        f"; {progress.recall_estimate.summary}"
        if progress.recall_estimate is not None and not progress.recall_estimate.caveat
        else ""
    )
    harvest = f"{progress.pages} pages, {progress.relevant} relevant ({progress.harvest:.0%})"
    click.echo(f"{stop}: {harvest} in {directory}{estimate}", err=True)
    if progress.reviewer is not None:
        click.echo(f"reviewer: {progress.reviewer.summary}", err=True)
        if progress.reviewer.trouble:
            click.echo(f"the reviewer stopped early: {progress.reviewer.trouble}", err=True)
    if not progress.pages:
        failures = progress.failures.most_common(3)
        reasons = ", ".join(f"{name} {count}" for name, count in failures) or "no seed answered"
        advice = _FAILURE_ADVICE.get(failures[0][0] if failures else "", f"check the seeds and {directory}/crawl.log")
        click.echo(f"no page could be fetched ({reasons}): {advice}", err=True)
    elif progress.best_url and stop != StopReason.INTERRUPTED:
        click.echo(f"next: topicrawl status {directory}   topicrawl why {directory} {progress.best_url}", err=True)
    if stop == StopReason.MIN_SCORE:
        click.echo("to fetch the waiting links too, run the same command with a lower --min-score", err=True)
    if stop in (StopReason.INTERRUPTED, StopReason.UNREACHABLE):
        click.echo("run the same command again to resume", err=True)
