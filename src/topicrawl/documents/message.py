"""What travels between the crawl and the process that reads documents: a document comes in, this goes out."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import NamedTuple

from topicrawl.records import Failure

#: The first thing in a message: how long its description is.
LENGTH = struct.Struct(">I")
#: All members of an archive together may be this many times as large as one page.
LARGEST = 4


class Member(NamedTuple):
    """One file of an archive: its content, or why it was not taken out."""

    name: str
    body: bytes = b""
    failure: Failure | None = None
    detail: str = ""


class Limits(NamedTuple):
    """What reading one document may take."""

    bytes: int = 10 << 20  # of the document, and of what is unpacked from it
    seconds: float = 20.0  # of computing


class Converted(NamedTuple):
    """What a document became: text with its media type, or the members of an archive, or why it is neither."""

    type: str = ""  # of `body`; "": an archive, or a failure
    body: bytes = b""
    members: tuple[Member, ...] = ()
    failure: Failure | None = None
    detail: str = ""


def packed(found: Converted) -> bytes:
    """As a message: the length of the description, the description, the contents.

    >>> from io import BytesIO
    >>> unpacked(BytesIO(packed(Converted("text/plain", b"hello"))).read).body
    b'hello'
    """
    about = {
        "type": found.type,
        "size": len(found.body),
        "members": [(m.name, len(m.body), m.failure, m.detail) for m in found.members],
        "failure": found.failure,
        "detail": found.detail,
    }
    head = json.dumps(about).encode()
    return b"".join((LENGTH.pack(len(head)), head, found.body, *(member.body for member in found.members)))


def unpacked(receive: Callable[[int], bytes]) -> Converted:
    """The message that comes in; `receive` gives the next so many bytes."""
    (length,) = LENGTH.unpack(receive(LENGTH.size))
    about = json.loads(receive(length))
    body = receive(about["size"])
    found = tuple(
        Member(name, receive(size), Failure(failure) if failure else None, detail)
        for name, size, failure, detail in about["members"]
    )
    failure = about["failure"]
    return Converted(about["type"], body, found, Failure(failure) if failure else None, about["detail"])
