"""Crawls that the previous version of Topicrawl stored, and the sample web that they visited."""

from __future__ import annotations

import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FIXTURES = Path(__file__).parents[1] / "fixtures"
PORT = 8311  # port in the URLs of the stored crawls


def extract_fixture(name: str, folder: Path) -> None:
    """Extract a fixture into a folder."""
    with tarfile.open(_FIXTURES / name) as archive:
        archive.extractall(folder, filter="data")


def run_topicrawl(*arguments: str | Path) -> str:
    """Run the command in a subprocess, check that it succeeds, and return its standard output."""
    command = [sys.executable, "-m", "topicrawl", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def serve_sample_web() -> Iterator[None]:
    """Serve the web of the stored crawls in a subprocess. Skip the test if the port is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            pytest.skip(f"port {PORT}, which the stored URLs contain, is in use")
    options = ("--port", str(PORT), "--pages", "400", "--hosts", "20")
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "topicrawl", "lab", "serve", *options], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        assert server.stdout.readline().startswith("serving"), "the server did not start"
        yield
    finally:
        server.terminate()
        server.communicate()
