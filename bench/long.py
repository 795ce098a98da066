"""Long crawl in a real process: verify that speed, memory and databases stay stable over time.

    .venv/bin/python bench/long.py --pages 300000 --out /tmp/long

`long_web.py` serves three times as many pages from a separate process. `topicrawl crawl` fetches `--pages` of them into
a directory, with its defaults except for the delay. Every second the script records the CPU time and memory of the
crawler, and the time of a fixed workload, because on a shared machine the speed of a CPU-second varies. At the end the
script checks both databases and resumes the crawl.
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
LARGER = 3  # size of the web relative to the number of fetched pages
PARTS = 10
_TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """Measurements at one moment."""

    pages: int
    cpu: float  # CPU seconds of the crawler so far
    rss: float  # MB
    wall: float
    yardstick: float  # CPU seconds of the fixed workload


class Part(NamedTuple):
    """Summary of a tenth of the crawl."""

    pages: int
    speed: float  # pages per CPU-second
    work: float  # pages in the time of one fixed workload, independent of the load of the machine
    per_second: float
    rss: float


@contextmanager
def serve_web(pages: int) -> Iterator[str]:
    """Serve the web from a separate process. The context manager returns the URL of its first page."""
    command = [sys.executable, str(HERE / "long_web.py"), "--pages", str(pages)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def build_command(first: str, pages: int, directory: Path) -> list[str]:
    """Return the command line of the crawl."""
    return [
        sys.executable,
        "-m",
        "topicrawl",
        "crawl",
        TOPIC,
        "--seed",
        first,
        "--out",
        str(directory),
        "--pages",
        str(pages),
        "--delay",
        "0",
        "--concurrency",
        "32",
        "--allow-net",
        "127.0.0.0/8",
    ]


def take_samples(process: subprocess.Popen[bytes], first: str) -> Iterator[Sample]:
    """Yield a sample of the crawler's resource use every second until it exits."""
    while process.poll() is None:
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            pages = int(urllib.request.urlopen(f"{first}-/served", timeout=10).read())
        except (OSError, ValueError):
            continue
        cpu = sum(map(int, fields[11:15])) / _TICKS  # user and system time, including child processes
        rss = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        yield Sample(pages, cpu, rss, time.monotonic(), run_yardstick())
        time.sleep(1.0)


def run_yardstick() -> float:
    """Run the fixed workload and return its CPU seconds."""
    start = time.thread_time()
    table: dict[str, int] = {}
    for number in range(12_000):
        table[str(number)] = number
    return time.thread_time() - start


def split_parts(samples: Sequence[Sample]) -> list[Part]:
    """Return summaries of ten parts with the same number of pages."""
    parts = []
    goal = samples[-1].pages
    for index in range(PARTS):
        inside = [sample for sample in samples if index * goal <= PARTS * sample.pages <= (index + 1) * goal]
        if len(inside) < 2:
            continue
        first, last = inside[0], inside[-1]
        pages, cpu = last.pages - first.pages, last.cpu - first.cpu
        workload = statistics.median(sample.yardstick for sample in inside)
        per_second = pages / (last.wall - first.wall)
        parts.append(
            Part(last.pages, pages / cpu, pages / cpu * workload, per_second, max(sample.rss for sample in inside))
        )
    return parts


def report(samples: Sequence[Sample], directory: Path) -> bool:
    """Print the results. Return False if the crawl became slower or larger, or if a database is damaged."""
    parts = split_parts(samples)
    print("| pages | pages per CPU-second | corrected | pages per second | RSS MB |\n|---:|---:|---:|---:|---:|")
    scale = statistics.median(part.speed for part in parts) / statistics.median(part.work for part in parts)
    for part in parts:
        print(f"| {part.pages} | {part.speed:.0f} | {part.work * scale:.0f} | {part.per_second:.0f} | {part.rss:.0f} |")
    first, last = parts[0], parts[-1]
    speed, work, size = last.speed / first.speed, last.work / first.work, last.rss / first.rss
    print(f"\nlast tenth relative to first: speed {speed:.2f} (corrected {work:.2f}), RSS {size:.2f}")
    store = sqlite3.connect(f"{(directory / 'topicrawl.sqlite').absolute().as_uri()}?mode=ro", uri=True)
    (pages,) = store.execute("SELECT count(*) FROM pages").fetchone()
    failures = store.execute("SELECT failure, count(*) FROM failures GROUP BY 1").fetchall()
    store.close()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.stat().st_size >> 20:
            print(f"{path.relative_to(directory)}: {path.stat().st_size / 1e6:.0f} MB")
    total = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    print(f"{pages} pages stored, {total / max(1, pages):.0f} bytes on disk per page; failures: {dict(failures)}")
    return check_databases(directory) and max(speed, work) >= 0.9 and size <= 1.2


def check_databases(directory: Path) -> bool:
    """Return whether both databases pass SQLite's integrity check."""
    answers = {}
    for name in ("topicrawl.sqlite", "frontier.sqlite"):
        database = sqlite3.connect(directory / name)
        (answers[name],) = database.execute("PRAGMA integrity_check").fetchone()
        database.close()
    print(f"integrity: {answers}")
    return set(answers.values()) == {"ok"}


def resume_crawl(first: str, pages: int, directory: Path) -> bool:
    """Resume the crawl up to `pages` pages and print the time. Return whether it succeeded."""
    start = time.monotonic()
    done = subprocess.run(build_command(first, pages, directory), capture_output=True, text=True, check=False)
    print(f"resumed to {pages} pages in {time.monotonic() - start:.1f} s, exit code {done.returncode}")
    return done.returncode == 0


def run_benchmark(options: argparse.Namespace, directory: Path) -> bool:
    """Run the crawl and the checks. Return whether all succeeded."""
    with serve_web(options.pages * LARGER) as first:
        process = subprocess.Popen(build_command(first, options.pages, directory), stderr=subprocess.DEVNULL)
        samples: list[Sample] = []
        try:
            for sample in take_samples(process, first):
                samples.append(sample)
                if len(samples) % 30 == 0:
                    print(f"{sample.pages} pages, {sample.cpu:.0f} s CPU, {sample.rss:.0f} MB", flush=True)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
        code = process.wait()
        if options.csv:
            lines = [",".join(map(str, sample_row)) for sample_row in samples]
            options.csv.write_text("\n".join([",".join(Sample._fields), *lines]) + "\n")
        fine = report(samples, directory)
        return resume_crawl(first, options.pages + 100, directory) and fine and code == 0


def main() -> None:
    """Run the benchmark and exit with 1 if it fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=300_000)
    parser.add_argument("--out", type=Path, help="directory for the crawl; by default a temporary directory")
    parser.add_argument("--csv", type=Path, help="file for the samples of every second")
    options = parser.parse_args()
    directory = options.out or Path(tempfile.mkdtemp(prefix="topicrawl-long-"))
    try:
        fine = run_benchmark(options, directory)
    finally:
        if options.out is None:
            shutil.rmtree(directory, ignore_errors=True)
    raise SystemExit(0 if fine else 1)


if __name__ == "__main__":
    main()
