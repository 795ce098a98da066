"""Decode a robots.txt, and reduce it to the groups that apply to one crawler.

Many files list hundreds of other crawlers. Dropping their groups before parsing saves most of the memory. It also
protects against hostile files: a parser that stores every rule for every user agent needs memory for their product.
"""

from __future__ import annotations

import codecs
import re

#: Byte order marks and their encodings. UTF-32 is first, because its mark begins with the mark of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_AGENT_LINE = re.compile(r"user[- ]?agent\s*[:\s]\s*(.*)", re.I).match
_SITEMAP_LINE = re.compile(r"site-?maps?\s*[:\s]", re.I).match
#: Names of the rules that Protego reads, including frequent misspellings.
_RULE_LINE = re.compile(
    r"(?:diss?all?[oa]w|diasllow|allow|crawl[- ]delay|request[- ]rate|visit[- ]time)\s*[:\s]", re.I
).match
_PRODUCT_TOKEN = re.compile(r"[a-z_-]+", re.I).match
_NAME_WITHOUT_VERSION = re.compile(r"[^\s/]+").match


def decode_robots_txt(body: bytes) -> str:
    r"""Decode a robots.txt: UTF-8 as RFC 9309 requires, or UTF-16 or UTF-32 if it begins with a byte order mark.

    Bytes that are not valid in the encoding are replaced.

    >>> decode_robots_txt("Disallow: /ä".encode("utf-16")), decode_robots_txt(b"Disallow: /\xe4")
    ('Disallow: /ä', 'Disallow: /\ufffd')
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    return body.decode("utf-8", "replace")


def filter_rules(text: str, agent: str) -> str:
    r"""Return the groups for `agent` (a product token in lower case) or for all crawlers (*), and the sitemaps.

    >>> filter_rules("User-agent: a\nDisallow: /\n\nUser-agent: *  # all\nAllow: /x\nSitemap: /s.xml", "topicrawl")
    'User-agent: *\nAllow: /x\nSitemap: /s.xml'
    """
    selected: list[str] = []
    after_agent, is_own_group = False, False
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        agent_line = _AGENT_LINE(line)
        if agent_line:
            # A User-agent line right after another one joins its group; one after rules begins a new group.
            is_own_group = is_own_group and after_agent
            after_agent = True
            name = _match_agent(agent_line[1], agent)
            if name:
                is_own_group = True
                selected.append(f"User-agent: {name}")
        elif _SITEMAP_LINE(line):
            selected.append(line)
        elif _RULE_LINE(line):  # RFC 9309: any other line ends no group
            after_agent = False
            if is_own_group:
                selected.append(line)
    return "\n".join(selected)


def _match_agent(name: str, agent: str) -> str:
    """Return "*" or `agent` if a User-agent value matches it (with or without a version), otherwise "".

    RFC 9309 allows only letters, "_" and "-" in a product token, so "topicrawl2" is the token "topicrawl". A crawler
    whose name has other characters, such as digits, is compared with the whole name before the version.
    """
    if name.split(None, 1)[:1] == ["*"]:
        return "*"
    token = _PRODUCT_TOKEN(name)
    whole_name = _NAME_WITHOUT_VERSION(name)
    return agent if agent in {match[0].lower() for match in (token, whole_name) if match} else ""
