"""Of a robots.txt, what concerns us is kept, and a file made to hurt does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from topicrawl.fetch.rules import reduced

AGENT = "topicrawl"

#: robots.txt, path, allowed?
CASES = [
    ("", "/x", True),
    ("User-agent: *\nDisallow: /", "/x", False),
    ("User-agent: *\nDisallow: /", "/robots.txt", True),
    ("User-agent: *\nDisallow:", "/x", True),
    ("user-AGENT : TopiCrawl\nDisallow: /a", "/a/b", False),
    ("User-agent: topicrawl/2.0\nDisallow: /a", "/a/b", False),
    ("User-agent: topic\nDisallow: /", "/x", True),  # another crawler whose name begins ours
    ("User-agent: topicrawler\nDisallow: /", "/x", True),
    ("User-agent: other\nDisallow: /", "/x", True),
    ("User-agent: *bot\nDisallow: /", "/x", True),
    # our own group wins over the one for everybody, wherever it stands
    ("User-agent: *\nDisallow: /\n\nUser-agent: topicrawl\nDisallow: /b", "/x", True),
    ("User-agent: topicrawl\nDisallow: /b\n\nUser-agent: *\nDisallow: /", "/b", False),
    # two groups for us are one
    ("User-agent: topicrawl\nDisallow: /a\nUser-agent: x\nAllow: /\nUser-agent: topicrawl\nDisallow: /b", "/b", False),
    # several names in front of one group, blank lines and comments between
    ("User-agent: a\nUser-agent: topicrawl\n# and\n\nUser-agent: b\nDisallow: /a", "/a", False),
    ("User-agent: a\nDisallow: /x\nUser-agent: topicrawl\nDisallow: /a", "/x", True),
    # a sitemap between names and rules does not end the group
    ("User-agent: topicrawl\nSitemap: http://x/s.xml\nDisallow: /a", "/a", False),
    # rules in front of the first name belong to nobody
    ("Disallow: /\nUser-agent: other\nAllow: /", "/x", True),
    # the longest rule wins, a tie goes to allow
    ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b", True),
    ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
    ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
    ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", True),
    ("User-agent: *\nDisallow: /caf%C3%A9", "/caf%C3%A9/x", False),
    ("User-agent: *\r\nDisallow: /a\r\n", "/a", False),
    ("User-agent: *\rDisallow: /a\r", "/a", False),
    ("<!DOCTYPE html><html><body>User-agent: *<br>Disallow: /</body></html>", "/x", True),
    ("User-agent: *\nDisallow: /a\n\0\0\udce9binary\nDisallow: /b", "/b", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "allowed"), CASES)
def test_the_rules_for_us_decide(text: str, path: str, allowed: bool) -> None:
    rules = Protego.parse(reduced(text, AGENT))
    assert rules.can_fetch(f"http://example.org{path}", AGENT) is allowed


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
def test_leaving_out_the_others_never_changes_the_verdict(lines: list[str], path: str) -> None:
    text = "\n".join(lines)
    whole, part = Protego.parse(text), Protego.parse(reduced(text, AGENT))
    url = f"http://x{path}"
    assert part.can_fetch(url, AGENT) == whole.can_fetch(url, AGENT)
    assert part.crawl_delay(AGENT) == whole.crawl_delay(AGENT)
    assert list(part.sitemaps) == list(whole.sitemaps)


HURTFUL = {
    "names times rules": "".join(f"User-agent: b{n}\n" for n in range(15_000))
    + "User-agent: *\n"
    + "".join(f"Disallow: /{n}\n" for n in range(15_000)),
    "our own name again and again": "User-agent: topicrawl\nUser-agent: *\n" * 8000 + "Disallow: /x\n" * 8000,
    "wildcards": "User-agent: *\n" + "".join(f"Disallow: /{'a*' * 20}{n}\n" for n in range(9000)),
    "one line": "User-agent: *" + " " * 500_000 + "x",
    "colons": ":" * 500_000,
}


@pytest.mark.parametrize("name", HURTFUL)
def test_a_file_made_to_hurt_takes_no_more_than_a_moment(name: str) -> None:
    begun = time.process_time()
    rules = Protego.parse(reduced(HURTFUL[name], AGENT))
    rules.can_fetch("http://x/" + "a" * 2000, AGENT)
    assert time.process_time() - begun < 10.0
