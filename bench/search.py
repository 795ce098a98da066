"""Benchmark of indexing and search on the recorded webs in $TOPICRAWL_WEBS: speed, and federated search quality.

    .venv/bin/python bench/search.py            all pages
    .venv/bin/python bench/search.py --every 5  a fifth of them

Federated search over six collections is compared with one index of all pages. Three collections contain the first web,
split by topics, and three the second web, split by hosts. Two `topicrawl serve` processes serve three collections each.
A third process without collections receives the queries and forwards them. A query consists of words of a topic, and
pages with the label of the topic are relevant.
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
from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.collection.directory import Collection
from topicrawl.collection.store import CollectionStore
from topicrawl.fetch.replay import Recording
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.parse.text_only import extract_text
from topicrawl.search import LocalServer, Query, SearchIndex, search_servers
from topicrawl.search.index import update_index
from topicrawl.search.indexing import IndexWriter
from topicrawl.topic import Topic

WEBS = ("wikispeedia", "webkb")
DEPTH = 10


@dataclass
class Judgements:
    """Labels of pages, and topics with their labels and keywords."""

    labels: dict[str, list[str]] = field(default_factory=dict)
    topics: dict[str, dict[str, object]] = field(default_factory=dict)

    @classmethod
    def read(cls, webs: Path) -> Judgements:
        """Read the labels and topics of the recorded webs."""
        judgements = cls()
        for name in WEBS:
            rows = (line.split("\t") for line in (webs / name / "labels.tsv").read_text("utf-8").splitlines())
            judgements.labels |= {url: labels.split(";") for url, labels in rows}
            judgements.topics |= json.loads((webs / name / "topics.json").read_text("utf-8"))
        return judgements

    def is_relevant(self, url: str, topic: str) -> bool:
        """Return whether a page has a label of the topic."""
        topic_labels = self.topics[topic]["labels"]
        assert isinstance(topic_labels, list)
        page_labels = self.labels.get(url, ())
        return any(label == name or label.startswith(f"{name}/") for label in page_labels for name in topic_labels)

    def queries(self) -> Iterator[tuple[str, str]]:
        """Yield (topic, query) pairs, four queries per topic."""
        for topic, facts in self.topics.items():
            words = str(facts["keywords"]).split()
            yield from ((topic, " ".join(chosen)) for chosen in (words, words[:2], words[1:4], words[:1]))

    def ndcg(self, urls: Iterable[str], topic: str, all_urls: list[str]) -> float:
        """Return the nDCG of a result list."""
        gain = sum(self.is_relevant(url, topic) / math.log2(rank + 2) for rank, url in enumerate(urls))
        count = sum(self.is_relevant(url, topic) for url in all_urls)
        return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, count))) if count else 0.0

    def collection_number(self, url: str) -> int:
        """Return the collection of a page: 0 to 2 for the first web, by topic, and 3 to 5 for the second, by host."""
        host = url.split("/")[2]
        if "schools-wikipedia" not in host:
            return 3 + zlib.crc32(host.encode()) % 3
        topics = [number for number, topic in enumerate(self.topics) if self.is_relevant(url, topic)]
        return topics[0] % 3 if topics else zlib.crc32(url.encode()) % 3


def read_pages(webs: Path, every: int) -> Iterator[tuple[Response, Page]]:
    """Yield every n-th page of the recorded webs."""
    for name in WEBS:
        recording = Recording(webs / name)
        for url in list(recording)[::every]:
            response = recording.get_response(url)
            page = parse.parse_response(response, Link(url), context=False)
            if response.failure is None and response.final_url == url and isinstance(page, Page):
                yield response, page


def fill_collections(directories: list[Path], found: Iterable[tuple[Response, Page]], judged: Judgements) -> list[str]:
    """Write each page to its collection and to the last directory. Return the URLs."""
    collections = [Collection(path, Topic.of("all"), {"identity": {"strategy": "none"}}) for path in directories]
    urls = []
    for step, (response, page) in enumerate(found, 1):
        urls.append(page.url)
        visit = Visit(step, Link(page.url), Priority(0.5), page.url, page, 0.5, None, 1e9 + step, 200)
        for collection in (collections[judged.collection_number(page.url)], collections[-1]):
            collection.store_visits([(visit, response, None)])
    for collection in collections:
        collection.close()
    return urls


def measure_speed(directory: Path, judged: Judgements) -> None:
    """Measure and print the time of indexing and of the queries."""
    extraction = measure_extraction(directory)
    indexing = IndexWriter(directory)
    started, cpu = time.perf_counter(), cpu_seconds()
    added = indexing.update()
    seconds = time.perf_counter() - started
    indexing.close()
    when = f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {os.getloadavg()[0]:.1f}"
    total = cpu_seconds() - cpu
    print(f"{when}: indexed {added} pages in {seconds:.1f} s")
    parts = f"{extraction:.1f} s to read and extract the texts, {total - extraction:.1f} s to index them"
    print(f"CPU time of all threads: {total:.1f} s: {parts} ({1000 * (total - extraction) / added:.2f} ms per page)")
    index = SearchIndex(directory)
    index.search(Query("warm"))
    for name in ("first time", "again"):
        times, cpu_times = [], []
        for _, text in judged.queries():
            started, cpu = time.perf_counter(), time.thread_time()
            index.search(Query(text))
            times.append((time.perf_counter() - started) * 1000)
            cpu_times.append((time.thread_time() - cpu) * 1000)
        summaries = [
            f"median {statistics.median(values):.1f} ms, 95 % {sorted(values)[len(values) * 95 // 100]:.1f}"
            for values in (times, cpu_times)
        ]
        print(f"queries, {name}: {summaries[0]} (CPU: {summaries[1]})")
    index.close()


def measure_extraction(directory: Path) -> float:
    """Return the CPU seconds to read all pages from the archive and to extract their texts."""
    archive = WarcArchive(directory)
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    sql = "SELECT segment, start, length FROM visits WHERE segment IS NOT NULL ORDER BY step"
    rows = store.query_typed_rows(tuple[int, int, int], sql)
    started = time.thread_time()
    for row in rows:
        extract_text(archive.read_response(RecordLocation(*row)))
    seconds = time.thread_time() - started
    archive.close()
    store.close()
    return seconds


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its terminated child processes."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


async def measure_federation(directories: list[Path], judged: Judgements, urls: list[str]) -> None:
    """Compare federated search over six collections with one index, and print nDCG and times."""
    whole = LocalServer(directories[6:])
    for directory in directories[:6]:
        update_index(directory)
    base = directories[0].parent
    (base / "none").mkdir()
    (base / "loopback.toml").write_text('allow_net = ["127.0.0.0/8"]\n')
    rows: list[tuple[float, float, int, float]] = []
    async with AsyncExitStack() as stack:
        servers = [stack.enter_context(start_server(*directories[at : at + 3])) for at in (0, 3)]
        peers = [word for address in servers for word in ("--peer", address)]
        entry_server = stack.enter_context(start_server(base / "none", "--config", base / "loopback.toml", *peers))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        for topic, text in judged.queries():
            single = await search_servers([whole], Query(text))
            started = time.perf_counter()
            async with session.get(f"{entry_server}api/search", params={"q": text}) as response:
                federated = await response.json()
            results = [[hit.url for hit in single.hits], [hit["url"] for hit in federated["hits"]]]
            scores = [judged.ndcg(result_urls, topic, urls) for result_urls in results]
            assert len(federated["asked"]) == 6
            chosen = sum(entry["chosen"] for entry in federated["asked"])
            rows.append((scores[0], scores[1], chosen, 1000 * (time.perf_counter() - started)))
    one_index, merged, count, _ = (statistics.mean(column) for column in zip(*rows, strict=True))
    print(f"nDCG@{DEPTH} of {len(rows)} queries: one index {one_index:.4f}, six collections {merged:.4f}")
    times = sorted(row[3] for row in rows)
    print(f"collections queried: {count:.2f} of 6; through both servers: median {statistics.median(times):.0f} ms")
    await whole.close()


@contextmanager
def start_server(*arguments: object) -> Iterator[str]:
    """Run `topicrawl serve` in a process. The context manager returns its address."""
    command = [sys.executable, "-m", "topicrawl", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process.stderr.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def main() -> None:
    """Build the collections and run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="use every n-th page")
    every = parser.parse_args().every
    webs = Path(os.environ["TOPICRAWL_WEBS"])
    judged = Judgements.read(webs)
    with tempfile.TemporaryDirectory() as base:
        directories = [Path(base) / f"part{number}" for number in range(6)] + [Path(base) / "all"]
        urls = fill_collections(directories, read_pages(webs, every), judged)
        measure_speed(directories[-1], judged)
        asyncio.run(measure_federation(directories, judged, urls))


if __name__ == "__main__":
    main()
