"""Tests of reducing robots.txt to the groups of one crawler, including hostile files."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from topicrawl.fetch.robots_rules import filter_rules

AGENT = "topicrawl"

#: robots.txt, path, allowed?
CASES = [
    ("", "/x", True),
    ("User-agent: *\nDisallow: /", "/x", False),
    ("User-agent: *\nDisallow: /", "/robots.txt", True),
    ("User-agent: *\nDisallow:", "/x", True),
    ("user-AGENT : TopiCrawl\nDisallow: /a", "/a/b", False),
    ("User-agent: topicrawl/2.0\nDisallow: /a", "/a/b", False),
    ("User-agent: topic\nDisallow: /", "/x", True),  # another crawler whose name is a prefix of ours
    ("User-agent: topicrawler\nDisallow: /", "/x", True),
    ("User-agent: other\nDisallow: /", "/x", True),
    ("User-agent: *bot\nDisallow: /", "/x", True),
    # the group of the crawler takes precedence over the group for all, wherever it stands
    ("User-agent: *\nDisallow: /\n\nUser-agent: topicrawl\nDisallow: /b", "/x", True),
    ("User-agent: topicrawl\nDisallow: /b\n\nUser-agent: *\nDisallow: /", "/b", False),
    # two groups for the crawler are merged
    ("User-agent: topicrawl\nDisallow: /a\nUser-agent: x\nAllow: /\nUser-agent: topicrawl\nDisallow: /b", "/b", False),
    # several user agents of one group, with empty lines and comments between
    ("User-agent: a\nUser-agent: topicrawl\n# and\n\nUser-agent: b\nDisallow: /a", "/a", False),
    ("User-agent: a\nDisallow: /x\nUser-agent: topicrawl\nDisallow: /a", "/x", True),
    # a sitemap between names and rules does not end the group
    ("User-agent: topicrawl\nSitemap: http://x/s.xml\nDisallow: /a", "/a", False),
    # nor does a line that is no rule (RFC 9309, section 2.2.4); a misspelt rule is one
    ("User-agent: topicrawl\nUnknown-Line: x\nUser-agent: *\nDisallow: /", "/a", False),
    ("User-agent: topicrawl\nUnknown-Line: x\nDisallow: /a", "/a", False),
    ("User-agent: topicrawl\nDissallow: /b\nUser-agent: other\nDisallow: /a", "/a", True),
    ("User-agent: topicrawl\nCrawl-delay: 2\nUser-agent: other\nDisallow: /a", "/a", True),
    # rules before the first user agent apply to no crawler
    ("Disallow: /\nUser-agent: other\nAllow: /", "/x", True),
    # the longest rule wins; in a tie, allow wins
    ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b", True),
    ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
    ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
    ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", True),
    ("User-agent: *\nDisallow: /caf%C3%A9", "/caf%C3%A9/x", False),
    ("User-agent: *\r\nDisallow: /a\r\n", "/a", False),
    ("User-agent: *\rDisallow: /a\r", "/a", False),
    ("<!DOCTYPE html><html><body>User-agent: *<br>Disallow: /</body></html>", "/x", True),
    ("User-agent: *\nDisallow: /a\n\0\0\udce9binary\nDisallow: /b", "/b", False),
]


@pytest.mark.parametrize(("text", "path", "allowed"), CASES)
def test_the_rules_for_the_crawler_decide(text: str, path: str, allowed: bool) -> None:
    rules = Protego.parse(filter_rules(text, AGENT))
    assert rules.can_fetch(f"http://example.org{path}", AGENT) is allowed


#: User-agent line, name of the crawler, whether the group applies
NAMES = [
    ("owl2", "owl2", True),
    ("Owl2/1.0", "owl2", True),
    ("owl2 (+http://a.test)", "owl2", True),
    ("4owls", "4owls", True),
    ("owl", "owl2", False),
    ("owl23", "owl2", False),
    ("4owls", "owls", False),
    ("owl2", "owl", True),  # the product token of RFC 9309 ends before the digit
    ("owl.net", "owl", True),
]


@pytest.mark.parametrize(("line", "agent", "applies"), NAMES)
def test_a_group_is_found_by_the_name_of_the_crawler(line: str, agent: str, applies: bool) -> None:
    rules = Protego.parse(filter_rules(f"User-agent: {line}\nDisallow: /", agent))
    assert rules.can_fetch("http://x/a", agent) is not applies


LINES = st.sampled_from(
    [
        "User-agent: *",
        "User-agent: topicrawl",
        "User-agent: other",
        "useragent other",
        "Disallow: /a",
        "Allow: /a/b",
        "Disallow: /",
        "Crawl-delay: 3",
        "Sitemap: http://x/s",
        "",
        "# comment",
        "Unknown: x",
    ]
)


@given(st.lists(LINES, max_size=20), st.sampled_from(["/", "/a", "/a/b", "/c"]))
def test_filtering_never_changes_the_decision(lines: list[str], path: str) -> None:
    # RFC 9309: unknown lines end no group. For Protego they do.
    whole = Protego.parse("\n".join(line for line in lines if not line.startswith("Unknown")))
    part = Protego.parse(filter_rules("\n".join(lines), AGENT))
    url = f"http://x{path}"
    assert part.can_fetch(url, AGENT) == whole.can_fetch(url, AGENT)
    assert part.crawl_delay(AGENT) == whole.crawl_delay(AGENT)
    assert list(part.sitemaps) == list(whole.sitemaps)


HOSTILE = {
    "names times rules": "".join(f"User-agent: b{n}\n" for n in range(15_000))
    + "User-agent: *\n"
    + "".join(f"Disallow: /{n}\n" for n in range(15_000)),
    "our own name again and again": "User-agent: topicrawl\nUser-agent: *\n" * 8000 + "Disallow: /x\n" * 8000,
    "wildcards": "User-agent: *\n" + "".join(f"Disallow: /{'a*' * 20}{n}\n" for n in range(9000)),
    "one line": "User-agent: *" + " " * 500_000 + "x",
    "colons": ":" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_processed_quickly(name: str) -> None:
    started = time.process_time()
    rules = Protego.parse(filter_rules(HOSTILE[name], AGENT))
    rules.can_fetch("http://x/" + "a" * 2000, AGENT)
    assert time.process_time() - started < 10.0
