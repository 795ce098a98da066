"""Pages per CPU-second of Topicrawl, Scrapy and Crawlee on the same web.

    python3 -m venv .venv-bench
    .venv-bench/bin/pip install "scrapy==2.19.*" "crawlee[parsel]==1.11.*"
    .venv/bin/python bench/speed.py

CPU time is the user and system time of all threads of the crawler's process, from its first request to its last page.
The rounds of the crawlers are interleaved, so that other load on the machine affects all of them. The best round is the
least disturbed one. A crawler that does not fetch every page of the web is reported but not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
OWN = "Topicrawl"


@dataclass(frozen=True)
class CrawlerRun:
    """Result of one crawler in one round."""

    name: str
    version: str
    pages: int
    cpu: float
    wall: float
    characters: int
    peak_mb: float
    missing: int = 0  # pages of the web that were not requested

    @property
    def speed(self) -> float:
        """Pages per CPU-second."""
        return self.pages / self.cpu


@contextmanager
def serve_web(pages: int, *, plain: bool = False) -> Iterator[str]:
    """Serve the web from a separate process. The context manager returns the URL of its first page."""
    command = [sys.executable, str(HERE / "website.py"), "--pages", str(pages), *(["--plain"] if plain else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def count_requested(first: str) -> int:
    """Return the number of distinct pages requested since the last call."""
    with urllib.request.urlopen(f"{first}-/served", timeout=10) as answer:
        return int(answer.read().split()[0])


def build_commands(options: argparse.Namespace, first: str) -> dict[str, list[str]]:
    """Return the command line of each crawler."""
    topicrawl = [
        sys.executable,
        str(HERE / "own.py"),
        first,
        "--pages",
        str(options.pages),
        "--strategy",
        options.strategy,
        "--judge",
        options.judge,
    ]
    peers = str(options.peers)
    all_commands = {
        OWN: topicrawl,
        "Scrapy": [peers, str(HERE / "peer_scrapy.py"), first],
        "Crawlee": [peers, str(HERE / "peer_crawlee.py"), first],
    }
    return {name: all_commands[name] for name in all_commands if name in options.only}


def run_crawler(command: list[str], first: str, pages: int, timeout: float) -> CrawlerRun | None:
    """Run one crawl in a separate process. Return None if it fails."""
    count_requested(first)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout)
        return CrawlerRun(**json.loads(done.stdout.splitlines()[-1]), missing=pages - count_requested(first))
    except subprocess.CalledProcessError as error:
        print(f"{Path(command[1]).name} failed:\n{error.stderr[-2000:]}", file=sys.stderr)
    except subprocess.TimeoutExpired:
        print(f"{Path(command[1]).name} took more than {timeout:g} s", file=sys.stderr)
    return None


def run_rounds(options: argparse.Namespace) -> dict[str, list[CrawlerRun]]:
    """Run all rounds and return the results of each crawler."""
    runs: dict[str, list[CrawlerRun]] = {}
    with serve_web(options.pages, plain=options.plain) as first:
        for number in range(1, options.rounds + 1):
            commands = build_commands(options, first)
            # Topicrawl's runs are the shortest and therefore the noisiest, so it runs once before each other crawler.
            order = (
                [each for name in commands if name != OWN for each in (OWN, name)]
                if OWN in commands
                else list(commands)
            )
            for name in order or [OWN]:
                command = commands[name]
                done = run_crawler(command, first, options.pages, options.timeout)
                if done is None:
                    continue
                runs.setdefault(name, []).append(done)
                print(
                    f"round {number}: {name} {done.speed:.0f} pages per CPU-second",
                    file=sys.stderr,
                    flush=True,
                )
    return runs


def render_table(runs: dict[str, list[CrawlerRun]]) -> str:
    """Return the figures as a Markdown table with one row per crawler."""
    lines = [
        "| crawler | version | pages | best | median | pages per second | peak MB |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, done in runs.items():
        speeds = [each.speed for each in done]
        figures = [
            f"{done[0].pages}",
            f"{max(speeds):.0f}",
            f"{statistics.median(speeds):.0f}",
            f"{max(each.pages / each.wall for each in done):.0f}",
            f"{max(each.peak_mb for each in done):.0f}",
        ]
        lines.append(f"| {name} | {done[0].version} | {' | '.join(figures)} |")
    return "\n".join(lines)


def speed_ratios(runs: dict[str, list[CrawlerRun]]) -> dict[str, tuple[float, float]]:
    """Return the speed of Topicrawl relative to each other crawler, for the best and the median round."""
    ratios: dict[str, tuple[float, float]] = {}
    own_speeds = [each.speed for each in runs.get(OWN, [])]
    for name, done in runs.items():
        speeds = [each.speed for each in done]
        if own_speeds and name != OWN:
            ratios[name] = (max(own_speeds) / max(speeds), statistics.median(own_speeds) / statistics.median(speeds))
    return ratios


def report(options: argparse.Namespace, runs: dict[str, list[CrawlerRun]]) -> bool:
    """Print the results. Return False if a crawler failed or did not fetch all pages."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    print(
        f"{now}, {platform.python_implementation()} {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores, {options.pages} pages, {options.rounds} rounds\n"
        "best and median: pages per CPU-second\n"
    )
    print(render_table(runs))
    for name, (best, median) in speed_ratios(runs).items():
        print(f"\n{OWN} / {name}: {best:.1f} (best), {median:.1f} (median)")
    missing_pages = {name: max(each.missing for each in done) for name, done in runs.items()}
    for name, missing in missing_pages.items():
        if missing > 0:
            print(f"\n{name} did not fetch {missing} of {options.pages} pages: not comparable")
    if options.json:
        rows = [vars(each) | {"speed": each.speed} for done in runs.values() for each in done]
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"at": now, "cores": os.cpu_count(), "runs": rows}, indent=1) + "\n")
    return set(runs) == set(options.only) and not any(missing > 0 for missing in missing_pages.values())


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--plain", action="store_true", help="use pages of plain prose instead of documentation pages")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[OWN, "Scrapy", "Crawlee"], help="crawlers to run")
    parser.add_argument("--strategy", default="best_first", help="Topicrawl's strategy")
    parser.add_argument("--judge", default="topic", help="Topicrawl's judge")
    parser.add_argument("--timeout", type=float, default=600.0, help="maximum seconds for one crawl")
    parser.add_argument("--peers", type=Path, default=HERE.parent / ".venv-bench" / "bin" / "python")
    parser.add_argument("--json", type=Path, help="JSON file for the results of all rounds")
    options = parser.parse_args()
    if not options.peers.exists() and set(options.only) != {OWN}:
        raise SystemExit(f"{options.peers} is missing: create it as described at the top of {Path(__file__).name}")
    raise SystemExit(0 if report(options, run_rounds(options)) else 1)


if __name__ == "__main__":
    main()
