"""Longer work than a page may take: commands in processes of their own, one after the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import NamedTuple

from topicrawl.errors import CollectionError

_SECONDS = 3600  # for one command
_LONGEST = 500  # characters of what it said


class Outcome(NamedTuple):
    """How a command ended, and the last line that it said."""

    name: str
    said: str
    failed: bool


@dataclass
class Job:
    """A row of commands by their names."""

    commands: Mapping[str, Sequence[str]]
    outcomes: list[Outcome] = field(default_factory=list)
    running: bool = True
    process: subprocess.Popen[str] | None = None
    thread: Thread | None = None


@dataclass
class Jobs:
    """What was started, by name."""

    _jobs: dict[str, Job] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def run(self, name: str, commands: Mapping[str, Sequence[str]]) -> None:
        """Start `topicrawl` commands; one row of a name at a time."""
        with self._lock:
            if self.running(name):
                raise CollectionError("that is being done already")
            job = self._jobs[name] = Job(commands)
            job.thread = Thread(target=_work, args=(job,), daemon=True)
            job.thread.start()

    def running(self, name: str) -> bool:
        return name in self._jobs and self._jobs[name].running

    def now(self, name: str) -> str:
        """What is being done, and how far it is; "": nothing."""
        job = self._jobs.get(name)
        if job is None or not job.running:
            return ""
        under_way = list(job.commands)[min(len(job.outcomes), len(job.commands) - 1)]
        count = f", {len(job.outcomes) + 1} of {len(job.commands)}" if len(job.commands) > 1 else ""
        return under_way + count

    def outcomes(self, name: str) -> list[Outcome]:
        """How the commands ended that are done."""
        job = self._jobs.get(name)
        return list(job.outcomes) if job is not None else []

    def wait(self) -> None:
        """Until all that was started is done."""
        for job in self._jobs.values():
            if job.thread is not None:
                job.thread.join()

    def close(self) -> None:
        """End what is running: it can be done again."""
        for job in self._jobs.values():
            if job.process is not None and job.process.poll() is None:
                job.process.terminate()
                job.process.wait()


def _work(job: Job) -> None:
    try:
        for name, command in job.commands.items():
            job.process = subprocess.Popen(
                [sys.executable, "-m", "topicrawl", *command],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            try:
                _, said = job.process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                job.process.kill()
                said = job.process.communicate()[1] + "\nit took too long"
            job.outcomes.append(Outcome(name, last_line(said), job.process.returncode != 0))
    finally:
        job.running = False


def last_line(said: str) -> str:
    """What a command said in the end, without its name.

    >>> last_line("12 pages read\\rtopicrawl: there are none: make some\\n")
    'there are none: make some'
    """
    lines = [line.strip() for line in said.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1].removeprefix("topicrawl: ")[:_LONGEST] if lines else ""
