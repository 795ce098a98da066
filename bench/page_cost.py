"""CPU time per page of the crawler: parsing, judging, learning, scoring links, rescoring.

    .venv/bin/python bench/page_cost.py [--strategy apprentice] [--pages 200] [--rounds 5] [--webs 1000,4500] [--plain]
    .venv/bin/python bench/page_cost.py --recorded ../shared/webs/wikispeedia

The pages are generated: 38 KB, 100 links and 1,700 words each (29 KB with `--plain`). Every round uses a new crawler,
which processes as many pages before the measurement. The cost of learning depends on how many links of a page are new
to the crawler, so the pages link to webs of several sizes. `scored` is the share of links whose features were computed.
The other links lead to fetched pages or are known from six pages already; in a crawl of 1,000 pages of a recorded
encyclopedia the share was 37 %. Each figure is the mean over the pages of the best of all rounds in milliseconds, so
that other load on the machine has little effect. The median of the rounds is printed next to it. `slowdown` shows the
reliability of both: a fixed arithmetic workload is timed between pages, and `slowdown` is its mean in the median round
divided by its best time. On a machine with shared cores it can be 1.5 and more. `adjusted` is the median divided by it.
With `--recorded` the pages are those of a recorded web with 36 to 44 KB, in random order.
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
from topicrawl.models import Link, Priority, Response, Visit
from topicrawl.parse import parse_response
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.relevance.base import LearnsFromPages
from topicrawl.relevance.rocchio import RocchioJudge
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.topic import Topic
from website import SEED, Prose, Website

STAGES = ("parse", "judge", "learn", "score links", "rescore")


def generate_pages(count: int, *, plain: bool, web: int) -> list[Response]:
    """Return the responses of a generated site with links to `web` pages."""
    pages = []
    for address, (response, number) in Website(max(web, count), 8, SEED, plain=plain, written=count).answers.items():
        if number >= 0:
            url = f"http://{address.decode()}"
            headers = {"content-type": "text/html; charset=utf-8"}
            pages.append(Response(url, url, 200, headers, response.partition(b"\r\n\r\n")[2]))
    return pages[:count]


def read_recorded_pages(path: Path, count: int) -> list[Response]:
    """Return pages of a recorded web of about 40 KB, in random order."""
    web = Recording(path)
    responses = [web.get_response(url) for url in sorted(web)]
    chosen = [
        response
        for response in responses
        if response.status == 200 and response.url == response.final_url and 36_000 <= len(response.body) <= 44_000
    ]
    if len(chosen) < 2:
        sys.exit(f"{path}: fewer than two pages between 36 and 44 KB")
    Random(SEED).shuffle(chosen)
    return chosen[:count]


class Round(NamedTuple):
    """Measurements of the second half of the pages."""

    rows: list[list[float]]  # seconds of each stage, for each page
    share: float  # share of the links whose features were computed
    fixed: list[float]  # seconds of the fixed workload, after each page


def run_round(pages: Sequence[Response], spec: str, judge_name: str) -> Round:
    """Process the pages with a new strategy and measure each stage."""
    topic = Topic.of(" ".join(Prose(Random(SEED)).frequent(6)))
    cache = ParserCache()
    vsm = Vsm(topic, cache.vocabularies)
    judge = TopicJudge(vsm) if judge_name == "topic" else RocchioJudge(vsm)
    learner = judge if isinstance(judge, LearnsFromPages) else None
    strategy = strategies.create_strategy(spec)
    strategy.bind(StrategyContext(topic, vsm, Random(0)))
    rows = []
    shares = []
    fixed = []
    clock = time.thread_time
    for number, response in enumerate(pages):
        link = Link(response.url, source=pages[number // 12].url, depth=3)
        times = [clock()]
        page = parse_response(response, link, context=strategy.link_context, cache=cache)
        times.append(clock())
        visit = Visit(number + 1, link, Priority(0.5), response.url, page, judge.score(page))
        if learner is not None:
            learner.observe(page)
        times.append(clock())
        strategy.learn(visit)
        times.append(clock())
        priorities = strategy.score_links(page.links, visit)
        times.append(clock())
        strategy.rescore()
        times.append(clock())
        rows.append([after - before for before, after in pairwise(times)])
        # Only priorities computed for this page have parts.
        shares.append(statistics.fmean(priority is not None and len(priority.parts) > 0 for priority in priorities))
        started = clock()
        sum(number * number for number in range(2000))
        fixed.append(clock() - started)
    half = len(rows) // 2
    return Round(rows[half:], statistics.fmean(shares[half:]), fixed[half:])


def main() -> None:
    """Measure the strategies given on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--strategy", default=f"best_first,{strategies.DEFAULT_STRATEGY}", help="strategies, separated by commas"
    )
    parser.add_argument("--judge", default="topic", choices=("topic", "cosine"))
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--webs", default="1000,4500,20000", help="sizes of the webs, separated by commas")
    parser.add_argument("--plain", action="store_true", help="use prose with little markup")
    parser.add_argument("--recorded", type=Path, help="use pages of a recorded web instead of generated pages")
    options = parser.parse_args()
    # The same settings as in the `crawl` command.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    if options.recorded is not None:
        pages = read_recorded_pages(options.recorded, 2 * options.pages)
        print_costs(f"of {options.recorded.name}", pages, options)
        return
    for web in map(int, options.webs.split(",")):
        pages = generate_pages(2 * options.pages, plain=options.plain, web=web)
        print_costs(f"with links to {web} URLs", pages, options)


def print_costs(which: str, pages: Sequence[Response], options: argparse.Namespace) -> None:
    """Print the costs of all strategies as a table."""
    size = sum(len(page.body) for page in pages) / len(pages)
    print(f"{len(pages) // 2} pages of {size / 1000:.0f} KB {which}, milliseconds per page")
    print(
        f"{'strategy':14}"
        + "".join(f"{stage:>12}" for stage in (*STAGES, "total", "median", "slowdown", "adjusted", "scored"))
    )
    for spec in options.strategy.split(","):
        print(f"{spec:14}{measure_strategy(pages, spec, options)}", flush=True)


def measure_strategy(pages: Sequence[Response], spec: str, options: argparse.Namespace) -> str:
    """Return the costs of one strategy as a row of the table."""
    rounds = [run_round(pages, spec, options.judge) for _ in range(options.rounds)]
    rows_by_page = zip(*(one_round.rows for one_round in rounds), strict=True)
    best = [[min(times) for times in zip(*rows, strict=True)] for rows in rows_by_page]
    stages = [1000 * statistics.fmean(column) for column in zip(*best, strict=True)]
    middle = sorted(rounds, key=lambda one_round: sum(map(sum, one_round.rows)))[len(rounds) // 2]
    median = 1000 * statistics.fmean(map(sum, middle.rows))
    slowdown = statistics.fmean(middle.fixed) / min(min(one_round.fixed) for one_round in rounds)
    figures = "".join(f"{figure:12.2f}" for figure in (*stages, sum(stages), median, slowdown, median / slowdown))
    return f"{figures}{middle.share:12.0%}"


if __name__ == "__main__":
    main()
