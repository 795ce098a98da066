"""Links that no honest site needs, told by the address alone: far too deep, too long, or going in circles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from topicrawl.records import Link, Refusal


@dataclass(frozen=True, slots=True)
class Limits:
    """What an address may look like at most."""

    depth: int = 64  # links from a seed
    segments: int = 20  # parts of the path
    repeats: int = 2  # times that one part of the path may occur
    length: int = 2000  # characters
    parameters: int = 12  # of the query


def refusal(link: Link, limits: Limits) -> Refusal | None:
    """Why a link must not be followed, or None.

    >>> refusal(Link("https://example.org/wiki/Bird?action=edit"), Limits()) is None
    True
    >>> refusal(Link("https://example.org/a/b/a/b/a/b/"), Limits()).value
    'repeating_path'
    >>> refusal(Link("https://example.org/", depth=65), Limits()).value
    'too_deep'
    """
    url = link.url
    if link.depth > limits.depth:
        return Refusal.TOO_DEEP
    if len(url) > limits.length:
        return Refusal.TOO_LONG
    # Most links have few slashes and ampersands; counting those is cheaper than taking the address apart.
    if url.count("&") >= limits.parameters and url.partition("?")[2].count("&") >= limits.parameters:
        return Refusal.TOO_LONG
    if url.count("/") <= 2 + min(limits.repeats, limits.segments):
        return None
    return _refused_path(url.partition("?")[0].split("/")[3:], limits)


def _refused_path(path: list[str], limits: Limits) -> Refusal | None:
    if len(path) > limits.repeats and len(set(path)) < len(path):
        # An empty part is a doubled or a closing slash, not a place.
        repeats = max((count for part, count in Counter(path).items() if part), default=0)
        if repeats > limits.repeats:
            return Refusal.REPEATING
    return Refusal.TOO_LONG if len(path) - (path[-1:] == [""]) > limits.segments else None
