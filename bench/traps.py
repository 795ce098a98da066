"""Share of a crawl's fetches that traps, spam farms and mirrors take, and honest webs that resemble them.

    python bench/traps.py [--pages 600] [--strategy apprentice] [--web "spam farm"]

Each web is served on the loopback address, and a live crawl with the default settings, except for the delay of 0
seconds, fetches it. "Inside" counts the fetches in the trap, including duplicates and failures, "found inside" the
fetches among them whose link is on a page of the trap, "relevant" the pages among them that the judge calls relevant,
and "repeated" the fetches among them that repeat a stored page. "Demoted"
counts all fetches of links that the rules for traps and domains had demoted. "Busiest second" is the largest number of
requests to the hosts of the trap within a second, if the trap has hosts of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from topicrawl.builder.crawls import open_crawl
from topicrawl.models import Failure
from topicrawl.settings import Settings
from topicrawl.topic import Topic
from trap_webs import (
    DEAD_LINKS,
    HONEST,
    HONEST_HOSTS,
    MIRRORS,
    ROOT_SUGGESTIONS,
    SPAM,
    TOPIC,
    TRAPS,
    TrapWeb,
    WebServer,
)

WEBS = (*TRAPS, ROOT_SUGGESTIONS, DEAD_LINKS, SPAM, MIRRORS, *HONEST)


@dataclass(frozen=True)
class TrapResult:
    """Fetches of one crawl."""

    web: str
    fetches: int
    inside: int
    found_inside: int  # fetches inside of links that were found inside
    relevant: int  # relevant pages among the fetches inside
    demoted: int  # fetches of demoted links
    repeated: int  # fetches of pages that repeat a stored page
    busiest_second: int  # largest number of requests to the hosts of the part within one second

    @property
    def share(self) -> float:
        """Share of the fetches inside."""
        return self.inside / max(1, self.fetches)


async def run_crawl(web: TrapWeb, directory: Path, *, budget: int, strategy: str = "apprentice") -> TrapResult:
    """Crawl a web until the budget of fetches is used up."""
    topic = Topic.of(TOPIC)
    inside = found_inside = relevant = demoted = repeated = fetches = 0
    async with WebServer(web) as server:
        settings = Settings(
            strategy=strategy,
            pages=0,
            delay=0.0,
            documents=False,
            min_free=0,
            allow_net=("127.0.0.0/8",),
            resolve=tuple(f"{host}=127.0.0.1" for host in server.hosts),
        )
        seeds = [f"http://{host}:{server.port}/" for host in HONEST_HOSTS]
        async with open_crawl(directory, topic, seeds, settings) as crawl:
            async for visit in crawl.visits():
                fetches += 1
                demoted += visit.priority.score < 0
                if web.is_inside(visit.link.url):
                    inside += 1
                    found_inside += bool(visit.link.source) and web.is_inside(visit.link.source)
                    repeated += visit.failure is Failure.DUPLICATE
                    relevant += (visit.relevance or 0.0) >= topic.threshold
                if fetches >= budget:
                    break
        busiest = server.count_busiest_second()
        return TrapResult(web.name, fetches, inside, found_inside, relevant, demoted, repeated, busiest)


def main() -> None:
    """Crawl the webs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--strategy", default="apprentice")
    parser.add_argument("--web", action="append", choices=[web.name for web in WEBS])
    options = parser.parse_args()
    columns = ("web", "fetches", "inside", "share", "found inside", "relevant", "repeated", "demoted", "busiest second")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for web in WEBS:
        if options.web and web.name not in options.web:
            continue
        with tempfile.TemporaryDirectory() as folder:
            crawl = run_crawl(web, Path(folder) / "crawl", budget=options.pages, strategy=options.strategy)
            row = asyncio.run(crawl)
        cells = (row.web, row.fetches, row.inside, f"{row.share:.1%}", row.found_inside)
        cells += (row.relevant, row.repeated, row.demoted)
        print(f"| {' | '.join(map(str, cells))} | {row.busiest_second} |", flush=True)


if __name__ == "__main__":
    main()
