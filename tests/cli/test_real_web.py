"""Crawls of sites that deviate from the standards, as many real sites do."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.live_site import live_site
from tests.helpers.malformed_http import CASES
from tests.helpers.site.server import Reply, Request, Site

from topicrawl import Settings, Topic, open_crawl

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5"]
TEXT = "<p>Dengue fever is spread by mosquitoes; patients with dengue need rest."


def test_links_on_a_page_in_another_charset_are_requested_in_that_charset(run) -> None:  # type: ignore[no-untyped-def]
    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/":
            html = (
                f'<title>x</title>{" " * 2000}<meta charset="windows-1251">{TEXT}<a href="/find?q=мир">dengue мир</a>'
            )
            return 200, {}, html.encode("windows-1251")
        return (200, {}, f"{TEXT} More.".encode()) if path == "/find?q=%EC%E8%F0" else (404, {}, b"no such page")

    with live_site(answer) as (address, requested):
        assert run("crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS).code == 0
    assert requested == ["/robots.txt", "/", "/find?q=%EC%E8%F0"]


def answer_with_sitemaps(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """A site whose pages are linked only in its sitemaps and its feed."""
    index = "<sitemapindex><sitemap><loc>/s.xml.gz</loc></sitemap></sitemapindex>"
    urls = "".join(f"<url><loc>/page/{name}</loc></url>" for name in ("one", "two"))
    feed = "<rss><channel><item><title>dengue fever news</title><link>/page/news</link></item></channel></rss>"
    feed_link = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    rules = b"User-agent: *\nDisallow: /secret\nSitemap: /index.xml\nSitemap: /secret.xml\n"
    files = {
        "/robots.txt": ("text/plain", rules),
        "/": ("text/html", f"<title>Home</title>{feed_link}{TEXT}".encode()),
        "/index.xml": ("application/xml", index.encode()),
        "/s.xml.gz": ("application/x-gzip", gzip.compress(f"<urlset>{urls}</urlset>".encode())),
        "/feed": ("application/rss+xml", feed.encode()),
    }
    if path.startswith("/page/"):
        name = path[6:]
        body = f"<title>{name}</title>{TEXT} On {name}: {name} {name[::-1]} {name * 2} is described.".encode()
        return 200, {}, body
    if path not in files:
        return 404, {}, b"no such page"
    kind, body = files[path]
    return 200, {"Content-Type": kind}, body


def test_pages_are_found_in_sitemaps_and_feeds(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer_with_sitemaps) as (address, requested):
        assert run("crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS).code == 0
    assert set(requested) == {
        *("/robots.txt", "/", "/index.xml", "/s.xml.gz", "/feed"),
        *("/page/one", "/page/two", "/page/news"),
    }
    assert len(requested) == len(set(requested))
    database = sqlite3.connect("dengue-fever/topicrawl.sqlite")
    stored = {str(url).removeprefix(address) for (url,) in database.execute("SELECT url FROM pages")}
    rows = database.execute("SELECT requested, failure FROM visits WHERE failure NOT NULL").fetchall()
    ((origin, sitemaps),) = database.execute("SELECT origin, sitemaps FROM hosts")
    database.close()
    assert (origin, json.loads(sitemaps)) == (address, [f"{address}/index.xml", f"{address}/secret.xml"])
    assert stored == {"/", "/page/one", "/page/two", "/page/news"}
    failures = {str(url).removeprefix(address): failure for url, failure in rows}
    lists = dict.fromkeys(("/index.xml", "/s.xml.gz", "/feed"), "link_list")
    assert failures == {"/secret.xml": "robots", **lists}
    exported = run("export", "dengue-fever", "--to", "jsonl", "--out", "-", "--all").out.splitlines()
    assert {json.loads(line)["url"].removeprefix(address) for line in exported} == stored
    status = json.loads(run("status", "dengue-fever", "--json").out)
    assert status["pages"] == 4
    why = run("why", "dengue-fever", f"{address}/page/news")
    assert "dengue fever news" in why.out
    assert f"{address}/feed" in why.out


def test_a_resumed_crawl_knows_which_links_lead_to_sitemaps(run) -> None:  # type: ignore[no-untyped-def]
    addresses: list[str] = []

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        text = {"Content-Type": "text/plain"}
        if path == "/robots.txt":
            return 200, text, b"User-agent: *\nSitemap: /urls.txt\n"
        if path == "/urls.txt":
            return 200, text, f"{addresses[0]}/one\n{addresses[0]}/two\n".encode()
        return 200, {}, f"<title>{path}</title>{TEXT} On {path * 3} and {path[::-1]} it is described.".encode()

    with live_site(answer) as (address, requested):
        addresses.append(address)
        crawl = ["crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS]
        assert run(*crawl, "--pages", "1").code == 0
        assert requested == ["/robots.txt", "/"]
        assert run(*crawl, "--pages", "9").code == 0
    assert sorted(requested[2:]) == ["/one", "/robots.txt", "/two", "/urls.txt"]
    database = sqlite3.connect("dengue-fever/topicrawl.sqlite")
    lists = database.execute("SELECT host, relation, links FROM link_lists").fetchall()
    failures = database.execute("SELECT failure FROM visits WHERE failure NOT NULL").fetchall()
    database.close()
    assert lists == [(address.removeprefix("http://"), "sitemap", 2)]
    assert failures == [("link_list",)]


def test_no_sitemaps_requests_no_sitemaps_and_feeds(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer_with_sitemaps) as (address, requested):
        assert run("crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS, "--no-sitemaps").code == 0
    assert requested == ["/robots.txt", "/"]


def test_malformed_responses_are_stored_and_marked(run) -> None:  # type: ignore[no-untyped-def]
    damaged = [name for name, case in CASES.items() if case.damage]
    links = "".join(f'<a href="/{number}">dengue fever</a>' for number in range(len(damaged)))
    found: dict[str, str] = {}

    def answer(request: Request) -> Reply | bytes:
        if request.path == "/robots.txt":
            return Reply(status=404)
        return Reply(f"{TEXT}{links}".encode()) if request.path == "/" else CASES[damaged[int(request.path[1:])]].data

    async def crawl() -> None:
        async with Site(answer) as site:
            settings = Settings(
                delay=0.0, concurrency=4, allow_net=("127.0.0.0/8",), min_free=0, distinct=False, patience=0.5
            )
            topic = Topic.of("dengue fever")
            async with open_crawl(Path("crawl"), topic, [site.make_url("/")], settings) as running:
                async for visit in running.visits():
                    if visit.failure is None and not visit.url.endswith("/"):
                        found[damaged[int(visit.url.rpartition("/")[2])]] = visit.detail

    asyncio.run(crawl())
    assert found == {name: f"damaged response: {', '.join(CASES[name].damage or ())}" for name in damaged}


def test_a_missing_browser_is_reported_before_anything_is_written(run) -> None:  # type: ignore[no-untyped-def]
    arguments = ["crawl", "dengue fever", "--seed", "http://127.0.0.1:8099/", *OPTIONS, "--render", "auto"]
    ran = run(*arguments, "--browser", "no-such-browser")
    assert ran.code == 2
    assert "apt install chromium-headless-shell" in ran.err
    assert not Path("dengue-fever").exists()
