"""Prometheus metrics of a running crawl. `topicrawl.cli.observability` imports this module only with `--metrics`."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from topicrawl import __version__
from topicrawl.cli.progress import CrawlProgress
from topicrawl.engine.crawl import Crawl
from topicrawl.frontier.base import FrontierCounts
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.metrics import serve_metrics
from topicrawl.models import Response

_POLL_INTERVAL = 2.0  # seconds between two queries to the frontier
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes per unit of ru_maxrss
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


@dataclass(eq=False)  # the registry needs a hashable collector
class CrawlMetrics:
    """Prometheus collector of one crawl. The server thread calls `collect`, which reads the state of the crawl."""

    crawl: Crawl
    progress: CrawlProgress
    directory: Path
    labels: dict[str, str]  # of every sample
    fetch_seconds: Histogram = field(
        default_factory=lambda: Histogram(
            "topicrawl_fetch_seconds", "Duration of a fetch.", buckets=_BUCKETS, registry=None
        )
    )
    frontier_counts: FrontierCounts = field(default_factory=lambda: FrontierCounts(0, 0, 0, 0, 0))
    resting_hosts: int = 0

    def observe_response(self, response: Response) -> None:
        """Add the duration of a fetch to the histogram. A response without a duration is ignored."""
        if response.seconds > 0:
            self.fetch_seconds.observe(response.seconds)

    async def poll_frontier(self) -> None:
        """Query the frontier at regular intervals. While the frontier does not answer, the last counts remain."""
        while True:
            self.frontier_counts = await self.crawl.context.frontier.get_counts()
            self.resting_hosts = await self.crawl.context.frontier.count_delayed_hosts()
            await asyncio.sleep(_POLL_INTERVAL)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, with the labels of the crawl."""
        yield from map(self._add_labels, self._collect_crawl_metrics())
        yield from map(self._add_labels, self.fetch_seconds.collect())
        yield from map(self._add_labels, self._collect_frontier_metrics())
        yield from map(self._add_labels, self._collect_process_metrics())

    def _add_labels(self, family: Metric) -> Metric:
        # The library adds the time at which a histogram was created, as a further metric.
        samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
        family.samples = [sample._replace(labels={**self.labels, **sample.labels}) for sample in samples]
        return family

    def _collect_crawl_metrics(self) -> Iterator[Metric]:
        progress, crawl = self.progress, self.crawl
        yield CounterMetricFamily(
            "topicrawl_pages_total", "Pages stored by this process and its earlier runs.", progress.pages
        )
        yield CounterMetricFamily(
            "topicrawl_relevant_pages_total", "Relevant pages among the stored pages.", progress.relevant
        )
        failures = CounterMetricFamily(
            "topicrawl_failures_total", "Visits without a page, by reason.", labels=["reason"]
        )
        # The copy prevents an error if the crawl adds a reason at the same time.
        for reason, number in sorted(dict(progress.failures).items()):
            failures.add_metric([str(reason)], number)
        yield failures
        yield CounterMetricFamily(
            "topicrawl_learned_visits_total", "Visits the strategy of this process learned from.", crawl.step
        )
        yield CounterMetricFamily(
            "topicrawl_lessons_total", "Model deltas applied from other workers.", crawl.applied_deltas
        )
        yield GaugeMetricFamily("topicrawl_fetches_in_flight", "Fetches in flight.", crawl.in_flight)
        last_visit = progress.last_visit
        at = last_visit.at if last_visit is not None else 0.0
        yield GaugeMetricFamily(
            "topicrawl_last_visit_timestamp_seconds", "Time of the last visit; 0 before the first visit.", at
        )

    def _collect_frontier_metrics(self) -> Iterator[Metric]:
        crawl, counts = self.crawl, self.frontier_counts
        yield GaugeMetricFamily(
            "topicrawl_links_waiting", "Waiting links in the frontier of the whole crawl.", counts.waiting
        )
        yield GaugeMetricFamily("topicrawl_links_leased", "Links leased to workers.", counts.leased)
        yield GaugeMetricFamily("topicrawl_hosts_known", "Hosts of the known links.", counts.hosts)
        yield GaugeMetricFamily(
            "topicrawl_hosts_resting", "Hosts whose links wait for the crawl delay.", self.resting_hosts
        )
        yield GaugeMetricFamily("topicrawl_crawl_pages", "Pages stored by all workers.", crawl.pages)
        yield GaugeMetricFamily(
            "topicrawl_crawl_pages_wanted", "Page limit of the whole crawl; 0: no limit.", crawl.limits.pages
        )
        if isinstance(crawl.context.frontier, RedisFrontier):
            server = crawl.context.frontier.connection
            yield CounterMetricFamily("topicrawl_redis_troubles_total", "Number of Redis outages.", server.outage_count)
            up = int(not server.outage)
            yield GaugeMetricFamily("topicrawl_redis_up", "1 if Redis answers, 0 if it does not.", up)

    def _collect_process_metrics(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("topicrawl_build_info", "Version of Topicrawl.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        free = shutil.disk_usage(self.directory).free
        yield GaugeMetricFamily("topicrawl_disk_free_bytes", "Free space on the disk of the crawl.", free)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
        yield GaugeMetricFamily("topicrawl_memory_peak_bytes", "Peak memory of this process.", peak)
        yield CounterMetricFamily("process_cpu_seconds_total", "CPU time of this process.", time.process_time())


@asynccontextmanager
async def serve_crawl_metrics(address: str, metrics: CrawlMetrics) -> AsyncIterator[str]:
    """Serve the metrics of a crawl at an address while the block runs, and yield their URL.

    The metrics observe the responses of the crawl from then on. Raise `SettingError` if the address cannot be used.
    """
    crawl = metrics.crawl
    registry = CollectorRegistry()
    registry.register(metrics)
    crawl.response_observers.append(metrics.observe_response)
    polling = asyncio.create_task(metrics.poll_frontier())
    try:
        with serve_metrics(address, registry) as url:
            yield url
    finally:
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
