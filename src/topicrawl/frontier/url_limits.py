"""Limits on URLs that indicate crawler traps: too deep, too long, or with repeating path segments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from topicrawl.models import Link, Refusal


@dataclass(frozen=True, slots=True)
class UrlLimits:
    """Maximum values for a link and its URL."""

    depth: int = 64  # links from a seed
    segments: int = 20  # path segments
    repeats: int = 2  # occurrences of the same path segment
    length: int = 2000  # characters
    parameters: int = 12  # query parameters


def check_link(link: Link, limits: UrlLimits) -> Refusal | None:
    """Return why a link exceeds the limits, or None if the crawler may follow it.

    >>> check_link(Link("https://example.org/wiki/Bird?action=edit"), UrlLimits()) is None
    True
    >>> check_link(Link("https://example.org/a/b/a/b/a/b/"), UrlLimits()).value
    'repeating_path'
    >>> check_link(Link("https://example.org/", depth=65), UrlLimits()).value
    'too_deep'
    """
    url = link.url
    if link.depth > limits.depth:
        return Refusal.TOO_DEEP
    if len(url) > limits.length:
        return Refusal.TOO_LONG
    # Most URLs have few slashes and ampersands, and counting them is cheaper than parsing the URL.
    if url.count("&") >= limits.parameters and url.partition("?")[2].count("&") >= limits.parameters:
        return Refusal.TOO_LONG
    if url.count("/") <= 2 + min(limits.repeats, limits.segments):
        return None
    return _check_path(url.partition("?")[0].split("/")[3:], limits)


def _check_path(path: list[str], limits: UrlLimits) -> Refusal | None:
    """Return the refusal if the path segments of a URL repeat or are too many, else None."""
    if len(path) > limits.repeats and len(set(path)) < len(path):
        # An empty segment is a doubled or trailing slash and does not count as a repetition.
        repeats = max((count for part, count in Counter(path).items() if part), default=0)
        if repeats > limits.repeats:
            return Refusal.REPEATING
    return Refusal.TOO_LONG if len(path) - (path[-1:] == [""]) > limits.segments else None
