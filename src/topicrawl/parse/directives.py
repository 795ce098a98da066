"""What a page asks of robots: "noindex" (do not keep me), "nofollow" (do not follow my links)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: Names that may stand before a colon without being a robot's name.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_AGENT = re.compile(r"\s*([a-z][a-z0-9_-]*)\s*:", re.I)
_OURS = frozenset({"", "*", "robots", "topicrawl"})
_MEANING = {
    "noindex": frozenset({"noindex"}),
    "nofollow": frozenset({"nofollow"}),
    "none": frozenset({"noindex", "nofollow"}),
}


def directives(header: str, metas: Iterable[str] = ()) -> frozenset[str]:
    """Read the X-Robots-Tag header and the contents of the `<meta>` elements that speak to us.

    A name before a colon says for whom the rest of the header is meant.

    >>> sorted(directives("googlebot: noindex, topicrawl: nofollow"))
    ['nofollow']
    >>> sorted(directives("", ["NONE"]))
    ['nofollow', 'noindex']
    """
    found: frozenset[str] = frozenset()
    for content in metas:
        for word in content.lower().split(","):
            found |= _MEANING.get(word.strip(), frozenset())
    return found | _from_header(header) if header else found


def addressed(header: str) -> Iterator[str]:
    """The words of an X-Robots-Tag header that speak to us, as they stand there.

    >>> list(addressed("noai, max-snippet: 20, googlebot: noindex"))
    ['noai', 'max-snippet: 20']
    """
    agent = ""
    for part in header.lower().split(","):
        named = _AGENT.match(part)
        if named and named[1] not in _VALUED:
            agent, part = named[1], part[named.end() :]
        if agent in _OURS and (word := part.strip()):
            yield word


def _from_header(header: str) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for word in addressed(header):
        found |= _MEANING.get(word, frozenset())
    return found
