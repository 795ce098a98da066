"""Indexing and searching the recorded webs in $TOPICRAWL_WEBS: speed, and six collections on two servers beside one.

    .venv/bin/python bench/search.py            all pages
    .venv/bin/python bench/search.py --every 5  a fifth of them

A topic's collection holds the pages with its label and a share of those without one; a query is some of the topic's
words, and a page with the topic's label is what was looked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from topicrawl import parse
from topicrawl.collection.directory import Collection
from topicrawl.fetch.guard import networks
from topicrawl.fetch.replay import Recording
from topicrawl.fetch.settings import HttpSettings
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.search import Answer, Here, Index, Peer, Query, answer, reply
from topicrawl.search.indexing import Indexing
from topicrawl.topic import Topic

WEBS = ("wikispeedia", "webkb")
DEPTH = 10


@dataclass
class Judged:
    """The labels of pages, and the topics that ask for them."""

    labels: dict[str, list[str]] = field(default_factory=dict)
    topics: dict[str, dict[str, object]] = field(default_factory=dict)

    @classmethod
    def read(cls, webs: Path) -> Judged:
        found = cls()
        for name in WEBS:
            rows = (line.split("\t") for line in (webs / name / "labels.tsv").read_text("utf-8").splitlines())
            found.labels |= {url: labels.split(";") for url, labels in rows}
            found.topics |= json.loads((webs / name / "topics.json").read_text("utf-8"))
        return found

    def relevant(self, url: str, topic: str) -> bool:
        wanted = self.topics[topic]["labels"]
        assert isinstance(wanted, list)
        own = self.labels.get(url, ())
        return any(label == name or label.startswith(f"{name}/") for label in own for name in wanted)

    def queries(self) -> Iterator[tuple[str, str]]:
        for topic, facts in self.topics.items():
            words = str(facts["keywords"]).split()
            yield from ((topic, " ".join(said)) for said in (words, words[:2], words[1:4], words[:1]))

    def ndcg(self, urls: Iterable[str], topic: str, all_urls: list[str]) -> float:
        gain = sum(self.relevant(url, topic) / math.log2(rank + 2) for rank, url in enumerate(urls))
        there = sum(self.relevant(url, topic) for url in all_urls)
        return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, there))) if there else 0.0

    def home(self, url: str) -> int:
        """Which of six collections a page is in: three of the first web by topics, three of the second by hosts."""
        host = url.split("/")[2]
        if "schools-wikipedia" not in host:
            return 3 + zlib.crc32(host.encode()) % 3
        topics = [number for number, topic in enumerate(self.topics) if self.relevant(url, topic)]
        return topics[0] % 3 if topics else zlib.crc32(url.encode()) % 3


def pages(webs: Path, every: int) -> Iterator[tuple[Response, Page]]:
    for name in WEBS:
        recording = Recording(webs / name)
        for url in list(recording)[::every]:
            response = recording.answer(url)
            page = parse.read(response, Link(url), context=False)
            if response.failure is None and response.final_url == url and isinstance(page, Page):
                yield response, page


def fill(directories: list[Path], found: Iterable[tuple[Response, Page]], judged: Judged) -> list[str]:
    """The last directory gets all pages, each of the others its own."""
    crawls = [Collection(path, Topic.of("all"), {"identity": {"strategy": "none"}}) for path in directories]
    urls = []
    for step, (response, page) in enumerate(found, 1):
        urls.append(page.url)
        visit = Visit(step, Link(page.url), Place(0.5), page.url, page, 0.5, None, 1e9 + step, 200)
        for crawl in (crawls[judged.home(page.url)], crawls[-1]):
            crawl.keep([(visit, response, None)])
    for crawl in crawls:
        crawl.close()
    return urls


def speed(directory: Path, judged: Judged) -> None:
    indexing = Indexing(directory)
    begun, cpu = time.perf_counter(), time.process_time()
    added = indexing.run()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    indexing.close()
    print(f"indexed {added} pages in {seconds:.1f} s ({cpu:.1f} s of CPU), {added / seconds:.0f} a second")
    index = Index(directory)
    index.search(Query("warm"))
    for name in ("first time", "again"):
        times = []
        for _, text in judged.queries():
            begun = time.perf_counter()
            index.search(Query(text))
            times.append((time.perf_counter() - begun) * 1000)
        times.sort()
        print(f"queries, {name}: median {statistics.median(times):.1f} ms, 95 % {times[int(len(times) * 0.95)]:.1f} ms")
    index.close()


async def served(here: Here) -> tuple[web.AppRunner, str]:
    async def told(request: web.Request) -> web.Response:
        return web.json_response(await reply(here, request.match_info["operation"], await request.json()))

    application = web.Application()
    application.router.add_post("/api/peer/{operation}", told)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


async def merging(directories: list[Path], judged: Judged, urls: list[str]) -> None:
    shelves = [Here(directories[:3]), Here(directories[3:6]), Here(directories[6:])]
    for here in shelves:
        await here.catch_up()
    running = [await served(here) for here in shelves[:2]]
    settings = HttpSettings(allow=networks(["127.0.0.0/8"]))
    peers = [Peer(address, settings) for _, address in running]
    rows: list[tuple[float, float, int]] = []
    for topic, text in judged.queries():
        one, many = await answer(shelves[2:], Query(text)), await answer(peers, Query(text))
        scores = [judged.ndcg([hit.url for hit in found.hits], topic, urls) for found in (one, many)]
        rows.append((*scores, asked(many)))
    one_index, merged, count = (statistics.mean(column) for column in zip(*rows, strict=True))
    print(f"nDCG@{DEPTH} of {len(rows)} queries: one index {one_index:.4f}, six collections {merged:.4f}")
    print(f"collections asked: {count:.2f} of 6")
    for runner, _ in running:
        await runner.cleanup()
    for here in shelves:
        await here.close()


def asked(found: Answer) -> int:
    return sum(it.chosen for it in found.asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take every n-th page")
    every = parser.parse_args().every
    webs = Path(os.environ["TOPICRAWL_WEBS"])
    judged = Judged.read(webs)
    with tempfile.TemporaryDirectory() as base:
        directories = [Path(base) / f"part{number}" for number in range(6)] + [Path(base) / "all"]
        urls = fill(directories, pages(webs, every), judged)
        speed(directories[-1], judged)
        asyncio.run(merging(directories, judged, urls))


if __name__ == "__main__":
    main()
