"""The crawl's side of the process that reads documents: starts it, hands it one document at a time, ends it.

A process that takes too long is killed, one that broke down is replaced. Starting one costs a quarter of a second of
computing, so it serves for many documents.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from topicrawl.documents.message import LARGEST, LENGTH, Converted, Limits, unpacked
from topicrawl.records import Failure

_DOCUMENTS = 200  # that one process reads: what its libraries leak does not add up
_START = 20.0  # seconds of grace for a process that is not up yet
_HEAD = 16 << 20  # longest description of what comes back


class Worker:
    """One process at a time, started when it is needed; one thread at a time may ask."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._read = 0  # documents that the present process was given
        self._stopped = False

    def convert(self, body: bytes) -> Converted:
        """What a document became. Nothing that is in it can raise."""
        is_fresh = self._process is None
        found = self._asked(body)
        if self._process is None and found.failure == Failure.UNPARSED and not is_fresh:
            # It may have been worn out by those before.
            found = self._asked(body)
        if found.failure == Failure.READING_LIMIT or self._read >= _DOCUMENTS:
            self.close()
        return found

    def stop(self) -> None:
        """End the process for good, also one that is busy for another thread."""
        self._stopped = True
        if self._process is not None:
            _kill(self._process)

    def close(self) -> int | None:
        """End the process with all that it started; its exit status. A later document starts another."""
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is None:
            return None
        _kill(process)
        return process.wait()

    def _asked(self, body: bytes) -> Converted:
        # The wall's clock runs faster than the process's where others compute too.
        until = time.monotonic() + 2 * self.limits.seconds + (_START if self._process is None else 0.0)
        try:
            line = self._started()
            head = json.dumps({"size": len(body), "limit": self.limits.bytes, "seconds": self.limits.seconds}).encode()
            line.settimeout(max(0.1, until - time.monotonic()))
            line.sendall(b"".join((LENGTH.pack(len(head)), head, body)))
            return unpacked(_Receiver(line, until, (LARGEST + 1) * self.limits.bytes + _HEAD).next)
        except TimeoutError:
            self.close()
            return self._slow()
        except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
            status = self.close()
            if status == -signal.SIGXCPU:
                return self._slow()
            return Converted(failure=Failure.UNPARSED, detail=f"the reader broke down over it ({type(error).__name__})")

    def _slow(self) -> Converted:
        return Converted(failure=Failure.READING_LIMIT, detail=f"not read within {self.limits.seconds:g} s")

    def _started(self) -> socket.socket:
        self._read += 1
        if self._line is not None and self._process is not None:
            return self._line
        if self._stopped:
            raise EOFError
        ours, theirs = socket.socketpair()
        with theirs:
            # No bytecode is written and nothing is imported from where the crawl was started.
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-m", "topicrawl.documents.child"],
                stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, cwd="/",
            )  # fmt: skip
        self._line, self._read = ours, 1
        return ours


def _kill(process: subprocess.Popen[bytes]) -> None:
    # One that has ended already keeps its status, and its number, until someone waits for it.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class _Receiver:
    """Takes bytes from a socket until a moment, and no more than a bound in all."""

    def __init__(self, line: socket.socket, until: float, most: int) -> None:
        self._line = line
        self._until = until
        self._most = most

    def next(self, size: int) -> bytes:
        self._most -= size
        if size < 0 or self._most < 0:
            raise ValueError("more than was asked for")
        parts = []
        while size:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._line.settimeout(left)
            part = self._line.recv(min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
