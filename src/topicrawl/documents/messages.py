"""Messages between the crawl process and the document child process, and their binary encoding.

Both processes run the same version, so the encoding may change between versions.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeVar

import msgspec

from topicrawl.models import Failure

T = TypeVar("T")
#: Prefix of a message: its length.
LENGTH_PREFIX = struct.Struct(">I")
#: Largest total size of the members of an archive, as a multiple of the largest page.
MAX_ARCHIVE_FACTOR = 4


class ArchiveMember(NamedTuple):
    """Member of an archive: its content, or the failure of its extraction."""

    name: str
    body: bytes = b""
    failure: Failure | None = None
    detail: str = ""


class ConversionLimits(NamedTuple):
    """Limits of the conversion of one document."""

    max_bytes: int = 10 << 20  # size of the document, and of its unpacked content
    cpu_seconds: float = 20.0  # CPU time


class ConversionRequest(NamedTuple):
    """A document to convert."""

    body: bytes
    limits: ConversionLimits


class ConvertedDocument(NamedTuple):
    """Result of a conversion: text with its media type, the members of an archive, or a failure."""

    media_type: str = ""  # media type of `body`; "" for an archive or a failure
    body: bytes = b""
    members: tuple[ArchiveMember, ...] = ()
    failure: Failure | None = None
    detail: str = ""


def encode_message(message: ConversionRequest | ConvertedDocument) -> bytes:
    """Encode a message: its length, then MessagePack.

    >>> data = encode_message(ConvertedDocument("text/plain", b"hello"))
    >>> decode_message(data[LENGTH_PREFIX.size :], ConvertedDocument).body
    b'hello'
    """
    data = msgspec.msgpack.encode(message)
    return LENGTH_PREFIX.pack(len(data)) + data


def decode_message(data: bytes, kind: type[T]) -> T:
    """Decode a message without its length prefix. Raises `ValueError` if it is invalid."""
    return msgspec.msgpack.decode(data, type=kind)
