"""The machine: room, limits, memory, clock, names, and a file system that keeps what it is given."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import topicrawl
from topicrawl.doctor.finding import Area, Finding
from topicrawl.settings import Settings

AREA = Area("machine")

#: Resolved when the name server is tried: reserved for such uses, and nobody's.
A_NAME = "example.org"
_ROOM = 1 << 30
_MEMORY = 512 << 20
_SEGMENT = 1 << 30  # bytes of an archive's file
_PATIENCE = 3.0  # seconds for a name server
_FILES_A_FETCH = 2
_OTHER_FILES = 64
_REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse.sshfs", "vboxsf")
_PASSING = ("tmpfs", "ramfs")
#: A machine whose clock is behind the package itself is wrong by more than an hour's change.
_A_DAY = 86_400.0


def machine(place: Path, settings: Settings, *, offline: bool = False) -> Iterator[Finding]:
    """What a crawl into a place with these settings would meet."""
    yield from room(shutil.disk_usage(place).free, settings.min_free << 20)
    yield from file_system(place)
    yield from limits(resource.getrlimit(resource.RLIMIT_NOFILE)[0], settings.concurrency)
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if largest != resource.RLIM_INFINITY and largest < _SEGMENT:
        yield AREA.warning("file size", f"files may be {largest >> 20} MB at the most", "ulimit -f unlimited")
    yield from memory(available(), os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count())
    yield from clock(time.time(), Path(topicrawl.__file__).stat().st_mtime)
    yield from loopback()
    if not offline:
        yield from names()


def room(free: int, least: int) -> Iterator[Finding]:
    """Space on the disk; a crawl stops by itself where little is left."""
    told = f"{free / 1e9:.1f} GB free"
    if free < least:
        yield AREA.problem("disk", f"{told}, a crawl stops below {least >> 20} MB", "make space, or set --min-free")
    elif free < _ROOM:
        yield AREA.warning("disk", f"{told}: 10,000 pages take about 200 MB", "make space")
    else:
        yield AREA.ok("disk", told)


def file_system(place: Path) -> Iterator[Finding]:
    """Whether files can be written, locked and made to last; tried on one without a name, which leaves nothing."""
    kind = mounted(place)
    if kind.startswith(_REMOTE):
        says = f"{place} is on another machine ({kind}): locks and databases may fail there"
        yield AREA.warning("file system", says, "crawl into a local disk, copy the directory afterwards")
    elif kind in _PASSING:
        says = f"{place} is in memory ({kind}): what is there is gone after a restart"
        yield AREA.warning("file system", says, "crawl into a disk")
    if not os.access(place, os.W_OK | os.X_OK):
        yield AREA.problem(
            "write", f"{place} may not be written to", "crawl elsewhere (--out), or mend its permissions"
        )
        return
    try:
        file = os.open(place, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENOSPC, errno.EDQUOT):
            yield AREA.problem("write", f"{place}: {error.strerror}", "mend that, or crawl elsewhere (--out)")
        else:
            yield AREA.note("write", f"{place} allows writing; locks were not tried ({kind} has no nameless files)")
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(file, b"topicrawl")
        os.fsync(file)
        yield AREA.ok("write", f"{place} can be written, locked and synced{f' ({kind})' if kind else ''}")
    except OSError as error:
        says = f"{place} cannot lock or sync: {error.strerror}"
        yield AREA.problem("write", says, "crawl into another file system (--out)")
    finally:
        os.close(file)


def mounted(place: Path, table: Path = Path("/proc/self/mountinfo")) -> str:
    """The kind of file system that a place is on; "" where nobody tells."""
    try:
        rows = [line.split() for line in table.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    where, found, longest = str(place.resolve()), "", -1
    for row in rows:
        point = row[4].replace("\\040", " ")
        if (where == point or where.startswith(point.rstrip("/") + "/")) and len(point) >= longest:
            found, longest = row[row.index("-") + 1], len(point)
    return found


def limits(files: int, concurrency: int) -> Iterator[Finding]:
    """Whether a process may have as many files and connections open as a crawl needs."""
    needed = _FILES_A_FETCH * concurrency + _OTHER_FILES
    if files != resource.RLIM_INFINITY and files < needed:
        says = f"{files} at the most, {concurrency} fetches at once may need {needed}"
        yield AREA.warning("open files", says, "ulimit -n 4096, or a smaller --concurrency")
    else:
        yield AREA.ok("open files", "no limit" if files == resource.RLIM_INFINITY else f"up to {files}")


def available(root: Path = Path("/")) -> int | None:
    """Bytes of memory that a new process may have; None where nobody tells."""
    found = []
    try:
        for line in (root / "proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
        limit = root / "sys/fs/cgroup/memory.max"
        if limit.exists() and (text := limit.read_text("ascii").strip()).isdecimal():
            found.append(int(text) - int((root / "sys/fs/cgroup/memory.current").read_text("ascii")))
    except (OSError, ValueError, LookupError):
        return min(found, default=None)
    return min(found, default=None)


def memory(free: int | None, processors: int | None) -> Iterator[Finding]:
    """A crawl takes some 200 MB, and 150 bytes for every link it knows."""
    if free is None:
        yield AREA.note("memory", "this system does not tell how much is free")
    elif free < _MEMORY:
        says = f"{free >> 20} MB free: a crawl of a million links takes about 400 MB"
        yield AREA.warning("memory", says, "end other programs, or crawl elsewhere")
    else:
        yield AREA.ok("memory", f"{free / 1e9:.1f} GB free, {processors or 'unknown'} processors")


def clock(now: float, packed: float) -> Iterator[Finding]:
    """A clock that is far behind makes certificates and the times of pages wrong."""
    told = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    if now < packed - _A_DAY:
        yield AREA.problem("clock", f"{told} is before this program was made", "set the clock (timedatectl)")
    else:
        yield AREA.ok("clock", told)


def loopback() -> Iterator[Finding]:
    """A connection from this machine to itself, by its address and by its name."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()[:2], timeout=_PATIENCE).close()
        addresses = {str(row[4][0]) for row in socket.getaddrinfo("localhost", None)}
    except OSError as error:
        says = f"this machine cannot reach itself: {error.strerror or error}"
        yield AREA.warning("loopback", says, "bring up the interface lo, name localhost in /etc/hosts")
        return
    if not addresses & {"127.0.0.1", "::1"}:
        yield AREA.warning("loopback", f"localhost is {', '.join(sorted(addresses))}", "mend it in /etc/hosts")
    else:
        yield AREA.ok("loopback", "this machine reaches itself, also by the name localhost")


def names(resolve: Callable[[str], object] | None = None, seconds: float = _PATIENCE) -> Iterator[Finding]:
    """Whether names of the public internet are resolved."""
    asked = resolve or (lambda name: socket.getaddrinfo(name, 443))
    reasons: list[str] = []

    def ask() -> None:
        try:
            asked(A_NAME)
            reasons.append("")
        except OSError as error:
            reasons.append(error.strerror or str(error))

    # A resolver may wait for half a minute, and cannot be told to hurry.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    reason = reasons[0] if reasons else f"no answer within {seconds:g} s"
    if reason:
        fix = "look at /etc/resolv.conf; behind a proxy: --proxy URL; without a network: doctor --offline"
        yield AREA.warning("names", f"{A_NAME} is not resolved: {reason}", fix)
    else:
        yield AREA.ok("names", "names of the internet are resolved")
