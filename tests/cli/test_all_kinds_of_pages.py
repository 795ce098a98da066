"""One crawl of a local web with every kind of page that the real web has: all of them are found and stored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER
from tests.helpers.documents import docx, pdf
from tests.helpers.malformed_http import CASES
from tests.helpers.site.server import Answer, Reply, Request, make_redirect
from tests.helpers.site.threaded import run_site
from warcio.archiveiterator import ArchiveIterator

#: The site closes the connection after malformed responses, which the crawler notices within the delay.
OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0.05", "--min-free", "0", "--patience", "0.5", "--no-distinct"]
TOPIC = "dengue fever"
#: Words of which each page gets three of its own.
WORDS = "amber basalt cedar dolomite ember fjord garnet heather indigo juniper krill lagoon marble nectar orchid"
#: One response for each kind of damage. All have the same text, so more of them would be recognised as a trap.
MALFORMED = {f"/{case.damage[0]}": case for case in reversed(CASES.values()) if case.damage}
APP = """fetch('/api/case.json', {headers: {'X-Requested-With': 'app'}}).then(reply => reply.json()).then(found => {
    document.getElementById('app').innerHTML = `<h1>${found.title}</h1><p>${found.text}</p><a href="/from-script">
    more dengue fever</a>`})"""


def write_text(name: str) -> str:
    """Return text about the topic with words that other pages do not have."""
    words = WORDS.split()
    start = sum(name.encode())
    own = " ".join(words[(start + step) % len(words)] + name.replace("/", "") for step in range(3))
    return f"Dengue fever is spread by mosquitoes. On {own}: patients with dengue fever need rest."


def write_page(name: str, links: str = "") -> bytes:
    return f"<!DOCTYPE html><title>{name}</title><p>{write_text(name)}</p>{links}".encode()


def build_files() -> dict[str, Answer]:
    """Return the answers of the site by path."""
    malformed = {path: case.data for path, case in MALFORMED.items()}
    linked = [
        *("/wall", "/session", "/labelled-html.pdf", "/xhtml", "/octets", "/report.docx", "/late-charset", "/script"),
        *("/script-redirect", "/refresh", "/refresh-header", *malformed),
    ]
    links = "".join(f'<p><a href="{path}">dengue fever {path}</a>' for path in linked)
    areas = '<map><area href="/area" alt="dengue fever"></map><iframe src="/frame"></iframe>'
    head = '<link rel="alternate" type="application/rss+xml" href="/feed"><link rel="next" href="/next">'
    query = "/find?q=" + "".join(f"%{byte:02X}" for byte in "мир".encode("windows-1251"))
    late = f'{" " * 2000}<meta charset="windows-1251"><p>{write_text("late")}<a href="/find?q=мир">dengue fever</a>'
    japanese = f"<title>デング熱</title><p>{write_text('sjis')} デング熱は蚊によって広がる。"
    xhtml = (
        f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>{write_text("x")}</p></body></html>'
    )
    data = {"title": "Built by a script", "text": write_text("built")}
    sitemap = "<urlset><url><loc>/in-sitemap</loc></url><url><loc>/sjis</loc></url></urlset>"
    index = "<sitemapindex><sitemap><loc>/sitemap.xml.gz</loc></sitemap></sitemapindex>"
    feed = "<rss><channel><item><title>dengue fever news</title><link>/in-feed</link></item></channel></rss>"
    return malformed | {
        "/robots.txt": Reply(b"User-agent: *\nSitemap: /sitemaps.xml\n", type="text/plain"),
        "/": Reply(
            b"<!DOCTYPE html>" + head.encode() + write_page("/", links + areas),
            headers={"Link": '</in-link-header>; rel="alternate"; hreflang="de"'},
        ),
        "/sitemaps.xml": Reply(index.encode(), type="application/xml"),
        "/sitemap.xml.gz": Reply(gzip.compress(sitemap.encode()), type="application/octet-stream"),
        "/feed": Reply(feed.encode(), type="application/rss+xml"),
        "/labelled-html.pdf": Reply(pdf([[write_text("pdf")]], title="A PDF")),
        "/xhtml": Reply(xhtml.encode(), type="application/xml"),
        "/octets": Reply(write_page("/octets"), type="application/octet-stream"),
        "/report.docx": Reply(docx([write_text("docx")], title="A report"), type="application/msword"),
        "/late-charset": Reply(late.encode("windows-1251"), type="text/html"),
        "/sjis": Reply(japanese.encode("shift_jis"), type="text/html; charset=Shift_JIS"),
        query: Reply(write_page(query)),
        "/refresh": Reply(b'<meta http-equiv="refresh" content="0; url=/refreshed">'),
        "/refresh-header": Reply(headers={"Refresh": "0; url=/refreshed-by-header"}),
        "/script": Reply(b"<!DOCTYPE html><title>App</title><div id=app></div><script src=/app.js></script>"),
        "/app.js": Reply(APP.encode(), type="text/javascript"),
        "/api/case.json": Reply(json.dumps(data).encode(), type="application/json"),
        "/script-redirect": Reply(b"<script>location.replace('/script-target')</script>"),
        **{
            name: Reply(write_page(name))
            for name in (
                *("/in-sitemap", "/in-feed", "/area", "/frame", "/next", "/refreshed", "/from-script"),
                *("/in-link-header", "/refreshed-by-header"),
            )
        },
        "/script-target": Reply(write_page("/script-target")),
    }


FILES = build_files()


def answer_request(request: Request) -> Answer:
    """Answer a request. Two pages are behind a cookie wall."""
    cookies = request.headers.get("cookie", "")
    if request.path == "/wall":  # sets a cookie and redirects to itself
        headers = {"Location": "/wall", "Set-Cookie": "visited=yes; Path=/"}
        return Reply(write_page("/wall")) if "visited=yes" in cookies else Reply(status=302, headers=headers)
    if request.path == "/session":  # over a page that asks for consent
        return Reply(write_page("/session")) if "consent=1" in cookies else make_redirect("/consent?back=/session", 302)
    if request.path == "/consent?back=/session":
        return Reply(status=303, headers={"Location": "/session", "Set-Cookie": "consent=1; Path=/; HttpOnly"})
    return FILES.get(request.path, Reply(status=404))


def read_records(path: Path) -> list[tuple[str, str, bytes, str]]:
    """Return type, URL, body and identifier of each record of a WARC file, after checking its digests.

    The identifier of a conversion record is that of the original."""
    with path.open("rb") as file:
        return [
            (
                record.rec_type,
                record.rec_headers.get_header("WARC-Target-URI") or "",
                record.raw_stream.read(),
                record.rec_headers.get_header("WARC-Refers-To") or record.rec_headers.get_header("WARC-Record-ID"),
            )
            for record in ArchiveIterator(file, check_digests="raise")
        ]


@pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell`")
@pytest.mark.long
def test_every_kind_of_page_is_found_and_stored(run) -> None:  # type: ignore[no-untyped-def]
    with run_site(answer_request) as site:
        ran = run("crawl", TOPIC, "--seed", site.make_url("/"), *OPTIONS, "--render", "auto")
        assert ran.code == 0, ran.err
        address = site.make_url("")
        requested = site.list_paths()
    exported = run("export", "dengue-fever", "--to", "jsonl", "--out", "-", "--all", "--text", "visible").out
    texts = {row["url"].removeprefix(address): row["text"] for row in map(json.loads, exported.splitlines())}
    assert set(texts) == {
        "/",
        *("/in-sitemap", "/in-feed", "/area", "/frame", "/next", "/in-link-header"),  # not linked by <a>
        *("/wall", "/session"),  # behind cookies
        *("/labelled-html.pdf", "/xhtml", "/octets", "/report.docx"),  # with wrong media types
        *("/late-charset", "/find?q=%EC%E8%F0", "/sjis"),  # in other charsets
        *("/script", "/from-script", "/script-target"),  # built by scripts
        *("/refreshed", "/refreshed-by-header"),
        *MALFORMED,
    }
    for path, name in (("/labelled-html.pdf", "pdf"), ("/report.docx", "docx"), ("/script", "built"), ("/xhtml", "x")):
        assert write_text(name) in texts[path]
    assert "デング熱は蚊によって広がる" in texts["/sjis"]
    assert not {path for path in requested if path.startswith("/consent") and "back" not in path}
    why = run("why", "dengue-fever", f"{address}/script").out
    assert "rendered in a browser" in why

    records = read_records(Path("dengue-fever/warc/00001.warc.gz"))
    conversion = f"urn:conversion:{address}/script"
    ((original, reference),) = [
        (body, name) for kind, url, body, name in records if (kind, url) == ("response", f"{address}/script")
    ]
    ((rendered, refers_to),) = [
        (body, name) for kind, url, body, name in records if (kind, url) == ("conversion", conversion)
    ]
    assert (b"<div id=app></div>" in original, write_text("built").encode() in rendered) == (True, True)
    assert reference == refers_to
    assert run("export", "dengue-fever", "--to", "warc", "--all", "--out", "pages.warc.gz").code == 0
    assert ("conversion", conversion) in {record[:2] for record in read_records(Path("pages.warc.gz"))}
