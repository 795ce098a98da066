"""HTML of the sample web in four layouts: modern, tables and font tags of the nineties, nested blocks with scripts, and
a plain personal page. The output is deterministic."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from topicrawl.sample_web.hosts import SampleHost
from topicrawl.sample_web.links import SampleLink, SampleOutlinks
from topicrawl.sample_web.plan import TEMPLATES, PlannedPage
from topicrawl.sample_web.prose import RandomFunction, hash_numbers, make_heading, make_sentences
from topicrawl.sample_web.topics import TOPICS
from topicrawl.sample_web.vocabulary import THEMES


@dataclass(frozen=True, slots=True)
class PageLayout:
    """HTML templates of a layout."""

    paragraph: str
    heading: str
    item: str
    items: str
    page: str


LAYOUTS: tuple[PageLayout, ...] = (
    PageLayout(
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
    PageLayout(
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
    PageLayout(
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
    PageLayout(
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


def render_page(page: PlannedPage, links: SampleOutlinks, seed: int) -> bytes:
    """Return the HTML of a page in the layout and charset of its host."""
    chance = random.Random(hash_numbers(seed, 41, page.number)).random
    layout, host = LAYOUTS[page.host.layout], page.host
    html = layout.page % {
        "charset": host.charset,
        "title": page.title,
        "site": _format_site_name(host),
        "dress": _build_filler_css(host.index, seed),
        "menu": _render_link_row(links.menu),
        "text": _render_text(page, links.inline, layout, chance),
        "listed": _render_items(links.listing, layout),
        "aside": _render_items(links.aside, layout),
        "footer": _render_link_row(links.footer),
    }
    return html.encode(host.charset)


def render_calendar(host: SampleHost, menu: tuple[SampleLink, ...], year: int, month: int) -> bytes:
    """Return the page of one month of an infinite calendar, with links to the adjacent months and to days."""
    layout = LAYOUTS[host.layout]
    ahead, back = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
    days = [SampleLink(f"/calendar/{year}/{month:02}/{day}.html", f"Day {day}") for day in range(1, 29, 3)]
    steps = [
        SampleLink(f"/calendar/{back[0]}/{back[1] + 1:02}/", "Previous month"),
        SampleLink(f"/calendar/{ahead[0]}/{ahead[1] + 1:02}/", "Next month"),
    ]
    html = layout.page % {
        "charset": host.charset,
        "title": f"Calendar {month:02}/{year}",
        "site": _format_site_name(host),
        "dress": "",
        "menu": _render_link_row(menu),
        "text": layout.paragraph % "There are no events on these days. Choose another day or month.",
        "listed": _render_items(steps, layout),
        "aside": _render_items(days, layout),
        "footer": "",
    }
    return html.encode(host.charset)


def _format_site_name(host: SampleHost) -> str:
    return host.name.removesuffix(".example").removeprefix("www.")


def _render_link(anchor: SampleLink) -> str:
    return f'<a href="{anchor.href}">{anchor.text}</a>'


def _render_link_row(anchors: Iterable[SampleLink]) -> str:
    return " | ".join([_render_link(anchor) for anchor in anchors]) + "\n"


def _render_items(anchors: list[SampleLink], layout: PageLayout) -> str:
    if not anchors:
        return ""
    return layout.items % "".join([layout.item % _render_link(anchor) for anchor in anchors])


@lru_cache(maxsize=1024)
def _build_filler_css(host_index: int, seed: int) -> str:
    """Return unused CSS rules that increase the page size by one to twenty kilobytes, mostly little."""
    draw = hash_numbers(seed, 42, host_index)
    rules = 30 + int((draw % 1000 / 1000) ** 3 * 420)
    return "".join(
        f".c{draw % 89}-{rule} {{ margin: {rule % 7}px; padding: {rule % 5}px; }}\n" for rule in range(rules)
    )


def _render_text(page: PlannedPage, inline: list[SampleLink], layout: PageLayout, chance: RandomFunction) -> str:
    """Return the headings and paragraphs of a page with its inline links."""
    prose = _generate_sentences(page, chance)
    # Each link is in a separate sentence at a random position.
    for anchor in inline:
        lead = f"On {anchor.lead[:1].lower()}{anchor.lead[1:]}:" if anchor.lead else "See"
        prose.insert(int(chance() * len(prose)), f"{lead} {_render_link(anchor)}.")
    parts: list[str] = []
    position = 0
    lexicon = TEMPLATES[page.subjects[0]]
    while position < len(prose):
        size = 3 + int(chance() * 4)
        if position and chance() < 0.4:
            parts.append(layout.heading % make_heading(lexicon, chance))
        parts.append(layout.paragraph % " ".join(prose[position : position + size]))
        position += size
    return "".join(parts)


def _generate_sentences(page: PlannedPage, chance: RandomFunction) -> list[str]:
    """Return the sentences of a page: many for an article, few for a link list."""
    if page.kind in ("about", "contact", "privacy"):
        return make_sentences(12 + int(chance() * 8), (TEMPLATES[page.subjects[0]],), 0.08, chance)
    if page.kind == "hub":
        return make_sentences(3, (TEMPLATES[page.subjects[0]],), 0.5, chance)
    lexicons = [TEMPLATES[subject] for subject in page.subjects]
    count = 11 + int(chance() ** 1.5 * 33) if page.kind == "article" else 8 + int(chance() * 6)
    prose = make_sentences(count, lexicons, 0.3 + 0.5 * chance(), chance)
    if page.subjects[0] >= len(TOPICS) and chance() < 0.1:
        # Some pages on a theme mention words of a topic although they are off the topic.
        prose += make_sentences(2 + count // 8, (TEMPLATES[int(chance() * len(TOPICS))],), 1.0, chance)
    elif chance() < 0.5:
        prose += make_sentences(2, (TEMPLATES[len(TOPICS) + int(chance() * len(THEMES))],), 1.0, chance)
    return prose
