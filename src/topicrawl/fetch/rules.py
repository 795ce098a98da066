"""The part of a robots.txt that concerns one crawler.

Files list hundreds of other crawlers. Dropping their groups before parsing saves most of the memory, and
takes the edge off files made to hurt: a parser that keeps every rule for every name needs their product.
"""

from __future__ import annotations

import re

_AGENT = re.compile(r"user[- ]?agent\s*[:\s]\s*(.*)", re.I).match
_SITEMAP = re.compile(r"site-?maps?\s*[:\s]", re.I).match
_TOKEN = re.compile(r"[a-z_-]+", re.I).match


def reduced(text: str, agent: str) -> str:
    r"""Groups for `agent` (a product token in lower case) or for everybody, and the sitemaps.

    >>> reduced("User-agent: a\nDisallow: /\n\nUser-agent: *  # all\nAllow: /x\nSitemap: /s.xml", "topicrawl")
    'User-agent: *\nAllow: /x\nSitemap: /s.xml'
    """
    kept: list[str] = []
    named, ours = False, False
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        found = _AGENT(line)
        if found:
            # A name right after a name joins its group, a name after rules begins the next one.
            ours = ours and named
            named = True
            name = _meant(found[1], agent)
            if name:
                ours = True
                kept.append(f"User-agent: {name}")
        elif _SITEMAP(line):
            kept.append(line)
        else:
            named = False
            if ours:
                kept.append(line)
    return "\n".join(kept)


def _meant(name: str, agent: str) -> str:
    """Whom a name in the file means: everybody, us (with or without a version), or the empty string."""
    if name.split(None, 1)[:1] == ["*"]:
        return "*"
    token = _TOKEN(name)
    return agent if token and token[0].lower() == agent else ""
