"""Ctrl-C on a terminal: the crawl acknowledges it at once, removes the live display and stops cleanly."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG

ROWS = ("pages ", "harvest", "frontier", "failures")
CONTROL = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+")


def render_screen(output: str) -> list[str]:
    """Return the lines of a terminal after the output: text, line feeds, and the control sequences of the display."""
    lines, row, column = [""], 0, 0
    for found in CONTROL.finditer(output):
        number = int(found[2] or 1) if found[3] in ("A", "K") else 1
        if found[0] == "\r":
            column = 0
        elif found[0] == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif found[3] == "A":
            row = max(0, row - number)
        elif found[3] == "K":
            lines[row] = ""
        elif found[3] is None:
            lines[row] = lines[row][:column].ljust(column) + found[0] + lines[row][column + len(found[0]) :]
            column += len(found[0])
    return lines


class Terminal:
    """A pseudo-terminal with a process, and the output so far."""

    def __init__(self, process: int, descriptor: int) -> None:
        self.process, self.descriptor, self.output = process, descriptor, ""

    def read_until(self, text: str, *, seconds: float = 60) -> None:
        """Read output until it contains the text; fail after some seconds."""
        deadline = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.output[-2000:]!r}"
            assert self.read_available(), self.output[-2000:]

    def read_available(self) -> bool:
        """Read what the process has written; return False at the end of the output."""
        if not select.select([self.descriptor], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.descriptor, 1 << 16)
        except OSError:  # Linux: the process has ended
            return False
        self.output += data.decode()
        return bool(data)

    def press_control_c(self) -> None:
        """Send Ctrl-C through the terminal."""
        os.write(self.descriptor, b"\x03")

    def wait(self) -> int:
        """Read the rest of the output and return the exit code."""
        while self.read_available():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@contextmanager
def run_on_terminal(*arguments: str) -> Iterator[Terminal]:
    """Run `topicrawl` on a pseudo-terminal."""
    process, descriptor = pty.fork()
    if not process:
        os.environ.update(TERM="xterm", COLUMNS="150", LINES="40")
        os.execv(sys.executable, [sys.executable, "-m", "topicrawl", *arguments])
    try:
        yield Terminal(process, descriptor)
    finally:
        with suppress(ProcessLookupError):  # `Terminal.wait` has read the exit code
            os.kill(process, signal.SIGKILL)
        os.close(descriptor)


@pytest.mark.parametrize("presses", [1, pytest.param(2, marks=LONG)])
def test_control_c_is_acknowledged_and_leaves_a_clean_terminal(tmp_path: Path, presses: int) -> None:
    release = threading.Event()

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/0":
            return 200, {}, b"<p>dengue fever <a href='/1'>dengue fever</a></p>"
        if path == "/1":
            release.wait(60)
        return 200 if path == "/1" else 404, {}, b"<p>dengue fever elsewhere</p>"

    options = ("--delay", "0", "--allow-net", "127.0.0.0/8", "--min-free", "0")
    with live_site(answer) as (address, _):
        seed = ("--seed", f"{address}/0", "--out", str(tmp_path / "crawl"))
        with run_on_terminal("crawl", "dengue fever", *seed, *options) as terminal:
            terminal.read_until("1 visited, 1 fetches in flight")
            terminal.press_control_c()
            terminal.read_until("stopping: waiting for 1 fetch; press Ctrl-C again to stop now")
            if presses == 2:
                terminal.press_control_c()
            else:
                release.set()
            assert terminal.wait() == 130
        release.set()
    screen = render_screen(terminal.output)
    assert not [line for line in screen if line.startswith(ROWS)], screen
    assert terminal.output.rindex("\x1b[?25h") > terminal.output.rindex("\x1b[?25l"), "the cursor is visible"
    if presses == 1:
        assert any("interrupted: 2 pages" in line for line in screen), screen
