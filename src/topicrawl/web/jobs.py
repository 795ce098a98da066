"""Longer work than a page may take: commands in processes of their own, one after the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread

from topicrawl.errors import CollectionError

_SECONDS = 3600  # for one command
_WORDS = 2000  # characters of what it said


@dataclass
class Job:
    """A row of commands."""

    commands: Sequence[Sequence[str]]
    done: int = 0
    said: str = ""
    running: bool = True
    process: subprocess.Popen[str] | None = None
    thread: Thread | None = None


@dataclass
class Jobs:
    """What was started, by name."""

    _jobs: dict[str, Job] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def run(self, name: str, commands: Sequence[Sequence[str]]) -> None:
        """Start `topicrawl` commands; one row of a name at a time."""
        with self._lock:
            if self.running(name):
                raise CollectionError("that is being done already")
            job = self._jobs[name] = Job(commands)
            job.thread = Thread(target=_work, args=(job,), daemon=True)
            job.thread.start()

    def running(self, name: str) -> bool:
        return name in self._jobs and self._jobs[name].running

    def words(self, name: str) -> str:
        """What the commands said, or how far they are."""
        job = self._jobs.get(name)
        if job is None:
            return ""
        return f"{job.done} of {len(job.commands)} done" if job.running else job.said

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
        for command in job.commands:
            job.process = subprocess.Popen(
                [sys.executable, "-m", "topicrawl", *command],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            try:
                _, said = job.process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                job.process.kill()
                said = job.process.communicate()[1] + "\nit took too long"
            job.said = f"{job.said}\n{said.strip()}".strip()[-_WORDS:]
            job.done += 1
    finally:
        job.running = False
