"""Binary encoding of links in Redis: short fingerprints of known links, packed records of waiting links."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from xxhash import xxh3_128_digest

from topicrawl.frontier.base import Completion, FrontierEntry, LeaseLimits, Offer
from topicrawl.frontier.sqlite.reader import decode_priority as place_of
from topicrawl.frontier.sqlite.reader import encode_priority
from topicrawl.models import Link, Priority, Refusal

# The same formats as in lua/1_run.lua.
_LINK_STRUCT = struct.Struct("<dd6sHHH")
_PACK_OFFER = struct.Struct("<9sdBH").pack
_PACK_LENGTH = struct.Struct("<I").pack
_PACK_LINK_HEADER = struct.Struct("<IHH").pack
_PACK_COMPLETION = struct.Struct("<d9sdBH").pack
_LEASE_STRUCT = struct.Struct("<dHI?")
_RANK_STRUCT = struct.Struct(">d15s")  # score and queue member of a waiting link that is stored with its host
_HOST_HEADER_SIZES = (1, 1, 13, 13, 53, 53, 53, 53)  # header size of a stored host, indexed by its flags
_MAX_DEPTH = 0xFFFF
_EMPTY = b""


class RedisLink(NamedTuple):
    """Waiting or leased link, decoded."""

    link: Link
    priority: Priority
    first_score: float
    failed_attempts: int  # failed attempts

    def as_entry(self, *, leased: bool = False) -> FrontierEntry:
        """Return the public view for `get_entry`."""
        return FrontierEntry(
            self.link, self.priority, "leased" if leased else "waiting", self.failed_attempts + leased, self.first_score
        )


def url_fingerprint(url: str) -> bytes:
    """Return the fingerprint of a URL: 9 bytes, so that 10⁹ URLs collide with a probability of 1 : 10,000.

    >>> url_fingerprint("https://example.org/").hex()
    '9db2570db118aad0d5'
    """
    return xxh3_128_digest(url.encode())[:9]


def encode_offers(offers: Iterable[Offer]) -> bytes:
    """Encode offers for the Redis function as one value, because many arguments are slower to send and to parse."""
    encoded: list[bytes] = []
    for link, place, replace in offers:
        url = link.url.encode()
        name, text, rest = url.split(b"/", 3)[2], encode_link_text(link), _EMPTY
        if place.payload is not None or place.parts:
            rest = (encode_priority(place) or "").encode()
        size, depth = len(text), link.depth if link.depth < _MAX_DEPTH else _MAX_DEPTH
        # The format packs the first 9 bytes of the digest. Adding 0.0 turns −0.0 into 0.0, so that both rank equally.
        head = _PACK_OFFER(xxh3_128_digest(url), place.score + 0.0, replace, len(name))
        encoded += (head, name, _PACK_LINK_HEADER(4 + size + len(rest), depth, size), text, rest)
    return b"".join(encoded)


def encode_link_text(link: Link) -> bytes:
    """Encode the text fields of a link: length of the shared origin, URL, source, anchor text.

    If URL and source have the same scheme and host, the source is stored without them.

    >>> encode_link_text(Link("http://a.org/d/x", "http://a.org/d/y", "see"))
    b'13\\x00http://a.org/d/x\\x00d/y\\x00see'
    """
    url, source = link.url, link.source
    shared = url.find("/", 8) + 1
    if not shared or not source.startswith(url[:shared]):
        shared = 0
    return f"{shared}\0{url}\0{source[shared:]}\0{link.anchor}".encode("utf-8", "replace")


def encode_unscored_link(link: Link) -> bytes:
    """Encode a link without a priority as it is stored in Redis.

    >>> decode_link(encode_unscored_link(Link("http://a.org/x"))).link.url
    'http://a.org/x'
    """
    text = encode_link_text(link)
    return _LINK_STRUCT.pack(0.0, 0.0, bytes(6), 0, min(link.depth, _MAX_DEPTH), len(text)) + text


def encode_completion(completion: Completion) -> bytes:
    """Encode the result of a lease for the Redis function."""
    reason = str(completion.reason).encode()
    head = _PACK_COMPLETION(
        completion.lease.token,
        url_fingerprint(completion.lease.link.url),
        completion.wait,
        completion.unused,
        len(reason),
    )
    return b"".join((head, reason, _PACK_LENGTH(len(completion.offers)), encode_offers(completion.offers)))


def encode_limits(limits: LeaseLimits) -> tuple[bytes, str, int, int]:
    """Return the limits of leases as arguments of the Redis function. The minimum score may be −infinity.

    >>> encode_limits(LeaseLimits(0.0, 0.25, 3, 4))
    (b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00', '0.25', 3, 4)
    """
    return struct.pack("<d", limits.min_score), repr(limits.focus), limits.max_poor, limits.min_leased


def decode_leases(data: bytes) -> Iterator[tuple[int, str, RedisLink, bool]]:
    """Decode the reply of the `lease` operation: token, host and link of each lease, and whether the link is poor."""
    at = 0
    while at < len(data):
        token, host, link, is_poor = _LEASE_STRUCT.unpack_from(data, at)
        host_at = at + _LEASE_STRUCT.size
        link_at = host_at + host
        at = link_at + link
        yield int(token), data[host_at:link_at].decode(), decode_link(data[link_at:at]), is_poor


def decode_best_links(data: bytes) -> Iterator[tuple[float, bytes]]:
    """Iterate over score and member (rank and fingerprint) of the best waiting links of a stored host.

    The queue of the host contains its other waiting links.
    """
    return _RANK_STRUCT.iter_unpack(data[_HOST_HEADER_SIZES[data[0] % 8] :])


def decode_link(data: bytes) -> RedisLink:
    """Decode a stored link."""
    score, first, _, attempts, depth, length = _LINK_STRUCT.unpack_from(data)
    text = data[_LINK_STRUCT.size : _LINK_STRUCT.size + length].decode()
    shared, url, source, anchor = text.split("\0", 3)
    link = Link(url, url[: int(shared)] + source, anchor, depth=depth)
    return RedisLink(link, place_of(score, data[_LINK_STRUCT.size + length :].decode() or None), first, attempts)


def decode_closed_link(url: str, code: bytes, reasons: Mapping[int, str]) -> FrontierEntry:
    """Decode the stored code of a link that is done, dropped or in the overflow, where its state is "waiting".

    Only the URL, the state and the reason are stored; the reason is "unknown" if its number is not in `reasons`.

    >>> (
    ...     decode_closed_link("http://a/", b"4", {1: "fetched"}).state,
    ...     decode_closed_link("http://a/", b"1moved http://b/", {}).reason,
    ... )
    ('done', 'moved http://b/')
    """
    score, link = 0.0, Link(url)
    if code.startswith((b"D", b"A")):
        (score,) = struct.unpack("<d", code[1:])
        if code.startswith(b"A"):
            return FrontierEntry(link, Priority(score), "waiting", 0, score)
        return FrontierEntry(link, Priority(score), "dropped", 0, score, Refusal.DROPPED)
    if code.isdigit():
        number, kind = divmod(int(code), 3)
        reason = reasons.get(number, "unknown")
    else:
        kind, reason = int(code[:1]), code[1:].decode()
    return FrontierEntry(link, Priority(score), "dropped" if kind == 2 else "done", 0, score, reason)
