"""Real redis-server process for tests, in a temporary directory."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MISSING = shutil.which("redis-server") is None
REASON = "redis-server is not installed: make test-system"


class RedisServer:
    """Redis server with an append-only file. It can be killed and restarted on the same port."""

    def __init__(self, folder: Path, *options: str, configuration: Path | None = None) -> None:
        self.folder = folder
        self.configuration = configuration  # configuration file, read before the options
        self.options = options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.folder),
            "--appendonly",
            "yes",
            "--save",
            "",
            *self.options,
        ]
        if self.configuration is not None:
            command.insert(1, str(self.configuration))
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        while not self._is_ready():
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as line:
                line.sendall(b"PING\r\n")
                return line.recv(64).startswith((b"+PONG", b"-NOAUTH", b"-NOPERM"))
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the process, as a power failure would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def log(self) -> Path:
        """Newest incremental part of the append-only file."""
        return max((self.folder / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.name)


@contextmanager
def running(folder: Path, *options: str, configuration: Path | None = None) -> Iterator[RedisServer]:
    """Run a server for the duration of the block. Skip the test if redis-server is not installed."""
    if MISSING:
        pytest.skip(REASON)
    server = RedisServer(folder, *options, configuration=configuration)
    server.start()
    try:
        yield server
    finally:
        server.kill()
