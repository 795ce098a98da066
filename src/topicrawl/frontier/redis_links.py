"""How links stand in Redis: short marks for what is known, packed texts for what waits."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from xxhash import xxh3_128_digest

from topicrawl.frontier.contract import End, Entry, Offer
from topicrawl.frontier.sqlite_look import place as place_of
from topicrawl.frontier.sqlite_look import stored
from topicrawl.records import Link, Place, Refusal

_LINK = struct.Struct("<dd6sHHH")  # as in lua/1_run.lua
_OFFER = struct.Struct("<9sdBH").pack
_LENGTH = struct.Struct("<I").pack
_REST = struct.Struct("<IHH").pack
_END = struct.Struct("<d9sdBH").pack
_LEASE = struct.Struct("<dHI")
_STAND = struct.Struct(">d15s")  # of a link that waits; behind what is stored of its host
_HEAD = (1, 1, 13, 13, 53, 53, 53, 53)  # by its flags, bytes of what is stored of a host before that
_DEEPEST = 0xFFFF
_NOTHING = b""


class Waiting(NamedTuple):
    """A link that waits or is out, as it is stored."""

    link: Link
    place: Place
    first_score: float
    attempts: int  # that failed

    def entry(self, *, out: bool = False) -> Entry:
        """What `find` shows."""
        return Entry(self.link, self.place, "leased" if out else "waiting", self.attempts + out, self.first_score)


def mark(url: str) -> bytes:
    """The fingerprint of a URL: 9 bytes, with which a thousand million URLs expect no clash (1 : 10,000).

    >>> mark("https://example.org/").hex()
    '9db2570db118aad0d5'
    """
    return xxh3_128_digest(url.encode())[:9]


def offered(offers: Iterable[Offer]) -> bytes:
    """Offers as the script takes them, one behind the other: many values cost it, and the way there, more than one."""
    found: list[bytes] = []
    for link, place, replace in offers:
        url = link.url.encode()
        name, text, rest = url.split(b"/", 3)[2], text_of(link), _NOTHING
        if place.carry is not None or place.parts:
            rest = (stored(place) or "").encode()
        size, depth = len(text), link.depth if link.depth < _DEEPEST else _DEEPEST
        # Of the digest as much is packed as there is room for.
        head = _OFFER(xxh3_128_digest(url), place.score + 0.0, replace, len(name))  # there is but one zero
        found += (head, name, _REST(4 + size + len(rest), depth, size), text, rest)
    return b"".join(found)


def text_of(link: Link) -> bytes:
    """The texts of a link; what source and address begin with alike is stored once.

    >>> text_of(Link("http://a.org/x", "http://a.org/", "see"))
    b'13\\x00http://a.org/x\\x00\\x00see'
    """
    url, source = link.url, link.source
    alike = url.find("/", 8) + 1
    if not alike or not source.startswith(url[:alike]):
        alike = 0
    return f"{alike}\0{url}\0{source[alike:]}\0{link.anchor}".encode("utf-8", "replace")


def ended(end: End) -> bytes:
    """The end of a lease as the script takes it."""
    reason = str(end.reason).encode()
    head = _END(end.lease.token, mark(end.lease.link.url), end.wait, end.unused, len(reason))
    return b"".join((head, reason, _LENGTH(len(end.offers)), offered(end.offers)))


def handed_out(answer: bytes) -> Iterator[tuple[int, str, Waiting]]:
    """Token, host and link of each lease, from what the script says."""
    at = 0
    while at < len(answer):
        token, host, link = _LEASE.unpack_from(answer, at)
        host_at = at + _LEASE.size
        link_at = host_at + host
        at = link_at + link
        yield int(token), answer[host_at:link_at].decode(), waiting(answer[link_at:at])


def stands(host: bytes) -> Iterator[tuple[float, bytes]]:
    """Scores and members of the best waiting links of a host, from what is stored of it; its queue has the others."""
    return _STAND.iter_unpack(host[_HEAD[host[0] % 8] :])


def waiting(data: bytes) -> Waiting:
    """A link from what is stored of it."""
    score, first, _, attempts, depth, length = _LINK.unpack_from(data)
    text = data[_LINK.size : _LINK.size + length].decode()
    alike, url, source, anchor = text.split("\0", 3)
    link = Link(url, url[: int(alike)] + source, anchor, depth=depth)
    return Waiting(link, place_of(score, data[_LINK.size + length :].decode() or None), first, attempts)


def closed(url: str, code: bytes, reasons: Mapping[int, str]) -> Entry:
    """What is still known of a link that is done, dropped or put away.

    >>> closed("http://a/", b"4", {1: "fetched"}).state, closed("http://a/", b"1moved http://b/", {}).reason
    ('done', 'moved http://b/')
    """
    score, link = 0.0, Link(url)
    if code.startswith((b"D", b"A")):
        (score,) = struct.unpack("<d", code[1:])
        if code.startswith(b"A"):
            return Entry(link, Place(score), "waiting", 0, score)
        return Entry(link, Place(score), "dropped", 0, score, Refusal.DROPPED)
    if code.isdigit():
        number, kind = divmod(int(code), 3)
        reason = reasons.get(number, "unknown")
    else:
        kind, reason = int(code[:1]), code[1:].decode()
    return Entry(link, Place(score), "dropped" if kind == 2 else "done", 0, score, reason)
