"""Response times of every page of the web application, on a generated collection with many pages and verdicts.

    .venv/bin/python bench/web_pages.py                      50,000 pages, 5,000 verdicts
    .venv/bin/python bench/web_pages.py --pages 5000 --verdicts 500

    .venv/bin/python bench/web_pages.py --crawl              while another process adds 20 pages per second

The collection is generated once (a few minutes) in out/bench-web and copied for each run, because the benchmark adds
verdicts. `topicrawl serve` runs as a process. Each page is requested `--repeat` times over HTTP after one request that
fills the caches of the server; the table has the time of the first request, the median and the maximum of the others,
and the CPU time of the server per request, which other processes of the machine change less.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from math import nan
from multiprocessing import Process
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote, urlencode

from search_load import cpu_seconds, describe_load
from topicrawl.collection import notes
from topicrawl.collection.annotations import AnnotationLabel, annotate_pages
from topicrawl.collection.directory import Collection
from topicrawl.collection.link_rows import pack_links
from topicrawl.collection.store import CollectionStore
from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Link, Page, PageJudgement, Priority, Response, Visit
from topicrawl.search.index import update_index
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint
from website import SEED, Prose

START = 1_760_000_000.0
HOSTS = 400
WORDS = "dengue fever mosquito"
CRAWL_RATE = 20.0  # pages per second with --crawl
WARM_UP = 8.0  # seconds between the start of the server and the first request
LIMIT = 0.3  # seconds: the target for every response
VERDICTS_PER_ACTION = 5


def make_url(number: int) -> str:
    """Return the URL of a page; hosts and directories have very different numbers of pages."""
    random = Random(number)
    host = int(HOSTS * random.random() ** 3)
    return f"http://www.site{host}.example/part{random.randrange(12)}/page{number}.html"


def generate_visits(count: int, first: int = 1) -> Iterator[tuple[Visit, Response, object]]:
    """Yield the visits of the collection from the step `first` on, with their responses and links."""
    prose, random = Prose(Random(SEED)), Random(SEED)
    words = prose.frequent(4000)
    for step in range(first, count + 1):
        url, source = make_url(step), make_url(random.randrange(1, step)) if step > 1 else ""
        relevance = round(random.betavariate(0.8, 1.2), 4)
        text = " ".join(random.choices(words, k=250)) + (" dengue fever mosquito" * int(20 * relevance))
        links = [Link(make_url(random.randrange(1, count + 1)), url, f"link {n} dengue") for n in range(12)]
        anchors = "".join(f'<p>See <a href="{link.url}">{link.anchor}</a> for more.</p>' for link in links)
        body = f"<title>Page {step} about dengue</title><p>{text}</p>{anchors}".encode()
        at = START + 2.0 * step
        group = "" if relevance < 0.5 else "undoubted" if relevance > 0.9 else ("vsm", "title")[step % 2]
        page = Page(
            url, f"Page {step} about dengue", text=text, language=("en", "de", "es")[step % 3], digest=f"{step:032x}"
        )
        judgement = PageJudgement(group, ("vsm",) if group else (), {"vsm": relevance, "title": 0.1})
        if step % 37 == 0:
            failed = Visit(
                step, Link(url, source, "link"), Priority(0.4), url, None, None, "timeout", at, 0, "timed out"
            )  # type: ignore[arg-type]
            yield failed, Response(url, url, 0, {}, b"", at), None
            continue
        visit = Visit(
            step, Link(url, source, "a link"), Priority(0.5, None, (("anchor", 0.4), ("context", 0.6))), url, page,
            relevance, None, at, 200, judgement=judgement,
        )  # fmt: skip
        kind = "application/pdf" if step % 50 == 0 else "text/html"
        response = Response(url, url, 200, {"content-type": kind}, body, at)
        yield visit, response, pack_links(links, [Priority(random.random()) for _ in links], {})


def fill_frontier(path: Path, links: int) -> None:
    """Create a frontier with waiting links."""

    async def fill() -> None:
        frontier = SqliteFrontier(path, FrontierRules(), time.time)
        for first in range(0, links, 5000):
            numbers = range(10_000_000 + first, 10_000_000 + min(links, first + 5000))
            await frontier.add(
                [Offer(Link(make_url(n), make_url(n % 1000 + 1), "dengue"), Priority(n % 997 / 997)) for n in numbers]
            )
        await frontier.close()

    asyncio.run(fill())


def prepare_collection(pages: int, verdicts: int) -> Path:
    """Return the directory of the collection. It is generated if it does not exist."""
    directory = Path("out") / "bench-web" / f"pages-{pages}-{verdicts}"
    if (directory / "done").exists():
        return directory
    print(f"generating a collection of {pages} pages in {directory}", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    facts = {
        "identity": {"strategy": "best_first"},
        "settings": {"strategy": "best_first", "pages": 2 * pages},
        "stopped": "pages reached",
    }
    with Collection(directory, Topic.of(WORDS), facts) as collection:  # type: ignore[arg-type]
        batch = []
        for row in generate_visits(pages):
            batch.append(row)
            if len(batch) == 500:
                collection.store_visits(batch)  # type: ignore[arg-type]
                batch.clear()
        collection.store_visits(batch)  # type: ignore[arg-type]
    fill_frontier(directory / "frontier.sqlite", 10 * pages)
    add_verdicts(directory, verdicts)
    update_index(directory)
    (directory / "done").touch()
    return directory


def add_verdicts(directory: Path, count: int) -> None:
    """Add verdicts in many small actions, as users do."""
    store, random = CollectionStore(directory / "topicrawl.sqlite"), Random(SEED)
    rows = store.query_rows("SELECT url FROM pages ORDER BY id LIMIT ?", (count,))
    for first in range(0, len(rows), VERDICTS_PER_ACTION):
        labels = {
            str(url): random.choice([AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT])
            for (url,) in rows[first : first + VERDICTS_PER_ACTION]
        }
        annotate_pages(store, labels, origin="read", at=START + first, annotator=("Ann", "Ben", "Eva")[first % 3])
        notes.set_tags(store, fingerprint(next(iter(labels))), ["case study", "vector control"][: 1 + first % 2])
    store.close()


def add_pages(directory: Path, first: int, rate: float) -> None:
    """Add pages and waiting links, as a crawl does, until the process is terminated."""

    async def run() -> None:
        frontier = SqliteFrontier(directory / "frontier.sqlite", FrontierRules(), time.time)
        with Collection(directory, Topic.of(WORDS), {}) as collection:
            for step, row in enumerate(generate_visits(first + 100_000, first), first):
                collection.store_visits([row])  # type: ignore[list-item]
                links = (Link(make_url(20_000_000 + 10 * step + n), make_url(step)) for n in range(10))
                await frontier.add([Offer(link, Priority(0.5)) for link in links])
                await asyncio.sleep(1 / rate)

    asyncio.run(run())


class BenchClient:
    """HTTP client with one connection, like a browser."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.origin = f"http://127.0.0.1:{port}"

    def request(self, method: str, path: str, fields: dict[str, object] | None = None) -> tuple[float, int, bytes]:
        """Send a request. Return the seconds, the status and the body."""
        body = urlencode(fields or {}, doseq=True) if method == "POST" else None
        headers = {"origin": self.origin, "content-type": "application/x-www-form-urlencoded"}
        started = time.perf_counter()
        self.connection.request(method, path, body, headers if method == "POST" else {})
        response = self.connection.getresponse()
        data = response.read()
        return time.perf_counter() - started, response.status, data


def list_requests(name: str, url: str) -> dict[str, str]:
    """Return the GET requests to measure, by name."""
    one, address = f"/c/{name}", quote(url, safe="")
    host = url.split("/")[2]
    return {
        "collections": "/",
        "watch": one,
        "review": f"{one}/review",
        "review, groups": f"{one}/review/groups",
        "review, one page (prefetch)": f"{one}/review/page?url={address}",
        "review, queue": f"{one}/review/queue",
        "review, second opinions": f"{one}/review?queue=second&by=Ann",
        "pages": f"{one}/pages",
        "pages, by relevance": f"{one}/pages?sort=relevance",
        "pages, last": f"{one}/pages?number=900",
        "pages, text and host": f"{one}/pages?text=dengue&host={host}&sort=title",
        "pages, verdict": f"{one}/pages?verdict=relevant&sort=-at",
        "pages, failed": f"{one}/pages?show=failed",
        "page": f"{one}/page?url={address}",
        "host": f"{one}/host?name={host}",
        "why, unknown URL": f"{one}/why?url=http%3A%2F%2Funknown.example%2F",
        "map": f"{one}/map",
        "train": f"{one}/teach",
        "compare": f"/compare?name={name}",
        "search": "/search?q=dengue",
        "search, more like this": f"/search?like={address}",
        "review, agreement": f"{one}/review/agreement",
        "review, state of the crawl": f"{one}/followed",
        "pages, not reviewed": f"{one}/pages?verdict=none&sort=-relevance",
        "pages, tag": f"{one}/pages?tag=case+study",
        "pages, by host": f"{one}/pages?sort=host&number=500",
        "API: collections": "/api/collections",
        "API: collection": f"/api/collections/{name}",
        "API: next links": f"/api/collections/{name}/next",
        "API: review": f"/api/collections/{name}/review",
        "API: agreement": f"/api/collections/{name}/agreement",
        "API: review sheet": f"/api/collections/{name}/review.csv",
        "API: pages": f"/api/collections/{name}/pages",
        "API: page": f"/api/collections/{name}/page?url={address}",
        "API: search": "/api/search?q=dengue+fever&facets=1",
    }


class Measurement(NamedTuple):
    """Times of a request in seconds."""

    name: str
    first: float
    others: list[float]
    cpu: float  # of the server, per request, without the first one


def measure_server(client: BenchClient, pid: int, name: str, *, repeat: int, only: str) -> list[Measurement]:
    """Measure all requests to a server process."""
    time.sleep(WARM_UP)  # the server prepares large collections when it starts
    seconds, _, body = client.request("GET", f"/c/{name}/review")
    table = [Measurement("review, first request of the server", seconds, [seconds], 0.0)]
    found = re.search(rb'name="url" value="([^"]+)"', body)
    url = found[1].decode() if found else make_url(1)
    for label, path in list_requests(name, url).items():
        if only not in label:
            continue
        times, cpu = [], 0.0
        for number in range(repeat + 1):
            if number == 1:
                cpu = cpu_seconds(pid)
            seconds, status, _ = client.request("GET", path)
            times.append(seconds)
        if status != 200:
            raise SystemExit(f"{label}: status {status}")
        table.append(Measurement(label, times[0], times[1:], (cpu_seconds(pid) - cpu) / repeat))
    if only in "verdict":
        first, others = measure_verdicts(client, name, repeat)
        table.append(Measurement("verdict", first, others, nan))
    return table


def measure_verdicts(client: BenchClient, name: str, repeat: int) -> tuple[float, list[float]]:
    """Give a verdict on the first page of the queue, several times."""
    times = []
    for number in range(repeat + 1):
        _, _, body = client.request("GET", f"/api/collections/{name}/review")
        url = json.loads(body)["queue"][0]["url"]
        fields: dict[str, object] = {"url": url, "verdict": ("relevant", "irrelevant")[number % 2]}
        seconds, status, _ = client.request("POST", f"/c/{name}/review", fields)
        assert status == 303, status
        times.append(seconds)
    return times[0], times[1:]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--verdicts", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--crawl", action="store_true", help="add pages to the collection meanwhile")
    parser.add_argument("--only", default="", help="measure the requests whose name contains this text")
    options = parser.parse_args()
    source = prepare_collection(options.pages, options.verdicts)
    with TemporaryDirectory(dir=source.parent) as folder:
        directory = Path(folder) / "dengue"
        shutil.copytree(source, directory)
        crawl = Process(target=add_pages, args=(directory, options.pages + 1, CRAWL_RATE), daemon=True)
        if options.crawl:
            crawl.start()
        command = [sys.executable, "-m", "topicrawl", "serve", str(directory), "--port", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            port = re.search(r":(\d+)/", process.stderr.readline())
            assert port
            client = BenchClient(int(port[1]))
            table = measure_server(client, process.pid, "dengue", repeat=options.repeat, only=options.only)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            if options.crawl:
                crawl.terminate()
                crawl.join()
    print(f"{describe_load()}: {options.pages} pages, {options.verdicts} verdicts; milliseconds")
    print(f"{'request':<36}{'first':>9}{'median':>9}{'maximum':>9}{'CPU':>9}")
    for row in table:
        mark = "  slow" if median(row.others) > LIMIT else ""
        times = (row.first, median(row.others), max(row.others), row.cpu)
        print(f"{row.name:<36}{''.join(f'{1000 * seconds:>9.0f}' for seconds in times)}{mark}")


if __name__ == "__main__":
    main()
