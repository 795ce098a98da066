"""Robots directives of a page: "noindex" and "noarchive" (do not store it), "nofollow" (do not follow its links)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: Directives with a value after a colon; any other name before a colon is a user agent.
_VALUE_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_AGENT = re.compile(r"\s*([a-z][a-z0-9_-]*)\s*:", re.I)
_OWN_AGENTS = frozenset({"", "*", "robots", "topicrawl"})
_DIRECTIVES = {
    "noindex": frozenset({"noindex"}),
    "noarchive": frozenset({"noarchive"}),
    "nocache": frozenset({"noarchive"}),  # the name that Bing uses
    "nofollow": frozenset({"nofollow"}),
    "none": frozenset({"noindex", "nofollow"}),
}


def parse_directives(header: str, metas: Iterable[str] = ()) -> frozenset[str]:
    """Return the directives of the X-Robots-Tag header and of the robots `<meta>` elements.

    In the header, a user agent before a colon restricts the following directives to that crawler.

    >>> sorted(parse_directives("googlebot: noindex, topicrawl: nofollow"))
    ['nofollow']
    >>> sorted(parse_directives("", ["NONE"]))
    ['nofollow', 'noindex']
    """
    result: frozenset[str] = frozenset()
    for content in metas:
        for word in content.lower().split(","):
            result |= _DIRECTIVES.get(word.strip(), frozenset())
    return result | _parse_header(header) if header else result


def iter_own_directives(header: str) -> Iterator[str]:
    """Yield the directives of an X-Robots-Tag header that apply to this crawler, in lower case.

    >>> list(iter_own_directives("noai, max-snippet: 20, googlebot: noindex"))
    ['noai', 'max-snippet: 20']
    """
    agent = ""
    for part in header.lower().split(","):
        match = _AGENT.match(part)
        if match and match[1] not in _VALUE_DIRECTIVES:
            agent, part = match[1], part[match.end() :]
        if agent in _OWN_AGENTS and (word := part.strip()):
            yield word


def _parse_header(header: str) -> frozenset[str]:
    """Return the supported directives of an X-Robots-Tag header."""
    result: frozenset[str] = frozenset()
    for word in iter_own_directives(header):
        result |= _DIRECTIVES.get(word, frozenset())
    return result
