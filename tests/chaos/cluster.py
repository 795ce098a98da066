"""A shared crawl under attack: real workers, a real Redis, and a web server whose log is the judge."""

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

from tests.redis_server import RedisServer

NAME = "dengue"
BASE = f"{{topicrawl}}:{NAME}"


@dataclass
class Plan:
    """How large the web is, and what is done to the crawl."""

    pages: int
    hosts: int
    workers: int
    kills: int
    delay: float
    lease: float
    server_kills: int = 1
    cut: int = 40_000  # bytes from the end of the server's log
    room: int = 0  # bytes of memory that the server still has before it is full
    pause: float = 0.4  # seconds for which the server is full


@dataclass
class Attacked:
    """Runs workers and does them harm."""

    folder: Path
    redis: RedisServer
    port: int
    plan: Plan
    random: Random = field(default_factory=lambda: Random(20261116))
    workers: list[tuple[Path, subprocess.Popen[bytes]]] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)
    _requests: list[tuple[float, str, str]] = field(default_factory=list)
    _fetched: Counter[str] = field(default_factory=Counter)
    _read: int = 0  # bytes of the log

    @property
    def log(self) -> Path:
        return self.folder / "requests.log"

    def first(self) -> None:
        """The worker that starts the crawl."""
        plan = self.plan
        self._start(
            self.folder / NAME, "crawl", "dengue fever", "--out", str(self.folder / NAME), "--pages", "0",
            "--seed", f"http://127.0.1.1:{self.port}/p/0", "--delay", str(plan.delay), "--lease", str(plan.lease),
            "--allow-net", "127.0.0.0/8", "--min-free", "0", "--frontier", self.redis.address,
        )  # fmt: skip

    def worker(self, directory: Path | None = None) -> None:
        """One more; in the directory of one that was killed, or in a new one."""
        directory = directory or self.folder / f"worker-{next(self.numbers)}"
        self._start(directory, "worker", self.redis.address, NAME, "--out", str(directory))

    def _start(self, directory: Path, *words: str) -> None:
        command = [sys.executable, "-m", "topicrawl", *words]
        with (self.folder / "errors.log").open("ab") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        self.workers.append((directory, process))

    def requests(self) -> list[tuple[float, str, str]]:
        """All that the web server was asked for; what was read before is not read again."""
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

    def fetched(self) -> Counter[str]:
        self.requests()
        return self._fetched

    def wait_for(self, pages: int, seconds: float = 600.0) -> None:
        """Until so many different pages have been asked for."""
        until = time.monotonic() + seconds
        while len(self.fetched()) < pages and time.monotonic() < until:
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill a worker and put another in its place, in its directory or in a new one."""
        directory, process = self.workers.pop(self.random.randrange(len(self.workers)))
        process.kill()
        process.wait()
        self.worker(directory if self.random.random() < 0.5 else None)

    def freeze(self) -> None:
        """Stop a worker that has links out for longer than a lease, then let it go on: nobody believes it any more."""
        before = self.refused()
        process = self._stopped()
        time.sleep(1.5 * self.plan.lease)
        process.send_signal(signal.SIGCONT)
        self._until(lambda: self.refused() > before)

    def _stopped(self) -> subprocess.Popen[bytes]:
        """A worker that sleeps while it has links out."""
        while True:
            for directory, process in self.workers:
                process.send_signal(signal.SIGSTOP)
                if self._has_links_out(directory):
                    return process
                process.send_signal(signal.SIGCONT)
            time.sleep(0.02)

    def _has_links_out(self, directory: Path) -> bool:
        name = _worker_of(directory)
        leases = self.ask("--no-raw", "HVALS", f"{BASE}:leases").split()
        return bool(name) and any(lease.endswith(f'{name}"') for lease in leases)

    def refused(self) -> int:
        """Acknowledgements that came too late, as far as the server remembers."""
        return int(self.ask("HGET", f"{BASE}:c", "refused") or 0)

    def fill_server(self) -> int:
        """Let the server run full, and have space again after a pause. Returns requests at the end of the pause."""
        self.ask("CONFIG", "SET", "maxmemory", str(self._memory("used_memory") + self.plan.room))
        self._until(lambda: self._memory("used_memory") > self._memory("maxmemory"))
        time.sleep(self.plan.pause)
        end = time.time()
        self.ask("CONFIG", "SET", "maxmemory", "0")
        return sum(end - 1.0 < at < end for at, _, _ in self.requests())

    def _memory(self, name: str) -> int:
        said = dict(line.strip().partition(":")[::2] for line in self.ask("INFO", "memory").splitlines())
        return int(said[name])

    def _until(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, "it did not come to that"
            time.sleep(0.02)

    def kill_server(self, cut: int) -> None:
        """Kill the server, cut off the end of its log, and start it again."""
        self.redis.kill()
        log = self.redis.log
        os.truncate(log, max(0, log.stat().st_size - cut))
        self.redis.start()

    def ask(self, *words: str) -> str:
        """A command to the server."""
        command = ["redis-cli", "-p", str(self.redis.port), *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def ended(self, seconds: float = 600.0) -> list[int]:
        """How the workers ended."""
        return [process.wait(timeout=seconds) for _, process in self.workers]

    def close(self) -> None:
        for _, process in self.workers:
            process.kill()
            process.wait()

    def gaps(self) -> list[float]:
        """Seconds between requests to one host, the shortest first."""
        by_host: dict[str, list[float]] = {}
        for at, host, _ in self.requests():
            by_host.setdefault(host, []).append(at)
        return sorted(later - earlier for times in by_host.values() for earlier, later in pairwise(sorted(times)))

    def directories(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("*/topicrawl.sqlite"))

    def kept(self, *directories: Path) -> set[str]:
        """The pages that these directories, or else all workers together, have."""
        found: set[str] = set()
        for directory in directories or self.directories():
            found |= {str(url) for (url,) in _rows(directory, "pages", "SELECT url FROM pages")}
        return found

    def status(self) -> dict[str, object]:
        command = [sys.executable, "-m", "topicrawl", "cluster", "status", self.redis.address, NAME, "--json"]
        found: dict[str, object] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[0]
        return found


def _rows(directory: Path, table: str, sql: str) -> list[tuple[object, ...]]:
    """Rows of a worker's store; none when it was killed before it made the table."""
    database = sqlite3.connect(directory / "topicrawl.sqlite")
    try:
        is_there = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        return database.execute(sql).fetchall() if is_there else []
    finally:
        database.close()


def _worker_of(directory: Path) -> str:
    """The name under which a worker leases links; "" before it has joined."""
    if not (directory / "topicrawl.sqlite").exists():
        return ""
    try:
        found = _rows(directory, "facts", "SELECT value FROM facts WHERE name = 'worker'")
    except sqlite3.OperationalError:
        # It was stopped in the middle of making the file, and lets nobody read it until it goes on.
        return ""
    return str(json.loads(str(found[0][0]))) if found else ""
