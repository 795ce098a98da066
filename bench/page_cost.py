"""What a page costs the crawler itself: reading it, judging it, learning from it, placing its links, scoring anew.

    .venv/bin/python bench/page_cost.py [--strategy apprentice] [--pages 300] [--rounds 6] [--plain]

Pages are made: 38 KB, 100 links, 1,700 words each (29 KB with `--plain`). Every round is a new crawler that has seen
as many pages before. Each figure is the mean over the pages of the best of all rounds, in milliseconds, so that what
others do on the machine counts little; the median of the rounds is printed beside it.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise
from random import Random

from topicrawl import strategies
from topicrawl.parse import read
from topicrawl.records import Link, Place, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic
from website import SEED, Prose, Website

STAGES = ("read", "judge", "learn", "place", "score anew")


def made(count: int, *, plain: bool) -> list[Response]:
    """The pages of a made-up site as they come from the network."""
    pages = []
    for place, (answer, number) in Website(count, 8, SEED, plain=plain).answers.items():
        if number >= 0:
            url = f"http://{place.decode()}"
            headers = {"content-type": "text/html; charset=utf-8"}
            pages.append(Response(url, url, 200, headers, answer.partition(b"\r\n\r\n")[2]))
    return pages[:count]


def crawled(pages: Sequence[Response], spec: str) -> list[list[float]]:
    """Seconds of each stage for the second half of the pages."""
    topic = Topic.of(" ".join(Prose(Random(SEED)).frequent(6)))
    vsm = Vsm(topic)
    strategy = strategies.make(spec)
    strategy.begin(Setting(topic, vsm, Random(0)))
    rows = []
    clock = time.thread_time
    for number, response in enumerate(pages):
        link = Link(response.url, source=pages[number // 12].url, depth=3)
        times = [clock()]
        page = read(response, link, context=strategy.context)
        times.append(clock())
        visit = Visit(number + 1, link, Place(0.5), response.url, page, vsm.score(page))
        times.append(clock())
        strategy.learn(visit)
        times.append(clock())
        strategy.place(page.links, visit)
        times.append(clock())
        strategy.revise()
        times.append(clock())
        rows.append([after - before for before, after in pairwise(times)])
    return rows[len(rows) // 2 :]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--strategy", default=f"best_first,{strategies.USUAL}", help="one or several, with commas")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--plain", action="store_true", help="prose with little markup")
    options = parser.parse_args()
    pages = made(2 * options.pages, plain=options.plain)
    size = sum(len(page.body) for page in pages) / len(pages)
    print(f"{options.pages} pages of {size / 1000:.0f} KB, milliseconds a page, best of {options.rounds} rounds")
    print(f"{'strategy':14}" + "".join(f"{stage:>12}" for stage in STAGES) + f"{'in all':>12}{'median':>12}")
    # As the command does in its own process.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    for spec in options.strategy.split(","):
        rounds = [crawled(pages, spec) for _ in range(options.rounds)]
        best = [[min(seen) for seen in zip(*rows, strict=True)] for rows in zip(*rounds, strict=True)]
        stages = [1000 * statistics.fmean(column) for column in zip(*best, strict=True)]
        usual = statistics.median(1000 * sum(map(sum, rows)) / len(rows) for rows in rounds)
        print(f"{spec:14}" + "".join(f"{stage:12.2f}" for stage in stages) + f"{sum(stages):12.2f}{usual:12.2f}")


if __name__ == "__main__":
    main()
