"""What a crawl tells Prometheus, for as long as it runs; nothing of it costs anything when nobody asked for it."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from topicrawl import __version__
from topicrawl.cli.progress import Tally
from topicrawl.crawl import Crawl
from topicrawl.frontier.contract import Counts
from topicrawl.frontier.redis import Redis
from topicrawl.metrics import Family, Histogram, Sample, counter, gauge, served, text
from topicrawl.records import Fetch, Link, Response

_EVERY = 2.0  # seconds between two looks at the frontier
_UNIT = 1 if sys.platform == "darwin" else 1024  # of what the system says about memory


@dataclass
class Watch:
    """The figures of one crawl."""

    crawl: Crawl
    tally: Tally
    directory: Path
    seconds: Histogram = field(default_factory=Histogram)
    counts: Counts = field(default_factory=lambda: Counts(0, 0, 0, 0, 0))
    resting: int = 0

    @property
    def labels(self) -> dict[str, str]:
        frontier = self.crawl.parts.frontier
        if not isinstance(frontier, Redis):
            return {"crawl": self.directory.absolute().name}
        return {"crawl": frontier.base.rpartition(":")[2], "worker": frontier.worker}

    def timed(self, fetch: Fetch) -> Fetch:
        """The same, with a note of how long hosts take."""

        async def fetched(link: Link) -> Response:
            response = await fetch(link)
            if response.seconds > 0:
                self.seconds.count(response.seconds)
            return response

        return fetched

    async def look(self) -> None:
        """See how the frontier is, again and again; in times of trouble the figures stay as they were."""
        while True:
            self.counts = await self.crawl.parts.frontier.counts()
            self.resting = await self.crawl.parts.frontier.resting()
            await asyncio.sleep(_EVERY)

    def text(self) -> str:
        return text([*self._work(), *self._frontier(), *self._process()], self.labels)

    def _work(self) -> Iterable[Family]:
        tally, crawl = self.tally, self.crawl
        failed = [Sample(number, {"reason": str(name)}) for name, number in sorted(tally.failed.items())]
        yield counter("topicrawl_pages_total", "Pages kept by this process, earlier runs included.", tally.pages)
        yield counter("topicrawl_relevant_pages_total", "Of these, relevant ones.", tally.relevant)
        yield Family("topicrawl_failures_total", "counter", "Visits without a page, by named reason.", failed)
        yield counter("topicrawl_learned_visits_total", "Visits that the strategy learned from here.", crawl.step)
        yield counter("topicrawl_lessons_total", "Lessons of other workers that were learned from.", crawl.lessons)
        yield gauge("topicrawl_fetches_in_flight", "Fetches under way.", crawl.in_flight)
        yield Family("topicrawl_fetch_seconds", "histogram", "How long a fetch took.", self.seconds.samples())
        at = tally.last.at if tally.last is not None else 0.0
        yield gauge("topicrawl_last_visit_timestamp_seconds", "When the last visit was made; 0: none yet.", at)

    def _frontier(self) -> Iterable[Family]:
        crawl, frontier = self.crawl, self.crawl.parts.frontier
        yield gauge("topicrawl_links_waiting", "Links that wait, in the whole crawl.", self.counts.waiting)
        yield gauge("topicrawl_links_leased", "Links that some worker has out.", self.counts.leased)
        yield gauge("topicrawl_hosts_known", "Hosts that some link leads to.", self.counts.hosts)
        yield gauge("topicrawl_hosts_resting", "Hosts with links that may not be asked yet.", self.resting)
        yield gauge("topicrawl_crawl_pages", "Pages kept by all workers together.", crawl.pages)
        yield gauge("topicrawl_crawl_pages_wanted", "The goal of them all; 0: no limit.", crawl.budget.pages)
        if isinstance(frontier, Redis):
            server = frontier.server
            yield counter("topicrawl_redis_troubles_total", "Times that Redis had to be waited for.", server.troubles)
            yield gauge("topicrawl_redis_up", "Whether Redis answers.", int(not server.trouble))

    def _process(self) -> Iterable[Family]:
        yield Family("topicrawl_build_info", "gauge", "What runs here.", [Sample(1, {"version": __version__})])
        yield gauge("topicrawl_disk_free_bytes", "Free where the pages go.", shutil.disk_usage(self.directory).free)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
        yield gauge("topicrawl_memory_peak_bytes", "Memory of this process at its peak.", peak)
        yield counter("process_cpu_seconds_total", "Processor time of this process.", time.process_time())


@asynccontextmanager
async def watched(address: str, watch: Watch) -> AsyncIterator[str]:
    """Let others watch a crawl at an address for as long as the block lasts; "" is nobody. Gives where that is."""
    if not address:
        yield ""
        return
    crawl = watch.crawl
    crawl.parts = replace(crawl.parts, fetch=watch.timed(crawl.parts.fetch))
    looking = asyncio.create_task(watch.look())
    try:
        async with served(address, watch.text) as where:
            yield where
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
