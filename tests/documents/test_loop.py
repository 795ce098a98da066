"""Tests of documents in the crawl loop: conversion does not block other pages, archives are processed completely."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from msgspec import structs
from tests.engine.test_crawl import Rig, Web, html

from topicrawl.engine.crawl import Crawl
from topicrawl.engine.limits import CrawlLimits
from topicrawl.models import Link, ReadableDocument, Response, UnpackedResponse

A, SLOW, B, C = (f"http://{name}.example/" for name in ("a", "slow", "b", "c"))


class SlowReader:
    """Fake document reader that treats the pages of one host as documents and converts them slowly."""

    def __init__(self, web: Web, members: int = 0) -> None:
        self.web, self.members = web, members

    def is_document(self, response: Response) -> bool:
        return response.url == SLOW

    async def unpack_document(self, response: Response, link: Link) -> UnpackedResponse:
        for _ in range(1000):
            await asyncio.sleep(0)
        assert {B, C} <= set(self.web.asked)
        readable = structs.replace(response, readable=ReadableDocument("text/html", html("dengue")))
        files = [
            (Link(url, link.url, "x"), structs.replace(response, url=url, final_url=url, body=html(f"dengue {n}")))
            for n in range(self.members)
            if (url := f"{SLOW}!/{n}")
        ]
        return UnpackedResponse(readable, files)


def rig(members: int = 0, pages: int = 0) -> Rig:
    links = [(SLOW, "dengue fever"), (B, "dengue"), (C, "fever")]
    built = Rig(
        Web({A: html("dengue", links), SLOW: html(), B: html("b"), C: html("c")}),
        budget=CrawlLimits(concurrency=2, pages=pages, focus=0.0),
    )
    built.crawl = Crawl(replace(built.crawl.context, document_reader=SlowReader(built.web, members)), built.budget)
    return built


def test_a_slow_document_does_not_delay_other_pages() -> None:
    assert rig().run() == [A, B, C, SLOW]


def test_an_archive_is_processed_completely_despite_the_page_limit() -> None:
    crawl = rig(members=3, pages=5)
    visits = asyncio.run(crawl.go())
    assert [visit.url for visit in visits[3:]] == [SLOW, *(f"{SLOW}!/{n}" for n in range(3))]
    assert [visit.step for visit in visits] == list(range(1, 8))
    assert crawl.crawl.pages == 7
    assert visits[-1].link.source == SLOW
    assert visits[-1].priority == visits[3].priority
