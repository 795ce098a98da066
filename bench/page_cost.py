"""What a page costs the crawler itself: reading it, judging it, learning from it, placing its links, scoring anew.

    .venv/bin/python bench/page_cost.py [--strategy apprentice] [--pages 200] [--rounds 5] [--webs 1000,4500] [--plain]
    .venv/bin/python bench/page_cost.py --recorded ../shared/webs/wikispeedia

Pages are made: 38 KB, 100 links, 1,700 words each (29 KB with `--plain`). Every round is a new crawler that has seen
as many pages before. How much there is to learn depends on how many of a page's links are new to the crawler, so the
pages link to webs of several sizes; `looked at` is the share of links whose features were worked out. The others lead
to what was fetched, or are known from six pages already; in a crawl of 1,000 pages of a recorded encyclopedia it was
37 %. Each figure is the mean over the pages of the best of all rounds, in milliseconds, so that what others do on the
machine counts little; the median of the rounds is printed beside it. `slowed` tells how far to trust both: between
pages a fixed piece of arithmetic is timed, and this is its mean in the median round against its best. On a machine that
shares its cores with others it can be 1.5 and more; `at rest` is the median divided by it. With `--recorded` the pages
are those of a recorded web that have between 36 and 44 KB, in an order drawn by lot.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

from topicrawl import Recording, strategies
from topicrawl.parse import read
from topicrawl.records import Link, Place, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic
from website import SEED, Prose, Website

STAGES = ("read", "judge", "learn", "place", "score anew")


def made(count: int, *, plain: bool, web: int) -> list[Response]:
    """The pages of a made-up site as they come from the network."""
    pages = []
    for place, (answer, number) in Website(max(web, count), 8, SEED, plain=plain, written=count).answers.items():
        if number >= 0:
            url = f"http://{place.decode()}"
            headers = {"content-type": "text/html; charset=utf-8"}
            pages.append(Response(url, url, 200, headers, answer.partition(b"\r\n\r\n")[2]))
    return pages[:count]


def recorded(path: Path, count: int) -> list[Response]:
    """Some pages of a recorded web, of about 40 KB."""
    web = Recording(path)
    answers = [web.answer(url) for url in sorted(web)]
    found = [it for it in answers if it.status == 200 and it.url == it.final_url and 36_000 <= len(it.body) <= 44_000]
    if len(found) < 2:
        sys.exit(f"{path}: fewer than two pages between 36 and 44 KB")
    Random(SEED).shuffle(found)
    return found[:count]


class Round(NamedTuple):
    """What the second half of the pages showed."""

    rows: list[list[float]]  # seconds of each stage, for each page
    share: float  # of the links, that were looked at
    fixed: list[float]  # seconds of the same piece of work, after each page


def crawled(pages: Sequence[Response], spec: str) -> Round:
    topic = Topic.of(" ".join(Prose(Random(SEED)).frequent(6)))
    vsm = Vsm(topic)
    strategy = strategies.make(spec)
    strategy.begin(Setting(topic, vsm, Random(0)))
    rows = []
    shares = []
    fixed = []
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
        places = strategy.place(page.links, visit)
        times.append(clock())
        strategy.revise()
        times.append(clock())
        rows.append([after - before for before, after in pairwise(times)])
        # Only what was worked out for this page has parts.
        shares.append(statistics.fmean(place is not None and len(place.parts) > 0 for place in places))
        begun = clock()
        sum(number * number for number in range(2000))
        fixed.append(clock() - begun)
    half = len(rows) // 2
    return Round(rows[half:], statistics.fmean(shares[half:]), fixed[half:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--strategy", default=f"best_first,{strategies.USUAL}", help="one or several, with commas")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--webs", default="1000,4500,20000", help="how many addresses the pages link to, with commas")
    parser.add_argument("--plain", action="store_true", help="prose with little markup")
    parser.add_argument("--recorded", type=Path, help="pages of a recorded web in place of made ones")
    options = parser.parse_args()
    # As the command does in its own process.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    if options.recorded is not None:
        pages = recorded(options.recorded, 2 * options.pages)
        shown(f"of {options.recorded.name}", pages, options)
        return
    for web in map(int, options.webs.split(",")):
        pages = made(2 * options.pages, plain=options.plain, web=web)
        shown(f"that link to {web} addresses", pages, options)


def shown(which: str, pages: Sequence[Response], options: argparse.Namespace) -> None:
    size = sum(len(page.body) for page in pages) / len(pages)
    print(f"{len(pages) // 2} pages of {size / 1000:.0f} KB {which}, milliseconds a page")
    print(
        f"{'strategy':14}"
        + "".join(f"{stage:>12}" for stage in (*STAGES, "in all", "median", "slowed", "at rest", "looked at"))
    )
    for spec in options.strategy.split(","):
        print(f"{spec:14}{measured(pages, spec, options.rounds)}", flush=True)


def measured(pages: Sequence[Response], spec: str, count: int) -> str:
    rounds = [crawled(pages, spec) for _ in range(count)]
    best = [[min(seen) for seen in zip(*rows, strict=True)] for rows in zip(*(it.rows for it in rounds), strict=True)]
    stages = [1000 * statistics.fmean(column) for column in zip(*best, strict=True)]
    middle = sorted(rounds, key=lambda it: sum(map(sum, it.rows)))[len(rounds) // 2]
    usual = 1000 * statistics.fmean(map(sum, middle.rows))
    slowed = statistics.fmean(middle.fixed) / min(min(it.fixed) for it in rounds)
    figures = "".join(f"{figure:12.2f}" for figure in (*stages, sum(stages), usual, slowed, usual / slowed))
    return f"{figures}{middle.share:12.0%}"


if __name__ == "__main__":
    main()
