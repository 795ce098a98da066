"""Background jobs: run `topicrawl` commands in subprocesses, one after the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import NamedTuple

from topicrawl.errors import CollectionError

_TIMEOUT_SECONDS = 3600  # time limit of one command
_MAX_MESSAGE_CHARS = 500  # characters of an error message


class CommandResult(NamedTuple):
    """Result of a command, with the last line of its output."""

    name: str
    said: str
    failed: bool


@dataclass
class CommandJob:
    """A sequence of named commands and their results so far."""

    commands: Mapping[str, Sequence[str]]
    results: list[CommandResult] = field(default_factory=list)
    is_running: bool = True
    process: subprocess.Popen[str] | None = None
    thread: Thread | None = None


@dataclass
class JobRunner:
    """Run jobs in background threads, at most one of each name at a time."""

    _jobs: dict[str, CommandJob] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def start(self, name: str, commands: Mapping[str, Sequence[str]]) -> None:
        """Start a job that runs `topicrawl` commands; raise `CollectionError` if the job is already running."""
        with self._lock:
            if self.is_running(name):
                raise CollectionError("this job is already running")
            job = self._jobs[name] = CommandJob(commands)
            job.thread = Thread(target=_run_commands, args=(job,), daemon=True)
            job.thread.start()

    def is_running(self, name: str) -> bool:
        """Whether a job is running."""
        return name in self._jobs and self._jobs[name].is_running

    def describe_progress(self, name: str) -> str:
        """Return the name of the running command of a job and its position, or "" if the job is not running."""
        job = self._jobs.get(name)
        if job is None or not job.is_running:
            return ""
        current = list(job.commands)[min(len(job.results), len(job.commands) - 1)]
        count = f", {len(job.results) + 1} of {len(job.commands)}" if len(job.commands) > 1 else ""
        return current + count

    def get_results(self, name: str) -> list[CommandResult]:
        """Return the results of the finished commands of a job."""
        job = self._jobs.get(name)
        return list(job.results) if job is not None else []

    def wait(self) -> None:
        """Wait until all jobs have finished."""
        for job in self._jobs.values():
            if job.thread is not None:
                job.thread.join()

    def close(self) -> None:
        """Terminate the running commands; the user can start the jobs again."""
        for job in self._jobs.values():
            if job.process is not None and job.process.poll() is None:
                job.process.terminate()
                job.process.wait()


def _run_commands(job: CommandJob) -> None:
    try:
        for name, command in job.commands.items():
            job.process = subprocess.Popen(
                [sys.executable, "-m", "topicrawl", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                _, output = job.process.communicate(timeout=_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                job.process.kill()
                output = job.process.communicate()[1] + f"\nthe command did not finish within {_TIMEOUT_SECONDS} s"
            job.results.append(CommandResult(name, get_last_line(output), job.process.returncode != 0))
    finally:
        job.is_running = False


def get_last_line(output: str) -> str:
    """Return the last non-empty line of the output of a command, without the program name; "" if there is none.

    >>> get_last_line("12 pages read\\rtopicrawl: there are none: make some\\n")
    'there are none: make some'
    """
    lines = [line.strip() for line in output.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1].removeprefix("topicrawl: ")[:_MAX_MESSAGE_CHARS] if lines else ""
