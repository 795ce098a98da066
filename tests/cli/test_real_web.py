"""Crawls of sites that deviate from the standards, as many real sites do."""

from __future__ import annotations

from collections.abc import Mapping

from tests.helpers.live_site import live_site

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
