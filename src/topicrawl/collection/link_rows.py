"""Pack all links of a page into one database row.

    targets    ids of the target pages: signed 64-bit integers, little-endian
    scores     scores when the links were offered: 32-bit floats in the same order; NaN for a link that was refused, or
               that leads to a URL that was done already
    refusals   "" or JSON, {"index of the link": "name of the refusal"}
    anchors    anchor texts, one per line

Writing a hundred links takes 50 µs this way, and 400 µs with one row per link.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import NamedTuple

from topicrawl.models import Link, Priority, Refusal
from topicrawl.urls import fingerprint_urls


class PackedLinks(NamedTuple):
    """Columns of the row after the id of the page."""

    targets: bytes
    scores: bytes
    refusals: str
    anchors: str


class StoredLink(NamedTuple):
    """One link of a stored page."""

    target: int  # id of the target page
    score: float | None  # score when the link was offered; None if it was not offered
    refusal: str | None
    anchor: str


def pack_links(
    links: Sequence[Link], priorities: Sequence[Priority | None], refusals: Mapping[int, Refusal]
) -> PackedLinks:
    """Pack the links of a page into a row. `priorities` are in the order of the links, `refusals` have their indexes.

    A link has a priority, a refusal, or neither if it leads to a URL that was done when the page was processed.

    >>> links = [Link("http://a/", anchor="A"), Link("http://b/"), Link("http://c/")]
    >>> row = pack_links(links, [Priority(0.5), None, None], {1: Refusal.NOFOLLOW})
    >>> [(link.score, link.refusal, link.anchor) for link in unpack_links(row)]
    [(0.5, None, 'A'), (None, 'nofollow', ''), (None, None, '')]
    """
    text = "\n".join([link.anchor for link in links])
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return PackedLinks(
        _to_bytes(fingerprint_urls([link.url for link in links])),
        _to_bytes(array("f", [nan if priority is None else priority.score for priority in priorities])),
        json.dumps(refusals) if refusals else "",
        text,
    )


def unpack_links(row: PackedLinks) -> list[StoredLink]:
    """Return the links of a row."""
    ids, scores = _from_bytes("q", row.targets), _from_bytes("f", row.scores)
    refusals: dict[str, str] = json.loads(row.refusals) if row.refusals else {}
    anchors = row.anchors.split("\n")
    return [
        StoredLink(int(target), None if isnan(score) else float(score), refusals.get(str(number)), anchors[number])
        for number, (target, score) in enumerate(zip(ids, scores, strict=True))
    ]


def unpack_targets(data: bytes) -> set[int]:
    """Return the ids in the column `targets`."""
    return {int(target) for target in _from_bytes("q", data)}


def pack_target(target: int) -> bytes:
    """Return the id of a page as in the column `targets`."""
    return _to_bytes(array("q", [target]))


def find_link(row: PackedLinks, target: int) -> StoredLink | None:
    """Return the link of a row to a target page, or None. Rows without such a link are not unpacked."""
    pattern = pack_target(target)
    offset = row.targets.find(pattern)
    while offset >= 0 and offset % 8:
        offset = row.targets.find(pattern, offset + 1)
    return unpack_links(row)[offset // 8] if offset >= 0 else None


def _to_bytes(numbers: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _from_bytes(kind: str, data: bytes) -> array[int] | array[float]:
    numbers: array[int] | array[float] = array(kind, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
