"""Chaos test of a shared crawl: real workers, a real Redis, and a web server whose log is the evidence."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from random import Random

from tests.helpers.redis_server import RedisServer

NAME = "dengue"
BASE = f"{{topicrawl}}:{NAME}"


@dataclass
class Plan:
    """Size of the web, and the faults that are injected."""

    pages: int
    hosts: int
    workers: int
    kills: int
    delay: float
    lease: float
    server_kills: int = 1
    cut: int = 40_000  # bytes that are cut from the end of the server log
    room: int = 0  # bytes of free memory when the memory limit is set
    pause: float = 0.4  # seconds for which the server stays full


@dataclass
class ChaosCluster:
    """Runs workers and injects faults."""

    folder: Path
    redis: RedisServer
    port: int
    plan: Plan
    random: Random = field(default_factory=lambda: Random(20261116))
    workers: list[tuple[Path, subprocess.Popen[bytes]]] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)
    _requests: list[tuple[float, str, str]] = field(default_factory=list)
    _fetched: Counter[str] = field(default_factory=Counter)
    _read: int = 0  # bytes of the log read so far

    @property
    def log(self) -> Path:
        """Request log of the web server."""
        return self.folder / "requests.log"

    def start_crawl(self) -> None:
        """Start the worker that creates the crawl."""
        plan = self.plan
        self._start(
            self.folder / NAME,
            "crawl",
            "dengue fever",
            "--out",
            str(self.folder / NAME),
            "--pages",
            "0",
            "--seed",
            f"http://127.0.1.1:{self.port}/p/0",
            "--delay",
            str(plan.delay),
            "--lease",
            str(plan.lease),
            "--allow-net",
            "127.0.0.0/8",
            "--min-free",
            "0",
            "--frontier",
            self.redis.address,
        )

    def start_worker(self, directory: Path | None = None) -> None:
        """Start another worker, in the directory of a killed one or in a new one."""
        directory = directory or self.folder / f"worker-{next(self.numbers)}"
        self._start(directory, "worker", self.redis.address, NAME, "--out", str(directory))

    def _start(self, directory: Path, *words: str) -> None:
        command = [sys.executable, "-m", "topicrawl", *words]
        with (self.folder / "errors.log").open("ab") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        self.workers.append((directory, process))

    def read_requests(self) -> list[tuple[float, str, str]]:
        """Return all requests so far as (time, host, path). Only new lines of the log are read."""
        if self.log.exists():
            with self.log.open() as log:
                log.seek(self._read)
                text = log.read()
            whole = text[: text.rfind("\n") + 1]
            self._read += len(whole)
            rows = (line.split("\t") for line in whole.splitlines())
            new = [(float(at), host, path) for at, host, path in rows]
            self._requests += new
            self._fetched.update(path for _, _, path in new if path.startswith("/p/"))
        return self._requests

    def count_fetches(self) -> Counter[str]:
        """Count the requests of each page."""
        self.read_requests()
        return self._fetched

    def wait_for(self, pages: int, seconds: float = 600.0) -> None:
        """Wait until this number of different pages has been requested."""
        until = time.monotonic() + seconds
        while len(self.count_fetches()) < pages and time.monotonic() < until:
            time.sleep(0.05)

    def kill_worker(self) -> None:
        """Kill a worker and start another, in the same directory or in a new one."""
        directory, process = self.workers.pop(self.random.randrange(len(self.workers)))
        process.kill()
        process.wait()
        self.start_worker(directory if self.random.random() < 0.5 else None)

    def freeze_worker(self) -> None:
        """Suspend a worker with leases for longer than a lease, then resume it. The server must reject its results."""
        before = self.count_refused()
        process = self._suspend_worker()
        time.sleep(1.5 * self.plan.lease)
        process.send_signal(signal.SIGCONT)
        self._wait_until(lambda: self.count_refused() > before)

    def _suspend_worker(self) -> subprocess.Popen[bytes]:
        """Suspend a worker that has leases."""
        while True:
            for directory, process in self.workers:
                process.send_signal(signal.SIGSTOP)
                if self._has_leases(directory):
                    return process
                process.send_signal(signal.SIGCONT)
            time.sleep(0.02)

    def _has_leases(self, directory: Path) -> bool:
        name = _worker_name(directory)
        leases = self.run_command("--no-raw", "HVALS", f"{BASE}:leases").split()
        return bool(name) and any(lease.endswith(f'{name}"') for lease in leases)

    def count_refused(self) -> int:
        """Return the number of rejected results of stale leases."""
        return int(self.run_command("HGET", f"{BASE}:c", "refused") or 0)

    def fill_server(self) -> int:
        """Let the server run out of memory for a while. Return the number of requests in the last second of it."""
        self.run_command("CONFIG", "SET", "maxmemory", str(self._memory_info("used_memory") + self.plan.room))
        self._wait_until(lambda: self._memory_info("used_memory") > self._memory_info("maxmemory"))
        time.sleep(self.plan.pause)
        end = time.time()
        self.run_command("CONFIG", "SET", "maxmemory", "0")
        return sum(end - 1.0 < at < end for at, _, _ in self.read_requests())

    def _memory_info(self, name: str) -> int:
        values = dict(line.strip().partition(":")[::2] for line in self.run_command("INFO", "memory").splitlines())
        return int(values[name])

    def _wait_until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "the condition was not met in time"
            time.sleep(0.02)

    def kill_server(self, cut: int) -> None:
        """Kill the server, cut the end of its log, and restart it."""
        self.redis.kill()
        log = self.redis.log
        os.truncate(log, max(0, log.stat().st_size - cut))
        self.redis.start()

    def run_command(self, *words: str) -> str:
        """Run a Redis command and return its output."""
        command = ["redis-cli", "-p", str(self.redis.port), *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def wait_for_exit(self, seconds: float = 600.0) -> list[int]:
        """Wait for all workers and return their exit codes."""
        return [process.wait(timeout=seconds) for _, process in self.workers]

    def close(self) -> None:
        """Kill all workers."""
        for _, process in self.workers:
            process.kill()
            process.wait()

    def request_gaps(self) -> list[float]:
        """Return the seconds between consecutive requests to one host, shortest first."""
        by_host: dict[str, list[float]] = {}
        for at, host, _ in self.read_requests():
            by_host.setdefault(host, []).append(at)
        return sorted(later - earlier for times in by_host.values() for earlier, later in pairwise(sorted(times)))

    def directories(self) -> list[Path]:
        """Return the directories of all workers."""
        return sorted(path.parent for path in self.folder.glob("*/topicrawl.sqlite"))

    def stored_pages(self, *directories: Path) -> set[str]:
        """Return the URLs of the stored pages in these directories, by default of all workers."""
        urls: set[str] = set()
        for directory in directories or self.directories():
            urls |= {str(url) for (url,) in _rows(directory, "pages", "SELECT url FROM pages")}
        return urls

    def status(self) -> dict[str, object]:
        """Return the output of `topicrawl cluster status`."""
        command = [sys.executable, "-m", "topicrawl", "cluster", "status", self.redis.address, NAME, "--json"]
        status: dict[str, object] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[0]
        return status


def _rows(directory: Path, table: str, sql: str) -> list[tuple[object, ...]]:
    """Return rows of a worker database, or none if the worker was killed before it created the table."""
    database = sqlite3.connect(directory / "topicrawl.sqlite")
    try:
        is_there = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        return database.execute(sql).fetchall() if is_there else []
    finally:
        database.close()


def _worker_name(directory: Path) -> str:
    """Return the name of a worker, or an empty string before it has joined."""
    if not (directory / "topicrawl.sqlite").exists():
        return ""
    try:
        found = _rows(directory, "facts", "SELECT value FROM facts WHERE name = 'worker'")
    except sqlite3.OperationalError:
        # The worker was suspended while it creates the file, which is locked until it resumes.
        return ""
    return str(json.loads(str(found[0][0]))) if found else ""
