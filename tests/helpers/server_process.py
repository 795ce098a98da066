"""Run `topicrawl serve` in a subprocess that a test may kill."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.web_client import WebClient


@contextmanager
def run_server_process(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server process and yield it with the line that it prints."""
    command = [sys.executable, "-m", "topicrawl", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process, process.stderr.readline().strip()
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def create_client(address: str, **headers: str) -> WebClient:
    """Return a client for the server whose address is in the given line."""
    port = re.search(r":(\d+)/", address)
    assert port, address
    return WebClient(int(port[1]), None, headers)  # type: ignore[arg-type]
