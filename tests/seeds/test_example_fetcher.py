"""Tests of fetching example pages and their backlinks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.helpers import documents as made

from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.fetch.replay import Recording
from topicrawl.models import Failure, Link, Response
from topicrawl.seeds.example_fetcher import ExampleFetcher
from topicrawl.seeds.page_queries import build_backlink_query
from topicrawl.seeds.provider import EngineAnswer, EngineHit
from topicrawl.seeds.search_engine_cache import SearchEngineCache
from topicrawl.topic import Topic

GOOD, BAD, HUB, SHY = (f"http://{name}.example/" for name in ("good", "bad", "hub", "shy"))
PAGES = {
    GOOD: b"<p>dengue fever</p>",
    BAD: b"<p>motor cars</p>",
    HUB: f"<a href='{GOOD}'>dengue</a>".encode(),
    SHY: b"<meta name=robots content=noindex><p>dengue</p>",
}


class Web:
    """Fake web and search engine that record their requests."""

    def __init__(self) -> None:
        self.fetched: list[str] = []
        self.queries: list[str] = []

    async def fetch(self, link: Link) -> Response:
        self.fetched.append(link.url)
        body = PAGES.get(link.url)
        if body is None:
            return Response(link.url, link.url, failure=Failure.NOT_FOUND)
        return Response(link.url, link.url, 200, {"content-type": "text/html"}, body)

    async def ask(self, query: str) -> Sequence[EngineAnswer]:
        self.queries.append(query)
        return [
            EngineAnswer(
                "one", (EngineHit(HUB, 1), EngineHit("http://gone.example/", 2), EngineHit(SHY, 3), EngineHit(GOOD, 4))
            )
        ]

    def gathered(self, directory: Path, most: int = 9) -> Path | None:
        gathering = ExampleFetcher(directory, self.fetch, self.ask, SearchEngineCache(directory), most)
        return asyncio.run(gathering.fetch_examples([GOOD], [BAD]))


def test_examples_and_backlinks_are_fetched(tmp_path: Path) -> None:
    web = Web()
    place = web.gathered(tmp_path)
    assert place is not None
    assert set(Recording(place)) == {GOOD, BAD, HUB}  # a page with noindex is not stored
    assert web.queries == [build_backlink_query(GOOD), build_backlink_query(BAD)]


def test_number_of_queries_is_limited(tmp_path: Path) -> None:
    web = Web()
    web.gathered(tmp_path, 1)
    assert web.queries == [build_backlink_query(GOOD)]
    web.gathered(tmp_path, 1)
    assert len(web.queries) == 1


def test_second_start_fetches_only_missing_pages(tmp_path: Path) -> None:
    Web().gathered(tmp_path)
    again = Web()
    again.gathered(tmp_path)
    assert again.queries == []
    assert set(again.fetched) == {SHY, "http://gone.example/"}


def test_damaged_archive_is_replaced(tmp_path: Path) -> None:
    place = Web().gathered(tmp_path)
    assert place is not None
    (file,) = (place / "warc").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    again = Web()
    assert again.gathered(tmp_path) == place
    assert {GOOD, BAD, HUB} <= set(again.fetched)
    assert not Recording(place).damage


def test_examples_can_be_documents(tmp_path: Path) -> None:
    async def fetch(link: Link) -> Response:
        return Response(link.url, link.url, 200, {"content-type": "application/zip"}, made.docx(["dengue fever"]))

    with SubprocessDocumentReader(processes=1) as documents:
        gathering = ExampleFetcher(tmp_path, fetch, Web().ask, SearchEngineCache(tmp_path), 0, documents)
        place = asyncio.run(gathering.fetch_examples([GOOD], []))
    assert place is not None
    page = RecordedTrainingData(Recording(place), Topic.of("dengue")).get_page(GOOD)
    assert page is not None
    assert page.text == "dengue fever"


def test_no_folder_if_nothing_could_be_fetched(tmp_path: Path) -> None:
    gathering = ExampleFetcher(tmp_path, Web().fetch, Web().ask, SearchEngineCache(tmp_path), 0)
    assert asyncio.run(gathering.fetch_examples(["http://gone.example/"], [])) is None
