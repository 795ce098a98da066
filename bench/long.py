"""A long crawl in a real process: does it stay as fast, as small and as healthy as it was in its first hour?

    .venv/bin/python bench/long.py --pages 300000 --out /tmp/long

`long_web.py` serves three times as many pages from a process of its own; `topicrawl crawl` fetches so many of them
into a directory, with its defaults but for the delay. Every second the crawler's CPU time and memory are noted,
together with how long a fixed piece of work takes here at the moment: on a machine that others use too, a CPU-second
is not worth the same at all times. Afterwards both databases are checked, and the crawl is gone on with.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from long_web import TOPIC

HERE = Path(__file__).resolve().parent
LARGER = 3  # the web has so many times the pages that are fetched
PARTS = 10
_TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """What was seen at one moment."""

    pages: int
    cpu: float  # seconds of the crawler so far
    rss: float  # MB
    wall: float
    yardstick: float  # CPU seconds that a fixed piece of work took


class Part(NamedTuple):
    """A tenth of the crawl."""

    pages: int
    speed: float  # pages per CPU-second
    work: float  # pages in the time of one piece of the fixed work: free of how busy the machine was
    per_second: float
    rss: float


@contextmanager
def served(pages: int) -> Iterator[str]:
    """The web as a process of its own; gives the address of its first page."""
    command = [sys.executable, str(HERE / "long_web.py"), "--pages", str(pages)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def command(first: str, pages: int, directory: Path) -> list[str]:
    return [
        sys.executable, "-m", "topicrawl", "crawl", TOPIC, "--seed", first, "--out", str(directory),
        "--pages", str(pages), "--delay", "0", "--concurrency", "32", "--allow-net", "127.0.0.0/8",
    ]  # fmt: skip


def sampled(process: subprocess.Popen[bytes], first: str) -> Iterator[Sample]:
    """What the crawler has used, once a second until it ends."""
    while process.poll() is None:
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            pages = int(urllib.request.urlopen(f"{first}-/served", timeout=10).read())
        except (OSError, ValueError):
            continue
        cpu = sum(map(int, fields[11:15])) / _TICKS  # user and system, its own and its children's
        rss = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        yield Sample(pages, cpu, rss, time.monotonic(), yardstick())
        time.sleep(1.0)


def yardstick() -> float:
    """How long the same work takes at the moment, in CPU seconds."""
    start = time.thread_time()
    table: dict[str, int] = {}
    for number in range(12_000):
        table[str(number)] = number
    return time.thread_time() - start


def parts(samples: Sequence[Sample]) -> list[Part]:
    """The crawl in ten pieces of as many pages each."""
    found = []
    goal = samples[-1].pages
    for index in range(PARTS):
        inside = [each for each in samples if index * goal <= PARTS * each.pages <= (index + 1) * goal]
        if len(inside) < 2:
            continue
        first, last = inside[0], inside[-1]
        pages, cpu = last.pages - first.pages, last.cpu - first.cpu
        piece = statistics.median(each.yardstick for each in inside)
        per_second = pages / (last.wall - first.wall)
        found.append(Part(last.pages, pages / cpu, pages / cpu * piece, per_second, max(each.rss for each in inside)))
    return found


def report(samples: Sequence[Sample], directory: Path) -> bool:
    """Print what was found. False: it got slower, larger or broke."""
    found = parts(samples)
    print("| pages | pages per CPU-second | corrected | pages per second | RSS MB |\n|---:|---:|---:|---:|---:|")
    scale = statistics.median(each.speed for each in found) / statistics.median(each.work for each in found)
    for each in found:
        print(f"| {each.pages} | {each.speed:.0f} | {each.work * scale:.0f} | {each.per_second:.0f} | {each.rss:.0f} |")
    first, last = found[0], found[-1]
    speed, work, size = last.speed / first.speed, last.work / first.work, last.rss / first.rss
    print(f"\nlast tenth against first: speed {speed:.2f} (corrected {work:.2f}), RSS {size:.2f}")
    store = sqlite3.connect(f"{(directory / 'topicrawl.sqlite').absolute().as_uri()}?mode=ro", uri=True)
    (pages,) = store.execute("SELECT count(*) FROM pages").fetchone()
    failures = store.execute("SELECT failure, count(*) FROM failures GROUP BY 1").fetchall()
    store.close()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.stat().st_size >> 20:
            print(f"{path.relative_to(directory)}: {path.stat().st_size / 1e6:.0f} MB")
    total = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    print(f"{pages} pages kept, {total / max(1, pages):.0f} bytes on disk a page; failures: {dict(failures)}")
    return healthy(directory) and max(speed, work) >= 0.9 and size <= 1.2


def healthy(directory: Path) -> bool:
    """Whether both databases pass SQLite's own check."""
    answers = {}
    for name in ("topicrawl.sqlite", "frontier.sqlite"):
        database = sqlite3.connect(directory / name)
        (answers[name],) = database.execute("PRAGMA integrity_check").fetchone()
        database.close()
    print(f"integrity: {answers}")
    return set(answers.values()) == {"ok"}


def gone_on(first: str, pages: int, directory: Path) -> bool:
    """Go on with the crawl for some pages more, and tell how long the start takes."""
    start = time.monotonic()
    done = subprocess.run(command(first, pages, directory), capture_output=True, text=True, check=False)
    print(f"gone on to {pages} pages in {time.monotonic() - start:.1f} s, exit code {done.returncode}")
    return done.returncode == 0


def measured(options: argparse.Namespace, directory: Path) -> bool:
    with served(options.pages * LARGER) as first:
        process = subprocess.Popen(command(first, options.pages, directory), stderr=subprocess.DEVNULL)
        samples: list[Sample] = []
        try:
            for sample in sampled(process, first):
                samples.append(sample)
                if len(samples) % 30 == 0:
                    print(f"{sample.pages} pages, {sample.cpu:.0f} s CPU, {sample.rss:.0f} MB", flush=True)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
        code = process.wait()
        if options.csv:
            lines = [",".join(map(str, each)) for each in samples]
            options.csv.write_text("\n".join([",".join(Sample._fields), *lines]) + "\n")
        fine = report(samples, directory)
        return gone_on(first, options.pages + 100, directory) and fine and code == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=300_000)
    parser.add_argument("--out", type=Path, help="keep the crawl in this directory; else it is removed afterwards")
    parser.add_argument("--csv", type=Path, help="write what was noted every second to this file")
    options = parser.parse_args()
    directory = options.out or Path(tempfile.mkdtemp(prefix="topicrawl-long-"))
    try:
        fine = measured(options, directory)
    finally:
        if options.out is None:
            shutil.rmtree(directory, ignore_errors=True)
    raise SystemExit(0 if fine else 1)


if __name__ == "__main__":
    main()
