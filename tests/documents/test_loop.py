"""The loop and documents: reading one does not stop the others, and an archive is taken whole."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tests.test_crawl import Rig, Web, html

from topicrawl.budget import Budget
from topicrawl.crawl import Crawl
from topicrawl.records import Link, Readable, Response, Unfolded

A, SLOW, B, C = (f"http://{name}.example/" for name in ("a", "slow", "b", "c"))


class Reader:
    """Takes what is on one host for documents, and is slow to read them."""

    def __init__(self, web: Web, members: int = 0) -> None:
        self.web, self.members = web, members

    def wanted(self, response: Response) -> bool:
        return response.url == SLOW

    async def unfolded(self, response: Response, link: Link) -> Unfolded:
        for _ in range(1000):
            await asyncio.sleep(0)
        assert {B, C} <= set(self.web.asked)
        readable = replace(response, readable=Readable("text/html", html("dengue")))
        files = [
            (Link(url, link.url, "x"), replace(response, url=url, final_url=url, body=html(f"dengue {n}")))
            for n in range(self.members)
            if (url := f"{SLOW}!/{n}")
        ]
        return Unfolded(readable, files)


def rig(members: int = 0, pages: int = 0) -> Rig:
    links = [(SLOW, "dengue fever"), (B, "dengue"), (C, "fever")]
    made = Rig(
        Web({A: html("dengue", links), SLOW: html(), B: html("b"), C: html("c")}),
        budget=Budget(concurrency=2, pages=pages, focus=0.0),
    )
    made.crawl = Crawl(replace(made.crawl.parts, documents=Reader(made.web, members)), made.budget)
    return made


def test_a_document_that_is_slow_to_read_does_not_hold_up_the_others() -> None:
    assert rig().run() == [A, B, C, SLOW]


def test_an_archive_is_taken_whole_also_when_the_last_page_was_wanted() -> None:
    crawl = rig(members=3, pages=5)
    visits = asyncio.run(crawl.go())
    assert [visit.url for visit in visits[3:]] == [SLOW, *(f"{SLOW}!/{n}" for n in range(3))]
    assert [visit.step for visit in visits] == list(range(1, 8))
    assert crawl.crawl.pages == 7
    assert visits[-1].link.source == SLOW
    assert visits[-1].place == visits[3].place
