"""Pages per second of one crawl with several processes, on pages of a recorded web that are replayed without sockets.

    .venv/bin/python bench/processes.py [--web DIR] [--pages 1000] [--rounds 3] [--processes 1,2] [--strategy NAME]

Everything except the fetches is as in a live crawl: parsing, judging, scoring, archive, store and frontier. The web is
`docweb` in $TOPICRAWL_WEBS by default. The runs are interleaved. `CPU of the crawl process` shows how much work the
other processes have taken over, also on a machine whose cores are busy with other work.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from harvest import WEBS
from topicrawl import Recording, Settings, Topic
from topicrawl.builder.crawls import open_import
from topicrawl.cli.event_loop import run_async
from topicrawl.lab.tasks import read_tasks

_WARM_UP_PAGES = 100


async def crawl(directory: Path, web: Path, processes: int, options: argparse.Namespace) -> tuple[float, float]:
    """Crawl the pages of a recorded web. Return the seconds and the CPU seconds of the crawl process per page."""
    settings = Settings(strategy=options.strategy, processes=processes, concurrency=16, min_free=0)
    topic = Topic.of(read_tasks(web)[0].words)
    count = 0
    started = used = 0.0
    async with open_import(directory, topic, Recording(web), settings) as imported:
        async for _ in imported.visits():
            count += 1
            if count == _WARM_UP_PAGES:
                started, used = time.monotonic(), time.process_time()
            if count == _WARM_UP_PAGES + options.pages:
                break
        seconds, cpu = time.monotonic() - started, time.process_time() - used
    pages = count - _WARM_UP_PAGES
    return seconds / pages, cpu / pages


def main() -> None:
    """Run the rounds and print the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--web", type=Path, default=WEBS / "docweb", help="directory of a recorded web")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", default="1,2", help="numbers of processes, separated by commas")
    parser.add_argument("--strategy", default="apprentice")
    options = parser.parse_args()
    numbers = [int(number) for number in options.processes.split(",")]
    results: dict[int, list[tuple[float, float]]] = {number: [] for number in numbers}
    for _ in range(options.rounds):
        for number in numbers:
            with tempfile.TemporaryDirectory() as folder:
                directory = Path(folder) / "crawl"
                results[number].append(run_async(crawl(directory, options.web, number, options)))
    print("processes   pages per second   ms of CPU time of the crawl process per page (best)")
    for number, measured in results.items():
        speed = 1 / statistics.median(seconds for seconds, _ in measured)
        cpus = [1000 * cpu for _, cpu in measured]
        print(f"{number:9}   {speed:16.0f}   {statistics.median(cpus):6.2f} ({min(cpus):.2f})")


if __name__ == "__main__":
    main()
