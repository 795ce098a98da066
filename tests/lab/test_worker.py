"""Worker processes of comparisons: their end after the end of the parent process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.helpers.sample_web import write_small_web

SCRIPT = """
import asyncio, sys
from topicrawl.lab.worker import run_requests

async def run_strategy():
    request = {"web": sys.argv[1], "words": "dengue fever", "seeds": [], "strategy": "blocked:Strategy", "fetches": 1}
    async for answer in run_requests([{**request, "targets": [], "cached": False}], 1):
        print(answer)

asyncio.run(run_strategy())
"""


def open_for_writing(path: Path, process: subprocess.Popen[bytes]) -> int:
    """Open a named pipe as soon as a reader waits for it."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_worker_ends_during_a_run_when_its_parent_is_killed(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The run imports its strategy from this module, and blocks while the module reads the pipe.
    (tmp_path / "blocked.py").write_text(f"open({str(pipe)!r}).read()")
    write_small_web(tmp_path / "web")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "web")], env=environment) as parent:
        writer = open_for_writing(pipe, parent)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    with open(writer, "wb", buffering=0) as file:
        while time.monotonic() < deadline:
            try:
                file.write(b"\n")
            except BrokenPipeError:
                return  # no process reads the file any more
            time.sleep(0.05)
    raise AssertionError("the run continues after the end of its parent process")
