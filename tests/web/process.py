"""`topicrawl serve` as a process of its own, which a test may kill."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.web.served import Client


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and the address that it prints."""
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


def client_of(address: str, **headers: str) -> Client:
    found = re.search(r":(\d+)/", address)
    assert found, address
    return Client(int(found[1]), None, headers)  # type: ignore[arg-type]
