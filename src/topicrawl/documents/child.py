"""The process that reads documents: whatever a hostile one does to it, it does not do to the crawl.

`worker.py` starts it with a socket as its standard input. It takes one document after the other, gives back what
became of each, and ends when the socket is closed. It cannot write to files, and has bounds on memory and time.
"""

from __future__ import annotations

import json
import resource
import socket
import time

from topicrawl.documents.convert import converted
from topicrawl.documents.message import LENGTH, Converted, Limits, packed
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

_MEMORY = 1 << 30


def main() -> None:
    """Read documents until nobody sends more."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with socket.socket(fileno=0) as line:
        while head := _received(line, LENGTH.size):
            asked = json.loads(_received(line, *LENGTH.unpack(head)))
            limits = Limits(asked["limit"], asked["seconds"])
            # Who started this process may be gone when a document makes it loop.
            used = int(time.process_time() + limits.seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
            line.sendall(packed(_read(_received(line, asked["size"]), limits)))


def _read(body: bytes, limits: Limits) -> Converted:
    try:
        return converted(body, limits)
    except Unreadable as error:
        return Converted(failure=error.failure, detail=error.detail)
    except MemoryError:
        return Converted(failure=Failure.READING_LIMIT, detail=f"it needs more than {_MEMORY >> 20} MB of memory")


def _received(line: socket.socket, size: int) -> bytes:
    """The next so many bytes; fewer when nobody sends more."""
    parts = []
    while size and (part := line.recv(min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    main()
