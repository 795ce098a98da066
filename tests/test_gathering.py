"""Examples and who links to them, read into a folder: bounded, kept, and begun anew when it was torn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.documents import made

from topicrawl.collection.told import Told
from topicrawl.documents.reading import Documents
from topicrawl.fetch.replay import Recording
from topicrawl.gathering import Gathering
from topicrawl.lab.material import Recorded
from topicrawl.records import Failure, Link, Response
from topicrawl.seeds.provider import Answer, Hit
from topicrawl.seeds.questions import who_links_to
from topicrawl.topic import Topic

GOOD, BAD, HUB, SHY = (f"http://{name}.example/" for name in ("good", "bad", "hub", "shy"))
PAGES = {
    GOOD: b"<p>dengue fever</p>",
    BAD: b"<p>motor cars</p>",
    HUB: f"<a href='{GOOD}'>dengue</a>".encode(),
    SHY: b"<meta name=robots content=noindex><p>dengue</p>",
}


class Web:
    """Pages and an engine, and what was asked of both."""

    def __init__(self) -> None:
        self.fetched: list[str] = []
        self.queries: list[str] = []

    async def fetch(self, link: Link) -> Response:
        self.fetched.append(link.url)
        body = PAGES.get(link.url)
        if body is None:
            return Response(link.url, link.url, failure=Failure.NOT_FOUND)
        return Response(link.url, link.url, 200, {"content-type": "text/html"}, body)

    async def ask(self, query: str) -> Sequence[Answer]:
        self.queries.append(query)
        return [Answer("one", (Hit(HUB, 1), Hit("http://gone.example/", 2), Hit(SHY, 3), Hit(GOOD, 4)))]

    def gathered(self, directory: Path, most: int = 9) -> Path | None:
        gathering = Gathering(directory, self.fetch, self.ask, Told(directory), most)
        return asyncio.run(gathering.read([GOOD], [BAD]))


def test_examples_and_the_pages_that_engines_name_are_read(tmp_path: Path) -> None:
    web = Web()
    place = web.gathered(tmp_path)
    assert place is not None
    assert set(Recording(place)) == {GOOD, BAD, HUB}  # a page that asks not to be kept is not
    assert web.queries == [who_links_to(GOOD), who_links_to(BAD)]


def test_no_more_questions_are_asked_than_allowed(tmp_path: Path) -> None:
    web = Web()
    web.gathered(tmp_path, 1)
    assert web.queries == [who_links_to(GOOD)]
    web.gathered(tmp_path, 1)
    assert len(web.queries) == 1


def test_a_second_start_reads_only_what_is_missing(tmp_path: Path) -> None:
    Web().gathered(tmp_path)
    again = Web()
    again.gathered(tmp_path)
    assert again.queries == []
    assert set(again.fetched) == {SHY, "http://gone.example/"}


def test_a_torn_archive_begins_anew(tmp_path: Path) -> None:
    place = Web().gathered(tmp_path)
    assert place is not None
    (file,) = (place / "warc").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    again = Web()
    assert again.gathered(tmp_path) == place
    assert {GOOD, BAD, HUB} <= set(again.fetched)
    assert not Recording(place).torn


def test_examples_may_be_documents(tmp_path: Path) -> None:
    async def fetch(link: Link) -> Response:
        return Response(link.url, link.url, 200, {"content-type": "application/zip"}, made.docx(["dengue fever"]))

    with Documents(processes=1) as documents:
        gathering = Gathering(tmp_path, fetch, Web().ask, Told(tmp_path), 0, documents)
        place = asyncio.run(gathering.read([GOOD], []))
    assert place is not None
    page = Recorded(Recording(place), Topic.of("dengue")).page(GOOD)
    assert page is not None
    assert page.text == "dengue fever"


def test_when_nothing_can_be_read_there_is_no_folder_to_learn_from(tmp_path: Path) -> None:
    gathering = Gathering(tmp_path, Web().fetch, Web().ask, Told(tmp_path), 0)
    assert asyncio.run(gathering.read(["http://gone.example/"], [])) is None
