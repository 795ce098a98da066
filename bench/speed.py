"""Pages per CPU-second: Topicrawl, Scrapy and Crawlee on the same web, one after the other, several times.

    python3 -m venv .venv-bench
    .venv-bench/bin/pip install "scrapy==2.19.*" "crawlee[parsel]==1.11.*"
    .venv/bin/python bench/speed.py

CPU time is that of the crawler's process alone, user and system, all threads, from its first request to its
last page. Rounds are interleaved, so that a busy spell of the machine hits all; the best round is the one
least disturbed. A crawler that does not fetch every page of the web once is reported, not compared.
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
class Run:
    """What one crawler reported of one round."""

    name: str
    version: str
    pages: int
    cpu: float
    wall: float
    characters: int
    peak_mb: float
    missing: int = 0  # pages of the web it did not ask for

    @property
    def speed(self) -> float:
        return self.pages / self.cpu


@contextmanager
def served(pages: int, *, plain: bool = False) -> Iterator[str]:
    """The web as a process of its own; gives the address of its first page."""
    command = [sys.executable, str(HERE / "website.py"), "--pages", str(pages), *(["--plain"] if plain else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def asked_for(first: str) -> int:
    """How many distinct pages were asked for since the last call."""
    with urllib.request.urlopen(f"{first}-/served", timeout=10) as answer:
        return int(answer.read().split()[0])


def commands(options: argparse.Namespace, first: str) -> dict[str, list[str]]:
    own = [
        sys.executable,
        str(HERE / "own.py"),
        first,
        "--pages",
        str(options.pages),
        "--strategy",
        options.strategy,
    ]
    peers = str(options.peers)
    known = {
        OWN: own,
        "Scrapy": [peers, str(HERE / "peer_scrapy.py"), first],
        "Crawlee": [peers, str(HERE / "peer_crawlee.py"), first],
    }
    return {name: known[name] for name in known if name in options.only}


def run(command: list[str], first: str, pages: int, timeout: float) -> Run | None:
    """One crawl in a process of its own; None: it failed."""
    asked_for(first)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout)
        return Run(**json.loads(done.stdout.splitlines()[-1]), missing=pages - asked_for(first))
    except subprocess.CalledProcessError as error:
        print(f"{Path(command[1]).name} failed:\n{error.stderr[-2000:]}", file=sys.stderr)
    except subprocess.TimeoutExpired:
        print(f"{Path(command[1]).name} took more than {timeout:g} s", file=sys.stderr)
    return None


def measured(options: argparse.Namespace) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {}
    with served(options.pages, plain=options.plain) as first:
        for number in range(1, options.rounds + 1):
            known = commands(options, first)
            # Our runs are the shortest and so the noisiest: one before each peer.
            order = [each for name in known if name != OWN for each in (OWN, name)] if OWN in known else list(known)
            for name in order or [OWN]:
                command = known[name]
                done = run(command, first, options.pages, options.timeout)
                if done is None:
                    continue
                runs.setdefault(name, []).append(done)
                print(
                    f"round {number}: {name} {done.speed:.0f} pages per CPU-second",
                    file=sys.stderr,
                    flush=True,
                )
    return runs


def table(runs: dict[str, list[Run]]) -> str:
    """The figures as a Markdown table, one row for each crawler."""
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


def ratios(runs: dict[str, list[Run]]) -> dict[str, tuple[float, float]]:
    """How many times faster Topicrawl is than each peer: best against best, median against median."""
    found: dict[str, tuple[float, float]] = {}
    own = [each.speed for each in runs.get(OWN, [])]
    for name, done in runs.items():
        speeds = [each.speed for each in done]
        if own and name != OWN:
            found[name] = (max(own) / max(speeds), statistics.median(own) / statistics.median(speeds))
    return found


def report(options: argparse.Namespace, runs: dict[str, list[Run]]) -> bool:
    """Print what was found. False: a crawler is missing or left pages out."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    print(
        f"{now}, {platform.python_implementation()} {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores, {options.pages} pages, {options.rounds} rounds\n"
        "best and median: pages per CPU-second\n"
    )
    print(table(runs))
    for name, (best, median) in ratios(runs).items():
        print(f"\n{OWN} / {name}: {best:.1f} (best), {median:.1f} (median)")
    short = {name: max(each.missing for each in done) for name, done in runs.items()}
    for name, missing in short.items():
        if missing > 0:
            print(f"\n{name} left out {missing} of {options.pages} pages: not comparable")
    if options.json:
        rows = [vars(each) | {"speed": each.speed} for done in runs.values() for each in done]
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"at": now, "cores": os.cpu_count(), "runs": rows}, indent=1) + "\n")
    return set(runs) == set(options.only) and not any(missing > 0 for missing in short.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--plain", action="store_true", help="pages of prose alone instead of documentation-like ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[OWN, "Scrapy", "Crawlee"], help="which crawlers to run")
    parser.add_argument("--strategy", default="best_first", help="Topicrawl's strategy")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one crawl")
    parser.add_argument("--peers", type=Path, default=HERE.parent / ".venv-bench" / "bin" / "python")
    parser.add_argument("--json", type=Path, help="write all rounds to this file")
    options = parser.parse_args()
    if not options.peers.exists() and set(options.only) != {OWN}:
        raise SystemExit(f"{options.peers} is missing: the first lines of {Path(__file__).name} say how to make it")
    raise SystemExit(0 if report(options, measured(options)) else 1)


if __name__ == "__main__":
    main()
