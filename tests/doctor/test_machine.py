"""Checks of the machine: disk, limits, memory, clock, names and file system."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from resource import RLIM_INFINITY

import pytest

from topicrawl.doctor import machine
from topicrawl.doctor.finding import Finding, FindingState
from topicrawl.settings import Settings

OK, NOTE, WARNING, PROBLEM = FindingState.OK, FindingState.NOTE, FindingState.WARNING, FindingState.PROBLEM
MB = 1 << 20


@pytest.mark.parametrize(
    ("findings", "state", "text"),
    [
        (machine.check_disk_space(50 * MB, 100 * MB), PROBLEM, "stops below 100 MB"),
        (machine.check_disk_space(500 * MB, 100 * MB), WARNING, "0.5 GB free"),
        (machine.check_disk_space(5000 * MB, 100 * MB), OK, "5.2 GB free"),
        (machine.check_open_files(128, 64), WARNING, "may need 192"),
        (machine.check_open_files(4096, 64), OK, "up to 4096"),
        (machine.check_open_files(RLIM_INFINITY, 64), OK, "no limit"),
        (machine.check_memory(100 * MB, 2), WARNING, "100 MB free"),
        (machine.check_memory(4000 * MB, 2), OK, "4.2 GB free, 2 processors"),
        (machine.check_memory(None, None), NOTE, "does not report"),
        (machine.check_clock(0.0, 1.7e9), PROBLEM, "1970-01-01 00:00 UTC is before"),
        (machine.check_clock(1.7e9, 1.7e9 + 3600), OK, "2023-11-14 22:13 UTC"),
    ],
)
def test_each_limit_is_compared_with_the_needs_of_a_crawl(
    findings: Iterator[Finding], state: FindingState, text: str
) -> None:
    (found,) = findings
    assert (found.state, text in found.says) == (state, True), found
    assert found.fix or state in (OK, NOTE)


def refused(name: str) -> object:
    raise OSError(-2, "Name or service not known")


def test_a_name_server_that_fails_is_a_warning() -> None:
    (found,) = machine.check_name_resolution(refused)
    assert (found.state, "Name or service not known" in found.says) == (WARNING, True)
    (found,) = machine.check_name_resolution(str)
    assert found.state == OK


def test_a_hanging_name_server_is_a_timeout() -> None:
    answer = threading.Event()
    try:
        (found,) = machine.check_name_resolution(lambda name: answer.wait(), seconds=0.01)
    finally:
        answer.set()
    assert "no answer within 0.01 s" in found.says


MOUNTS = """\
21 1 8:1 / / rw,relatime - ext4 /dev/root rw
22 21 0:5 / {place} rw - {kind} none rw
"""


@pytest.mark.parametrize(
    ("kind", "state"), [("ext4", None), ("nfs4", WARNING), ("fuse.sshfs", WARNING), ("tmpfs", WARNING)]
)
def test_network_and_memory_file_systems_give_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, state: FindingState | None
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS.format(place=tmp_path, kind=kind))
    assert machine.get_file_system_type(tmp_path / "crawl", table) == kind
    assert machine.get_file_system_type(Path("/"), table) == "ext4"
    assert machine.get_file_system_type(tmp_path, tmp_path / "none") == ""
    monkeypatch.setattr(machine, machine.get_file_system_type.__name__, lambda place: kind)
    found = list(machine.check_file_system(tmp_path))
    assert [it.state for it in found if it.name == "file system"] == ([state] if state else [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mountinfo"]


def test_available_memory_is_the_lowest_limit(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    assert machine.get_available_memory(tmp_path) is None
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert machine.get_available_memory(tmp_path) == 2 * MB
    (group / "memory.max").write_text("1000000\n")
    (group / "memory.current").write_text("400000\n")
    assert machine.get_available_memory(tmp_path) == 600_000
    (group / "memory.max").write_text("max\n")
    assert machine.get_available_memory(tmp_path) == 2 * MB


def test_this_machine_has_no_problems(tmp_path: Path) -> None:
    found = list(machine.check_machine(tmp_path, Settings(min_free=0), offline=True))
    assert [it for it in found if it.state == PROBLEM] == []
    assert {"disk", "write", "open files", "memory", "clock", "loopback"} <= {it.name for it in found}
