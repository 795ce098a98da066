"""Checks of the machine: disk space, file system, process limits, memory, clock, network."""

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
from topicrawl.doctor.finding import CheckArea, Finding
from topicrawl.settings import Settings

AREA = CheckArea("machine")

#: Host name that the check of the name server resolves; reserved for examples (RFC 2606).
PROBE_HOST = "example.org"
_MIN_FREE_DISK = 1 << 30  # bytes
_MIN_FREE_MEMORY = 512 << 20  # bytes
_SEGMENT_BYTES = 1 << 30  # bytes; size of a file of the archive
_NETWORK_TIMEOUT = 3.0  # seconds
_FILES_PER_FETCH = 2
_OTHER_FILES = 64
_NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "fuse.sshfs", "vboxsf")
_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")
#: Tolerance in seconds for a clock that is behind the modification time of the package.
_SECONDS_PER_DAY = 86_400.0


def check_machine(place: Path, settings: Settings, *, offline: bool = False) -> Iterator[Finding]:
    """Run all checks of the machine for a crawl into the directory `place` with these settings."""
    yield from check_disk_space(shutil.disk_usage(place).free, settings.min_free << 20)
    yield from check_file_system(place)
    yield from check_open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0], settings.concurrency)
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if largest != resource.RLIM_INFINITY and largest < _SEGMENT_BYTES:
        yield AREA.warning("file size", f"files are limited to {largest >> 20} MB", "ulimit -f unlimited")
    yield from check_memory(
        get_available_memory(), os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    )
    yield from check_clock(time.time(), Path(topicrawl.__file__).stat().st_mtime)
    yield from check_loopback()
    if not offline:
        yield from check_name_resolution()


def check_disk_space(free: int, least: int) -> Iterator[Finding]:
    """Check the free disk space, in bytes. A crawl stops when less than `least` bytes are free."""
    says = f"{free / 1e9:.1f} GB free"
    if free < least:
        yield AREA.problem(
            "disk", f"{says}; a crawl stops below {least >> 20} MB", "free disk space, or set --min-free"
        )
    elif free < _MIN_FREE_DISK:
        yield AREA.warning("disk", f"{says}: 10,000 pages take about 200 MB", "free disk space")
    else:
        yield AREA.ok("disk", says)


def check_file_system(place: Path) -> Iterator[Finding]:
    """Check that files can be written, locked and synced, with an unnamed temporary file that leaves no trace."""
    kind = get_file_system_type(place)
    if kind.startswith(_NETWORK_FILE_SYSTEMS):
        says = f"{place} is on a network file system ({kind}): locks and databases may fail"
        yield AREA.warning("file system", says, "crawl to a local disk and copy the directory afterwards")
    elif kind in _MEMORY_FILE_SYSTEMS:
        says = f"{place} is in memory ({kind}): a restart deletes all files"
        yield AREA.warning("file system", says, "crawl to a disk")
    if not os.access(place, os.W_OK | os.X_OK):
        fix = "change the permissions, or crawl to another directory (--out)"
        yield AREA.problem("write", f"{place} is not writable", fix)
        return
    try:
        file = os.open(place, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENOSPC, errno.EDQUOT):
            yield AREA.problem("write", f"{place}: {error.strerror}", "fix it, or crawl to another directory (--out)")
        else:
            yield AREA.note("write", f"{place} is writable; locks were not tested ({kind} has no unnamed files)")
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(file, b"topicrawl")
        os.fsync(file)
        yield AREA.ok("write", f"{place} can be written, locked and synced{f' ({kind})' if kind else ''}")
    except OSError as error:
        says = f"{place} cannot lock or sync: {error.strerror}"
        yield AREA.problem("write", says, "crawl to another file system (--out)")
    finally:
        os.close(file)


def get_file_system_type(place: Path, table: Path = Path("/proc/self/mountinfo")) -> str:
    """Return the type of the file system of a directory, or "" if the mount table cannot be read."""
    try:
        rows = [line.split() for line in table.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    path, kind, longest = str(place.resolve()), "", -1
    for row in rows:
        mount_point = row[4].replace("\\040", " ")
        is_parent = path == mount_point or path.startswith(mount_point.rstrip("/") + "/")
        if is_parent and len(mount_point) >= longest:
            kind, longest = row[row.index("-") + 1], len(mount_point)
    return kind


def check_open_files(files: int, concurrency: int) -> Iterator[Finding]:
    """Check whether the limit of open files is high enough for the concurrent fetches of a crawl."""
    needed = _FILES_PER_FETCH * concurrency + _OTHER_FILES
    if files != resource.RLIM_INFINITY and files < needed:
        says = f"limited to {files}; {concurrency} concurrent fetches may need {needed}"
        yield AREA.warning("open files", says, "ulimit -n 4096, or lower --concurrency")
    else:
        yield AREA.ok("open files", "no limit" if files == resource.RLIM_INFINITY else f"up to {files}")


def get_available_memory(root: Path = Path("/")) -> int | None:
    """Return the available memory in bytes, by /proc and the cgroup, or None if neither reports it."""
    limits_in_bytes = []
    try:
        for line in (root / "proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                limits_in_bytes.append(int(line.split()[1]) * 1024)
        limit = root / "sys/fs/cgroup/memory.max"
        if limit.exists() and (text := limit.read_text("ascii").strip()).isdecimal():
            used = int((root / "sys/fs/cgroup/memory.current").read_text("ascii"))
            limits_in_bytes.append(int(text) - used)
    except (OSError, ValueError, LookupError):
        return min(limits_in_bytes, default=None)
    return min(limits_in_bytes, default=None)


def check_memory(free: int | None, processors: int | None) -> Iterator[Finding]:
    """Check the available memory. A crawl needs about 200 MB, plus 150 bytes for every known link."""
    if free is None:
        yield AREA.note("memory", "this system does not report the free memory")
    elif free < _MIN_FREE_MEMORY:
        says = f"{free >> 20} MB free: a crawl of a million links takes about 400 MB"
        yield AREA.warning("memory", says, "stop other programs, or crawl on another machine")
    else:
        yield AREA.ok("memory", f"{free / 1e9:.1f} GB free, {processors or 'unknown'} processors")


def check_clock(now: float, packed: float) -> Iterator[Finding]:
    """Check the clock against the modification time of the package; certificates and page times depend on it."""
    says = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    if now < packed - _SECONDS_PER_DAY:
        yield AREA.problem("clock", f"{says} is before the release of this version", "set the clock (timedatectl)")
    else:
        yield AREA.ok("clock", says)


def check_loopback() -> Iterator[Finding]:
    """Check that the machine can connect to itself by address and resolves the name localhost."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()[:2], timeout=_NETWORK_TIMEOUT).close()
        addresses = {str(row[4][0]) for row in socket.getaddrinfo("localhost", None)}
    except OSError as error:
        says = f"this machine cannot connect to itself: {error.strerror or error}"
        yield AREA.warning("loopback", says, "enable the interface lo, and add localhost to /etc/hosts")
        return
    if not addresses & {"127.0.0.1", "::1"}:
        says = f"localhost resolves to {', '.join(sorted(addresses))}"
        yield AREA.warning("loopback", says, "correct it in /etc/hosts")
    else:
        yield AREA.ok("loopback", "this machine can connect to itself and resolves localhost")


def check_name_resolution(
    resolve: Callable[[str], object] | None = None, seconds: float = _NETWORK_TIMEOUT
) -> Iterator[Finding]:
    """Check that public host names can be resolved within some seconds."""
    resolver = resolve or (lambda name: socket.getaddrinfo(name, 443))
    errors: list[str] = []

    def resolve_probe() -> None:
        try:
            resolver(PROBE_HOST)
            errors.append("")
        except OSError as error:
            errors.append(error.strerror or str(error))

    # In a thread, because getaddrinfo may block for half a minute and has no timeout.
    thread = threading.Thread(target=resolve_probe, daemon=True)
    thread.start()
    thread.join(seconds)
    reason = errors[0] if errors else f"no answer within {seconds:g} s"
    if reason:
        fix = "check /etc/resolv.conf; behind a proxy: --proxy URL; without a network: doctor --offline"
        yield AREA.warning("names", f"{PROBE_HOST} cannot be resolved: {reason}", fix)
    else:
        yield AREA.ok("names", "public host names can be resolved")
