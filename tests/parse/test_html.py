"""Tests of the HTML parser: text, words, links and their context, metadata."""

from __future__ import annotations

import pytest

from topicrawl.models import Failure, Link, LinkContextLevel, Page, Response
from topicrawl.parse import parse_response

URL = "http://e.org/d/page"


def page(html: str | bytes, *, context: bool = True, depth: int = 0, **headers: str) -> Page:
    body = html if isinstance(html, bytes) else html.encode()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers.setdefault("content-type", "text/html; charset=utf-8")
    found = parse_response(Response(URL, URL, 200, headers, body), Link(URL, depth=depth), context=context)
    assert isinstance(found, Page)
    return found


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two", "one\ntwo"),
        ("<b>H</b>ello <i>w</i>orld", "Hello world"),
        ("a<br>b<hr>c", "a\nb\nc"),
        ("<table><tr><td>x<td>y<tr><td>z</table>w", "x\ny\nz\nw"),
        ("<font><p>x</p><p>y</p></font>", "x\ny"),
        ("<ul><li>x<li>y</ul>", "x\ny"),
        ("a \n\t b&nbsp;c", "a b c"),
        ("x<script>var y</script><style>p{}</style>z", "xz"),
        ("x<noscript>y</noscript><template>t</template>z", "xz"),
        ("x<div hidden>y</div>z", "x\nz"),
        ("x<p style='DISPLAY : none'>y</p>z", "x\nz"),
        ("x<p style='visibility:hidden'><b>y</b></p>z", "x\nz"),
        ("x<p style='overflow:hidden'>y</p>z", "x\ny\nz"),
        ("<body style='display:none'>x", "x"),
        ("x<!-- y -->z <!WA0> w", "xz w"),
        ("<title>t</title>x", "x"),
        ("&lt;b&gt; &amp; caf&eacute; &#x41;", "<b> & café A"),
        ("<a href=1>x</a><a href=2>y</a>", "x y"),
        ("<a href=1>bird</a>s", "birds"),
        ("x <a href=1><img src=i alt=pic></a> y", "x y"),
        ("<p>x <a href=1><img src=i></a></p><p><a href=2><img src=i></a></p><p>y", "x\ny"),
        ("<a href=1><h2>x</h2><p>y</p></a>", "x\ny"),
        ("<select><option>x<option>y</select>", "x\ny"),
        ("", ""),
    ],
)
def test_the_text_is_the_visible_text_with_one_block_per_line(html: str, text: str) -> None:
    assert page(html or " ").text == text


def test_words_do_not_depend_on_the_context_option() -> None:
    html = "<p>Rare <a href=1>bird</a>s, un<a href=2>kind</a> ones; <a href=3>x</a><a href=4>y</a> <b>m</b>ore."
    expected = ("rare", "birds", "unkind", "ones", "x", "y", "more")
    assert page(html).words == page(html, context=False).words == expected


def test_a_link_has_its_context() -> None:
    html = """<div class="main wide"><h2>Owls</h2><p>Night falls. The
      <a href="../owl?x=1#top" rel="NoFollow  ugc" title="A bird">barn <i>owl</i></a>
      hunts in the dark. Day.</p></div>"""
    (link,) = page(html, depth=2).links
    assert link == Link(
        url="http://e.org/owl?x=1",
        source=URL,
        anchor="barn owl",
        alt="A bird",
        before=("owls", "night", "falls"),
        after=("hunts", "dark", "day"),
        sentence="The barn owl hunts in the dark.",
        heading="Owls",
        tag_path="body/div.main/p",
        position=0,
        rel="nofollow ugc",
        depth=3,
    )
    with pytest.raises(AttributeError):
        link.url = ""  # type: ignore[misc]


def test_without_context_a_link_has_its_url_and_texts() -> None:
    (link,) = page("<h1>H</h1><ul><li>See <a href=x rel=next>this <img alt=pic></a> now", context=False).links
    assert link == Link("http://e.org/d/x", URL, "this", "pic", rel="next", depth=1)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=x>1</a><a href=y>2</a><a href=x>3</a>", [("x", "1"), ("y", "2"), ("x", "3")]),
        ("<a href=#top>t</a><a href=page>s</a><a name=n>n</a>", []),
        ("<a href=mailto:x@y>m</a><a href='javascript:void(0)'>j</a><a href=ftp://f/>f</a>", []),
        ("<map><area href=x alt=north></map>", [("x", "")]),
        ("<svg><a xlink:href=x><text>north</text></a><a href=y>south</a></svg>", [("x", "north"), ("y", "south")]),
        ("<iframe src=x>none</iframe>", [("x", "")]),
        ("<frameset><frame src=x><frame src=y></frameset>", [("x", ""), ("y", "")]),
        ("<frameset><frame src=x><noframes>See <a href=z>z</a></noframes></frameset>", [("x", ""), ("z", "z")]),
        ("<meta http-equiv=Refresh content='0; url=x'>", [("x", "")]),
        ("<div hidden>no <a href=x>hid</a></div>", [("x", "hid")]),
        ("<a href=x>a<object><a href=y>b</a></object>c</a>", [("x", "a"), ("y", "b")]),
        ("<a href=x> a \n b </a>", [("x", "a b")]),
        ("<a href=' x '>t</a>", [("x", "t")]),
        ("<template><a href=x>t</a></template>", []),
        ("<table><a href=x>lost</a><tr><td><a href=y>in</a></table>", [("x", "lost"), ("y", "in")]),
    ],
)
def test_links_are_found_in_order(html: str, expected: list[tuple[str, str]]) -> None:
    found = page(html).links
    assert [(link.url.removeprefix("http://e.org/d/"), link.anchor) for link in found] == expected
    assert [link.position for link in found] == list(range(len(found)))


@pytest.mark.parametrize(
    ("html", "alt"),
    [
        ("<a href=x><img alt='a  pic'></a>", "a  pic"),
        ("<a href=x><img alt=one><img alt=two></a>", "one two"),
        ("<a href=x title=t>text</a>", "t"),
        ("<a href=x title=t><img alt=''></a>", "t"),
        ("<area href=x alt=north>", "north"),
        ("<a href=x>t</a>", ""),
    ],
)
def test_alt_is_the_text_of_images_or_the_title(html: str, alt: str) -> None:
    assert page(html).links[0].alt == alt


def test_windows_hold_twenty_words_and_count_other_links_as_text() -> None:
    many = " ".join(f"w{i}" for i in range(30))
    first, second = page(f"<p>{many} <a href=x>one</a> <a href=y>two</a> {many}").links
    assert first.before == tuple(f"w{i}" for i in range(10, 30))
    assert first.after == ("two", *(f"w{i}" for i in range(19)))
    assert second.before == (*(f"w{i}" for i in range(11, 30)), "one")
    assert second.after == tuple(f"w{i}" for i in range(20))


def test_the_heading_is_the_nearest_above() -> None:
    found = page("<a href=0>a</a><h1>One</h1><a href=1>b</a><h3>Two <a href=2>c</a></h3><a href=3>d</a>").links
    assert [link.heading for link in found] == ["", "One", "Two c", "Two c"]


def test_the_tag_path_names_the_nearest_elements() -> None:
    deep = "<div>" * 10 + "<ul class='nav  top'><li><a href=x>x</a><li><a href=y>y</a>"
    found = page(deep + "</ul>" + "</div>" * 10 + "<a href=z>z</a>").links
    path = "div/div/div/div/ul.nav/li"
    assert [link.tag_path for link in found] == [path, path, "body"]


def test_the_base_element_changes_links() -> None:
    found = page("<base href=/other/><base href=/no/><a href=x>x</a><link rel=canonical href=c>")
    assert found.links[0].url == "http://e.org/other/x"
    assert found.canonical == "http://e.org/other/c"


def test_title_and_headings_are_folded() -> None:
    found = page("<title> A\n &amp;  B </title><h1>O<b>n</b>e<br>two</h1><svg><title>no</title></svg><h6>six</h6>")
    assert (found.title, found.headings) == ("A & B", ("One two", "six"))
    assert page("<svg><title>no</title></svg>").title == ""


@pytest.mark.parametrize(
    ("html", "header", "expected"),
    [
        ("<meta name=robots content='noindex, follow'>", "", {"noindex"}),
        ("<META NAME=Robots CONTENT=NONE>", "", {"noindex", "nofollow"}),
        ("<meta name=topicrawl content=nofollow>", "", {"nofollow"}),
        ("<meta name=googlebot content=noindex>", "", set()),
        ("x", "noindex", {"noindex"}),
        ("<meta name=robots content='NoArchive'>", "", {"noarchive"}),
        ("<meta name=topicrawl content='nocache'>", "googlebot: noindex", {"noarchive"}),
        ("x", "noarchive, nofollow", {"noarchive", "nofollow"}),
        ("x", "otherbot: noindex, nofollow", set()),
        ("x", "otherbot: noindex, topicrawl: nofollow", {"nofollow"}),
        ("x", "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", {"noindex"}),
    ],
)
def test_robots_directives_are_read_from_metas_and_header(html: str, header: str, expected: set[str]) -> None:
    assert page(html, x_robots_tag=header).directives == expected


def test_digests_are_equal_for_equal_texts_and_empty_without_text() -> None:
    one, two = page("<p>Same <b>text</b>"), page("<div>Same   text</div><script>1</script>")
    assert one.digest == two.digest != page("<p>Other text").digest
    assert page("<img src=x>").digest == ""


@pytest.mark.parametrize("forged", ["\ue000", "&#xE000;", "\ue001", "&#57345;", "\ue005", "&#xE00F;"])
def test_forged_markers_are_removed(forged: str) -> None:
    html = f"<title>t{forged}</title><h1>h{forged}</h1>a {forged}b <a href=x>c{forged}d</a> e{forged} <a href=y>f</a>"
    found = page(html)
    assert found.text == "h\na b cd e f"
    assert (found.title, found.headings) == ("t", ("h",))
    assert [link.anchor for link in found.links] == ["cd", "f"]
    assert found.words == ("h", "a", "b", "cd", "e", "f")


def test_forged_markers_are_removed_from_noframes() -> None:
    found = page("<frameset><frame src=f><noframes>&#xE000;x <a href=y>z&#xE001;</a></noframes></frameset>")
    assert found.text == "x z"
    assert [(link.rel, link.anchor) for link in found.links] == [("frame", ""), ("", "z")]


def test_the_language_is_detected_from_the_text_or_declared_by_the_page() -> None:
    english = "The owl is a bird that hunts at night, and it has been known to people for a very long time. " * 3
    german = "Die Eule ist ein Vogel, der in der Nacht jagt, und sie ist den Menschen seit langer Zeit bekannt. " * 3
    assert page(english).language == "en"
    assert page(f"<html lang=en>{german}").language == "de"
    assert page("<html lang=fr-CA>Bonjour").language == "fr"
    assert page("<p>Hi").language == ""


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/pdf", b"%PDF", Failure.CONTENT_TYPE),
        ("image/png", b"x", Failure.CONTENT_TYPE),
        ("", b"\x00\x01\x02", Failure.CONTENT_TYPE),
        ("text/html", b"", Failure.EMPTY),
    ],
)
def test_unreadable_bodies_give_a_failure(kind: str, body: bytes, expected: Failure) -> None:
    assert parse_response(Response(URL, URL, 200, {"content-type": kind}, body), Link(URL)) is expected


def test_a_missing_content_type_is_sniffed() -> None:
    for body, title in ((b"<html><title>T</title>", "T"), (b"First\nsecond", "First")):
        found = parse_response(Response(URL, URL, 200, {}, body), Link(URL))
        assert isinstance(found, Page)
        assert found.title == title


def test_the_context_level_controls_the_sentence_of_a_link() -> None:
    body = b"<p>Owls hunt. The <a href=/barn>barn owl</a> sleeps.</p>"
    response = Response("http://e.org/", "http://e.org/", 200, {"content-type": "text/html"}, body)
    found = []
    for around in (LinkContextLevel.FULL, LinkContextLevel.WITHOUT_SENTENCE, LinkContextLevel.NONE):
        page = parse_response(response, Link("http://e.org/"), context=around)
        assert isinstance(page, Page)
        found.append((page.links[0].sentence, page.links[0].after))
    assert found == [("The barn owl sleeps.", ("sleeps",)), ("", ("sleeps",)), ("", ())]
