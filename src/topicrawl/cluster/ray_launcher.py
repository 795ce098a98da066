"""Launch workers on a Ray cluster. Ray selects the machines, and the launcher restarts workers that die.

A Ray task runs one `topicrawl worker` in its own process. The state of the crawl is in Redis and the fetched pages are
in the directories of the workers, so the death of Ray, of this launcher or of a machine loses no data. Ray displays
and stores the commands it runs, so passwords do not pass through it: they are configured on the machines.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from topicrawl.errors import ClusterError, SettingError
from topicrawl.frontier.redis.address import has_password

_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # seconds before a worker is restarted; the last one repeats
_MIN_HEALTHY_SECONDS = 60.0  # a worker that dies earlier counts as a repeated failure
_MAX_FAILURES = 10  # consecutive early deaths after which the launcher gives up
_FINISHED_CODES = (0, 130)  # finished, or interrupted by the user
_FATAL_CODES = (2, 6)  # usage error, or a wiped crawl: a restart would fail again
_POLL_SECONDS = 0.5  # seconds between two checks
_DRAIN_SECONDS = 60.0  # seconds for workers to finish the fetches in flight
# The kernel terminates the worker when the Ray process dies, so that no orphan remains (Linux: PR_SET_PDEATHSIG).
_WORKER_SCRIPT = f"""
import ctypes, os, sys
getattr(ctypes.CDLL(None), "prctl", print)(1, {int(signal.SIGTERM)})
os.execv(sys.executable, [sys.executable, "-m", "topicrawl", *sys.argv[1:]])
"""


class WorkerExit(NamedTuple):
    """Exit of a worker."""

    code: int
    last_line: str  # last line of its stderr
    machine: str


class LaunchEvent(NamedTuple):
    """Event of a worker for the user."""

    number: int
    message: str
    code: int | None = None  # exit code; None: the worker is running


@dataclass
class _WorkerSlot:
    """Slot for one worker."""

    number: int
    task: Any = None
    started_at: float = 0.0
    start_at: float = 0.0  # time of the next start if the worker is not running
    failures: int = 0
    is_finished: bool = False


@dataclass(frozen=True)
class LaunchConfig:
    """Configuration of a launch: number of workers of the crawl `name`, and Ray CPUs per worker."""

    address: str
    name: str
    workers: int
    cpus: float = 1.0
    folder: str = "."  # working directory on each machine
    options: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if has_password(self.address):
            raise SettingError(
                "Ray displays the commands it runs, so the address must not contain a password: put it into "
                "REDISCLI_AUTH, or into the file that TOPICRAWL_REDIS_PASSWORD_FILE names, on every machine"
            )


def run_worker(command: list[str], folder: str) -> WorkerExit:
    """Run one worker until it ends, and return its exit code and last line. A cancellation by Ray terminates it.

    Ray calls this function in its own process on the machine that it selected.
    """
    from ray.util import get_node_ip_address

    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen([sys.executable, "-c", _WORKER_SCRIPT, *command], cwd=folder, stderr=stderr)
        try:
            _wait_for_exit(process)
        except KeyboardInterrupt:  # Ray cancels a task this way
            process.terminate()
            _wait_for_exit(process)
        stderr.seek(0)
        last = stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return WorkerExit(process.returncode, last[-500:], get_node_ip_address())


def _wait_for_exit(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process in short intervals, because Ray cannot cancel a task inside a blocking system call."""
    while True:
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return


@contextmanager
def connect_ray(cluster: str) -> Iterator[Any]:
    """Connect to a Ray cluster for the duration of the block. "local" starts one on this machine."""
    try:
        import ray
    except ImportError as error:
        raise SettingError("workers on a Ray cluster need Ray: pip install 'topicrawl[cluster,ray]'") from error
    options = {"include_dashboard": False} if cluster == "local" else {}
    try:
        ray.init(address=cluster, logging_level="error", log_to_driver=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        line = str(error).partition("\n")[0]
        raise SettingError(
            f"no Ray cluster at {cluster!r} ({line}): run `ray start --head`, or specify another address"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def launch_workers(ray: Any, config: LaunchConfig, is_over: Callable[[], bool]) -> Iterator[LaunchEvent]:
    """Run workers until all have finished or `is_over` returns True. Yield an event for each start and exit.

    Workers that die are restarted. At the end, the rest finish their fetches. Raise ClusterError on a permanent
    failure.
    """
    command = ["worker", config.address, config.name, *config.options]
    remote = ray.remote(run_worker).options(
        num_cpus=config.cpus, max_retries=0, scheduling_strategy="SPREAD", name=f"topicrawl {config.name}"
    )
    slots = [_WorkerSlot(number) for number in range(1, config.workers + 1)]
    try:
        while any(not slot.is_finished for slot in slots) and not is_over():
            for slot in slots:
                if slot.task is None and not slot.is_finished and time.monotonic() >= slot.start_at:
                    slot.task, slot.started_at = remote.remote(command, config.folder), time.monotonic()
                    yield LaunchEvent(slot.number, "started")
            running = [slot.task for slot in slots if slot.task is not None]
            finished, _ = ray.wait(running, timeout=_POLL_SECONDS) if running else ([], [])
            if not running:
                time.sleep(_POLL_SECONDS)
            for slot in slots:
                if slot.task in finished:
                    yield _handle_exit(slot, _get_exit(ray, slot.task))
    finally:
        _cancel_tasks(ray, [slot.task for slot in slots if slot.task is not None])


def _get_exit(ray: Any, task: Any) -> WorkerExit:
    """Return the exit of a finished task. Its code is -1 if Ray lost the task."""
    try:
        result: WorkerExit = ray.get(task)
    except ray.exceptions.RayError as error:
        # The machine died or ran out of memory, or Topicrawl is not installed there.
        return WorkerExit(-1, str(error).strip().rpartition("\n")[2][-500:], "")
    return result


def _handle_exit(slot: _WorkerSlot, exit_: WorkerExit) -> LaunchEvent:
    """Handle the exit of a worker: finish its slot or schedule a restart. Raise ClusterError on a permanent failure."""
    slot.task = None
    detail = f" ({exit_.last_line})" if exit_.last_line else ""
    if exit_.code in _FATAL_CODES:
        raise ClusterError(f"worker {slot.number} on {exit_.machine} failed: {exit_.last_line}")
    if exit_.code in _FINISHED_CODES:
        slot.is_finished = True
        return LaunchEvent(slot.number, f"finished on {exit_.machine}{detail}", exit_.code)
    slot.failures = slot.failures + 1 if time.monotonic() - slot.started_at < _MIN_HEALTHY_SECONDS else 1
    if slot.failures >= _MAX_FAILURES:
        raise ClusterError(f"worker {slot.number} died {_MAX_FAILURES} times shortly after its start{detail}")
    wait = _PAUSES[min(slot.failures, len(_PAUSES)) - 1]
    slot.start_at = time.monotonic() + wait
    return LaunchEvent(slot.number, f"died with {exit_.code}{detail}; restarts in {wait:g} s", exit_.code)


def _cancel_tasks(ray: Any, tasks: list[Any]) -> None:
    """Cancel tasks and wait at most `_DRAIN_SECONDS` until their workers have ended."""
    for task in tasks:
        ray.cancel(task, force=False)
    if tasks:
        ray.wait(tasks, num_returns=len(tasks), timeout=_DRAIN_SECONDS)
