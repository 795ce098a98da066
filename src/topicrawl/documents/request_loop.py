"""Loop of a child process: receive a request, convert it within limits, send back the result.

`worker.py` starts the process with a socket as standard input. The process serves one request after another, and ends
when the socket is closed. It cannot write files, and its memory and CPU time are limited, so that hostile input cannot
harm the crawl.
"""

from __future__ import annotations

import ctypes
import resource
import socket
import time
from collections.abc import Callable
from typing import TypeAlias

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

#: Function that converts the body of a request. It raises `UnreadableDocument` if it cannot.
ConvertFunction: TypeAlias = Callable[[bytes, ConversionLimits], ConvertedDocument]


def serve_requests(convert: ConvertFunction, *, max_memory: int) -> None:
    """Limit the resources of this process, and serve requests until the socket is closed.

    `max_memory` is the size of the address space in bytes, with all libraries.
    """
    resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    trim_memory = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only in the GNU C library
    with socket.socket(fileno=0) as line:
        while prefix := _receive_bytes(line, LENGTH_PREFIX.size):
            body, limits = decode_message(_receive_bytes(line, *LENGTH_PREFIX.unpack(prefix)), ConversionRequest)
            # The parent process may have ended when a document makes this process loop, so the kernel limits the time.
            cpu_limit = int(time.process_time() + limits.cpu_seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, resource.RLIM_INFINITY))
            line.sendall(_convert_safely(convert, body, limits, max_memory=max_memory))
            del body
            if trim_memory is not None:
                # The process may wait for the next request for hours.
                trim_memory(0)


def _convert_safely(convert: ConvertFunction, body: bytes, limits: ConversionLimits, *, max_memory: int) -> bytes:
    """Convert a request. Return failures as a result, so that no document ends the process with an exception."""
    try:
        return encode_message(convert(body, limits))
    except UnreadableDocument as error:
        return encode_message(ConvertedDocument(failure=error.failure, detail=error.detail))
    except MemoryError:
        detail = f"the conversion needs more than {max_memory >> 20} MB of memory"
        return encode_message(ConvertedDocument(failure=Failure.READING_LIMIT, detail=detail))


def _receive_bytes(line: socket.socket, size: int) -> bytes:
    """Receive `size` bytes; fewer if the socket is closed."""
    parts = []
    while size and (part := line.recv(min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
