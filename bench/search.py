"""Indexing and searching the recorded webs in $TOPICRAWL_WEBS: speed, and six collections on two servers beside one.

    .venv/bin/python bench/search.py            all pages
    .venv/bin/python bench/search.py --every 5  a fifth of them

Three collections are of the first web, by topics, and three of the second, by hosts. Each three are served by a
`topicrawl serve` of their own, and a third one without a collection is asked, which asks them. A query is some of a
topic's words, and a page with the topic's label is what was looked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from topicrawl import parse
from topicrawl.collection.directory import Collection
from topicrawl.fetch.replay import Recording
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.search import Here, Index, Query, answer
from topicrawl.search.index import catch_up
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
    begun, cpu = time.perf_counter(), computed()
    added = indexing.run()
    seconds = time.perf_counter() - begun
    indexing.close()
    when = f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {os.getloadavg()[0]:.1f}"
    print(f"{when}: indexed {added} pages in {seconds:.1f} s ({computed() - cpu:.1f} s of computing, all processes)")
    index = Index(directory)
    index.search(Query("warm"))
    for name in ("first time", "again"):
        times, used = [], []
        for _, text in judged.queries():
            begun, cpu = time.perf_counter(), time.thread_time()
            index.search(Query(text))
            times.append((time.perf_counter() - begun) * 1000)
            used.append((time.thread_time() - cpu) * 1000)
        shares = [
            f"median {statistics.median(it):.1f} ms, 95 % {sorted(it)[len(it) * 95 // 100]:.1f}" for it in (times, used)
        ]
        print(f"queries, {name}: {shares[0]} (of computing: {shares[1]})")
    index.close()


def computed() -> float:
    """Seconds of computing, of this process and those that it has ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


async def merging(directories: list[Path], judged: Judged, urls: list[str]) -> None:
    whole = Here(directories[6:])
    for directory in directories[:6]:
        catch_up(directory)
    room = directories[0].parent
    (room / "none").mkdir()
    (room / "loopback.toml").write_text('allow_net = ["127.0.0.0/8"]\n')
    rows: list[tuple[float, float, int, float]] = []
    async with AsyncExitStack() as stack:
        homes = [stack.enter_context(serving(*directories[at : at + 3])) for at in (0, 3)]
        peers = [word for address in homes for word in ("--peer", address)]
        front = stack.enter_context(serving(room / "none", "--config", room / "loopback.toml", *peers))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        for topic, text in judged.queries():
            one = await answer([whole], Query(text))
            begun = time.perf_counter()
            async with session.get(f"{front}api/search", params={"q": text}) as response:
                many = await response.json()
            found = [[hit.url for hit in one.hits], [hit["url"] for hit in many["hits"]]]
            scores = [judged.ndcg(several, topic, urls) for several in found]
            assert len(many["asked"]) == 6
            chosen = sum(it["chosen"] for it in many["asked"])
            rows.append((scores[0], scores[1], chosen, 1000 * (time.perf_counter() - begun)))
    one_index, merged, count, _ = (statistics.mean(column) for column in zip(*rows, strict=True))
    print(f"nDCG@{DEPTH} of {len(rows)} queries: one index {one_index:.4f}, six collections {merged:.4f}")
    times = sorted(row[3] for row in rows)
    print(f"collections asked: {count:.2f} of 6; through both servers: median {statistics.median(times):.0f} ms")
    await whole.close()


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """A server of its own process, by its address."""
    command = [sys.executable, "-m", "topicrawl", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process.stderr.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


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
