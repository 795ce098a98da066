"""Workers on a Ray cluster: Ray chooses the machines, and workers that die are started again. Nothing is kept there.

A task of Ray is one `topicrawl worker` in a process of its own. All that a crawl knows is in Redis, and all that it has
fetched is in the workers' directories; when Ray, this launcher or a machine dies, nothing is lost but time. Ray shows
and stores what it is told to run, so passwords do not go through it: they are on the machines.
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
from topicrawl.frontier.redis_address import has_password

_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # seconds before a worker is started again, the last again and again
_SOUND = 60.0  # seconds after which a worker has not died at once
_IN_VAIN = 10  # deaths at once, one after the other, after which it is not tried again
_DONE = (0, 130)  # it has finished, or somebody has ended it
_WRONG = (2, 6)  # wrong use, or a crawl that is gone: the same would come of it again
_LOOK = 0.5  # seconds between two looks
_DRAIN = 60.0  # seconds that workers have to finish what is in flight
# Whatever becomes of Ray's process, the worker must not stay behind without anybody who knows of it (Linux).
_START = f"""
import ctypes, os, sys
getattr(ctypes.CDLL(None), "prctl", print)(1, {int(signal.SIGTERM)})
os.execv(sys.executable, [sys.executable, "-m", "topicrawl", *sys.argv[1:]])
"""


class Outcome(NamedTuple):
    """How a worker ended."""

    code: int
    words: str  # its last ones
    machine: str


class News(NamedTuple):
    """What has become of a worker."""

    number: int
    what: str
    code: int | None = None  # None: it goes on


@dataclass
class _Slot:
    """A place for one worker."""

    number: int
    task: Any = None
    since: float = 0.0
    due: float = 0.0  # when it is to be started, if it is not running
    in_vain: int = 0
    over: bool = False


@dataclass(frozen=True)
class Launch:
    """What is to run: so many workers of the crawl `name`, each with so many of Ray's processors."""

    address: str
    name: str
    workers: int
    cpus: float = 1.0
    folder: str = "."  # on each machine
    options: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if has_password(self.address):
            raise SettingError(
                "Ray shows what it runs, so leave the password out of the address: put it into REDISCLI_AUTH, or into "
                "the file that TOPICRAWL_REDIS_PASSWORD_FILE names, on every machine"
            )


def work(command: list[str], folder: str) -> Outcome:
    """One worker, until it ends. This runs in a process of Ray, on the machine that Ray has chosen."""
    from ray.util import get_node_ip_address

    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen([sys.executable, "-c", _START, *command], cwd=folder, stderr=words)
        try:
            _ended(process)
        except KeyboardInterrupt:  # so Ray calls a task off
            process.terminate()
            _ended(process)
        words.seek(0)
        last = words.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return Outcome(process.returncode, last[-500:], get_node_ip_address())


def _ended(process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            process.wait(_LOOK)  # in parts: nothing can call off a task that waits inside of the system
        except subprocess.TimeoutExpired:
            continue
        return


@contextmanager
def on_ray(cluster: str) -> Iterator[Any]:
    """Ray, connected to a cluster for as long as the block lasts; "local" is one of its own on this machine."""
    try:
        import ray
    except ImportError as error:
        raise SettingError("workers on a Ray cluster need Ray: pip install 'topicrawl[cluster,ray]'") from error
    options = {"include_dashboard": False} if cluster == "local" else {}
    try:
        ray.init(address=cluster, logging_level="error", log_to_driver=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        line = str(error).partition("\n")[0]
        raise SettingError(f"no Ray cluster at {cluster!r} ({line}): `ray start --head`, or name one") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def launched(ray: Any, launch: Launch, is_over: Callable[[], bool]) -> Iterator[News]:
    """Keep workers going until all have finished, or until it is over: then they finish what is in flight."""
    command = ["worker", launch.address, launch.name, *launch.options]
    remote = ray.remote(work).options(
        num_cpus=launch.cpus, max_retries=0, scheduling_strategy="SPREAD", name=f"topicrawl {launch.name}"
    )
    slots = [_Slot(number) for number in range(1, launch.workers + 1)]
    try:
        while any(not slot.over for slot in slots) and not is_over():
            for slot in slots:
                if slot.task is None and not slot.over and time.monotonic() >= slot.due:
                    slot.task, slot.since = remote.remote(command, launch.folder), time.monotonic()
                    yield News(slot.number, "started")
            running = [slot.task for slot in slots if slot.task is not None]
            ended, _ = ray.wait(running, timeout=_LOOK) if running else ([], [])
            if not running:
                time.sleep(_LOOK)
            for slot in slots:
                if slot.task in ended:
                    yield _next(slot, _outcome(ray, slot.task))
    finally:
        _called_off(ray, [slot.task for slot in slots if slot.task is not None])


def _outcome(ray: Any, task: Any) -> Outcome:
    try:
        found: Outcome = ray.get(task)
    except ray.exceptions.RayError as error:
        # The machine is gone, or its memory was, or Topicrawl is not installed there.
        return Outcome(-1, str(error).strip().rpartition("\n")[2][-500:], "")
    return found


def _next(slot: _Slot, outcome: Outcome) -> News:
    """What follows from the end of a worker."""
    slot.task = None
    said = f" ({outcome.words})" if outcome.words else ""
    if outcome.code in _WRONG:
        raise ClusterError(f"worker {slot.number} on {outcome.machine} cannot work: {outcome.words}")
    if outcome.code in _DONE:
        slot.over = True
        return News(slot.number, f"finished on {outcome.machine}{said}", outcome.code)
    slot.in_vain = slot.in_vain + 1 if time.monotonic() - slot.since < _SOUND else 1
    if slot.in_vain >= _IN_VAIN:
        raise ClusterError(f"worker {slot.number} has died {_IN_VAIN} times, each time at once{said}")
    wait = _PAUSES[min(slot.in_vain, len(_PAUSES)) - 1]
    slot.due = time.monotonic() + wait
    return News(slot.number, f"died with {outcome.code}{said}; starts again in {wait:g} s", outcome.code)


def _called_off(ray: Any, tasks: list[Any]) -> None:
    for task in tasks:
        ray.cancel(task, force=False)
    if tasks:
        ray.wait(tasks, num_returns=len(tasks), timeout=_DRAIN)
