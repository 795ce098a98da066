"""The HTML of the made-up web, in four fashions: today's, the tables and font tags of the nineties, nested
blocks with scripts, and a plain personal page. The same page is always the same bytes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from topicrawl.lab.sample_hosts import Host
from topicrawl.lab.sample_links import Anchor, Outlinks
from topicrawl.lab.sample_plan import LEXICONS, Planned
from topicrawl.lab.sample_prose import Chance, heading, mixed, sentences
from topicrawl.lab.sample_topics import TOPICS
from topicrawl.lab.sample_words import THEMES


@dataclass(frozen=True, slots=True)
class Layout:
    """How a host writes its pages."""

    paragraph: str
    heading: str
    item: str
    items: str
    page: str


LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "<p>%s</p>\n",
        "<h2>%s</h2>\n",
        "<li>%s</li>\n",
        "<ul>\n%s</ul>\n",
        """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="%(charset)s">
<title>%(title)s | %(site)s</title>
<meta name="viewport" content="width=device-width">
<style>
%(dress)s</style>
</head>
<body>
<header><span class="brand">%(site)s</span>
<nav class="menu">
%(menu)s</nav></header>
<main>
<article>
<h1>%(title)s</h1>
%(text)s</article>
<section class="related">
%(listed)s</section>
</main>
<aside>
%(aside)s</aside>
<footer>
%(footer)s<small>All rights reserved. Terms of use apply.</small></footer>
</body>
</html>
""",
    ),
    Layout(
        "<P><FONT FACE=Arial SIZE=2>%s</FONT>\n",
        "<H3><FONT COLOR=#003366>%s</FONT></H3>\n",
        "<LI>%s\n",
        "<UL>\n%s</UL>\n",
        """<HTML><HEAD><TITLE>%(site)s: %(title)s</TITLE>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=%(charset)s">
</HEAD>
<BODY BGCOLOR=#FFFFFF>
<TABLE WIDTH=760 BORDER=0><TR><TD COLSPAN=2><FONT SIZE=5>%(site)s</FONT><HR></TD></TR>
<TR><TD WIDTH=140 VALIGN=TOP BGCOLOR=#EEEEEE>
%(menu)s<BR>%(aside)s</TD>
<TD VALIGN=TOP>
<H1>%(title)s</H1>
%(text)s%(listed)s</TD></TR>
<TR><TD COLSPAN=2><HR><CENTER>%(footer)sBest viewed at 800 x 600</CENTER></TD></TR></TABLE>
<!--
%(dress)s-->
</BODY></HTML>
""",
    ),
    Layout(
        '<div class="txt"><p>%s</p></div>\n',
        '<div class="head"><h3>%s</h3></div>\n',
        '<div class="item"><span>%s</span></div>\n',
        '<div class="list">\n%s</div>\n',
        """<!doctype html>
<html><head><meta http-equiv="content-type" content="text/html; charset=%(charset)s">
<title>%(title)s</title>
<script>var page = {"site": "%(site)s", "ads": true};
/*
%(dress)s*/</script></head>
<body class="wide"><div id="wrap"><div id="top"><div class="logo">%(site)s</div>
<div class="bar">%(menu)s</div></div>
<div class="cols"><div class="col left"><div class="box">%(aside)s</div></div>
<div class="col mid"><div class="content"><h1 class="t">%(title)s</h1>
%(text)s<div class="more">%(listed)s</div></div></div></div>
<div id="foot">%(footer)s<p>We use cookies. By reading on you agree.</p></div></div>
<script>if (page.ads) { document.title = document.title + ""; }</script>
</body></html>
""",
    ),
    Layout(
        "<p>%s\n",
        "<h2>%s</h2>\n",
        "<li>%s\n",
        "<ol>\n%s</ol>\n",
        """<html>
<head><title>%(title)s</title>
<style type="text/css">
%(dress)s</style>
</head>
<body>
<p>%(site)s: %(menu)s
<hr>
<h1>%(title)s</h1>
%(text)s%(listed)s%(aside)s<hr>
<address>%(footer)s</address>
</body>
</html>
""",
    ),
)


def written(page: Planned, links: Outlinks, seed: int) -> bytes:
    """A page as its host sends it."""
    chance = random.Random(mixed(seed, 41, page.number)).random
    layout, host = LAYOUTS[page.host.layout], page.host
    html = layout.page % {
        "charset": host.charset,
        "title": page.title,
        "site": _site(host),
        "dress": _dress(host.index, seed),
        "menu": _row(links.menu),
        "text": _text(page, links.inline, layout, chance),
        "listed": _items(links.listed, layout),
        "aside": _items(links.aside, layout),
        "footer": _row(links.footer),
    }
    return html.encode(host.charset)


def calendar(host: Host, menu: tuple[Anchor, ...], year: int, month: int) -> bytes:
    """A month of a calendar without end: a month before, a month after, and days with nothing to tell."""
    layout = LAYOUTS[host.layout]
    ahead, back = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
    days = [Anchor(f"/calendar/{year}/{month:02}/{day}.html", f"Day {day}") for day in range(1, 29, 3)]
    steps = [
        Anchor(f"/calendar/{back[0]}/{back[1] + 1:02}/", "Previous month"),
        Anchor(f"/calendar/{ahead[0]}/{ahead[1] + 1:02}/", "Next month"),
    ]
    html = layout.page % {
        "charset": host.charset,
        "title": f"Calendar {month:02}/{year}",
        "site": _site(host),
        "dress": "",
        "menu": _row(menu),
        "text": layout.paragraph % "There are no events on these days. Choose another day or month.",
        "listed": _items(steps, layout),
        "aside": _items(days, layout),
        "footer": "",
    }
    return html.encode(host.charset)


def _site(host: Host) -> str:
    return host.name.removesuffix(".example").removeprefix("www.")


def _link(anchor: Anchor) -> str:
    return f'<a href="{anchor.href}">{anchor.text}</a>'


def _row(anchors: Iterable[Anchor]) -> str:
    return " | ".join([_link(anchor) for anchor in anchors]) + "\n"


def _items(anchors: list[Anchor], layout: Layout) -> str:
    if not anchors:
        return ""
    return layout.items % "".join([layout.item % _link(anchor) for anchor in anchors])


@lru_cache(maxsize=1024)
def _dress(host_index: int, seed: int) -> str:
    """Style rules that only take room, from one kilobyte to twenty, mostly little."""
    draw = mixed(seed, 42, host_index)
    rules = 30 + int((draw % 1000 / 1000) ** 3 * 420)
    return "".join(
        f".c{draw % 89}-{rule} {{ margin: {rule % 7}px; padding: {rule % 5}px; }}\n" for rule in range(rules)
    )


def _text(page: Planned, inline: list[Anchor], layout: Layout, chance: Chance) -> str:
    """Headings and paragraphs with the inline links strewn in."""
    prose = _prose(page, chance)
    # Each link closes a sentence of its own somewhere in the text.
    for anchor in inline:
        lead = f"On {anchor.lead[:1].lower()}{anchor.lead[1:]}:" if anchor.lead else "See"
        prose.insert(int(chance() * len(prose)), f"{lead} {_link(anchor)}.")
    parts: list[str] = []
    at = 0
    lexicon = LEXICONS[page.subjects[0]]
    while at < len(prose):
        size = 3 + int(chance() * 4)
        if at and chance() < 0.4:
            parts.append(layout.heading % heading(lexicon, chance))
        parts.append(layout.paragraph % " ".join(prose[at : at + size]))
        at += size
    return "".join(parts)


def _prose(page: Planned, chance: Chance) -> list[str]:
    """The sentences of a page: many in an article, few where links matter more."""
    if page.kind in ("about", "contact", "privacy"):
        return sentences(12 + int(chance() * 8), (LEXICONS[page.subjects[0]],), 0.08, chance)
    if page.kind == "hub":
        return sentences(3, (LEXICONS[page.subjects[0]],), 0.5, chance)
    lexicons = [LEXICONS[subject] for subject in page.subjects]
    count = 11 + int(chance() ** 1.5 * 33) if page.kind == "article" else 8 + int(chance() * 6)
    prose = sentences(count, lexicons, 0.3 + 0.5 * chance(), chance)
    if page.subjects[0] >= len(TOPICS) and chance() < 0.1:
        # A traveller mentions a volcano: words of a topic on a page that is about something else.
        prose += sentences(2 + count // 8, (LEXICONS[int(chance() * len(TOPICS))],), 1.0, chance)
    elif chance() < 0.5:
        prose += sentences(2, (LEXICONS[len(TOPICS) + int(chance() * len(THEMES))],), 1.0, chance)
    return prose
