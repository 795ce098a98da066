"""What a machine lacks is said before a crawl meets it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from resource import RLIM_INFINITY

import pytest

from topicrawl.doctor import machine
from topicrawl.doctor.finding import Finding, State
from topicrawl.settings import Settings

OK, NOTE, WARNING, PROBLEM = State.OK, State.NOTE, State.WARNING, State.PROBLEM
MB = 1 << 20


@pytest.mark.parametrize(
    ("findings", "state", "text"),
    [
        (machine.room(50 * MB, 100 * MB), PROBLEM, "stops below 100 MB"),
        (machine.room(500 * MB, 100 * MB), WARNING, "0.5 GB free"),
        (machine.room(5000 * MB, 100 * MB), OK, "5.2 GB free"),
        (machine.limits(128, 64), WARNING, "may need 192"),
        (machine.limits(4096, 64), OK, "up to 4096"),
        (machine.limits(RLIM_INFINITY, 64), OK, "no limit"),
        (machine.memory(100 * MB, 2), WARNING, "100 MB free"),
        (machine.memory(4000 * MB, 2), OK, "4.2 GB free, 2 processors"),
        (machine.memory(None, None), NOTE, "does not tell"),
        (machine.clock(0.0, 1.7e9), PROBLEM, "1970-01-01 00:00 UTC is before"),
        (machine.clock(1.7e9, 1.7e9 + 3600), OK, "2023-11-14 22:13 UTC"),
    ],
)
def test_each_limit_is_judged_by_what_a_crawl_needs(findings: Iterator[Finding], state: State, text: str) -> None:
    (found,) = findings
    assert (found.state, text in found.says) == (state, True), found
    assert found.fix or state in (OK, NOTE)


def refused(name: str) -> object:
    raise OSError(-2, "Name or service not known")


def test_a_name_server_that_fails_is_a_warning() -> None:
    (found,) = machine.names(refused)
    assert (found.state, "Name or service not known" in found.says) == (WARNING, True)
    (found,) = machine.names(str)
    assert found.state == OK


def test_a_name_server_that_hangs_is_not_waited_for() -> None:
    answer = threading.Event()
    try:
        (found,) = machine.names(lambda name: answer.wait(), seconds=0.01)
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
def test_a_file_system_that_is_elsewhere_or_passing_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, state: State | None
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS.format(place=tmp_path, kind=kind))
    assert machine.mounted(tmp_path / "crawl", table) == kind
    assert machine.mounted(Path("/"), table) == "ext4"
    assert machine.mounted(tmp_path, tmp_path / "none") == ""
    monkeypatch.setattr(machine, "mounted", lambda place: kind)
    found = list(machine.file_system(tmp_path))
    assert [it.state for it in found if it.name == "file system"] == ([state] if state else [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mountinfo"]


def test_memory_is_the_least_that_anybody_allows(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    assert machine.available(tmp_path) is None
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert machine.available(tmp_path) == 2 * MB
    (group / "memory.max").write_text("1000000\n")
    (group / "memory.current").write_text("400000\n")
    assert machine.available(tmp_path) == 600_000
    (group / "memory.max").write_text("max\n")
    assert machine.available(tmp_path) == 2 * MB


def test_the_machine_that_runs_the_tests_can_crawl(tmp_path: Path) -> None:
    found = list(machine.machine(tmp_path, Settings(min_free=0), offline=True))
    assert [it for it in found if it.state == PROBLEM] == []
    assert {"disk", "write", "open files", "memory", "clock", "loopback"} <= {it.name for it in found}
