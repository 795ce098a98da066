"""Child process that converts documents, isolated from the crawl process.

`worker.py` starts it with a socket as standard input. It converts one document after another, sends back each result,
and ends when the socket is closed. It cannot write files, and its memory and CPU time are limited, so that a hostile
document cannot harm the crawl.
"""

from __future__ import annotations

import resource
import socket
import time

from topicrawl.documents.conversion import convert_document
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.messages import (
    LENGTH_PREFIX,
    ConversionLimits,
    ConversionRequest,
    ConvertedDocument,
    decode_message,
    encode_message,
)
from topicrawl.models import Failure

_MAX_MEMORY = 1 << 30


def main() -> None:
    """Convert documents until the socket is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with socket.socket(fileno=0) as line:
        while prefix := _receive_bytes(line, LENGTH_PREFIX.size):
            body, limits = decode_message(_receive_bytes(line, *LENGTH_PREFIX.unpack(prefix)), ConversionRequest)
            # The parent process may have ended when a document makes this process loop, so the kernel limits the time.
            cpu_limit = int(time.process_time() + limits.cpu_seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, resource.RLIM_INFINITY))
            line.sendall(encode_message(_convert_safely(body, limits)))


def _convert_safely(body: bytes, limits: ConversionLimits) -> ConvertedDocument:
    """Convert a document. Return failures as a result, so that no document ends the process with an exception."""
    try:
        return convert_document(body, limits)
    except UnreadableDocument as error:
        return ConvertedDocument(failure=error.failure, detail=error.detail)
    except MemoryError:
        return ConvertedDocument(
            failure=Failure.READING_LIMIT, detail=f"conversion needs more than {_MAX_MEMORY >> 20} MB of memory"
        )


def _receive_bytes(line: socket.socket, size: int) -> bytes:
    """Receive `size` bytes; fewer if the socket is closed."""
    parts = []
    while size and (part := line.recv(min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    main()
