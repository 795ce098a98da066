"""Duplicate pages in a simulated crawl."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from topicrawl import SampleWeb, Topic
from topicrawl.collection.archive import WarcArchive
from topicrawl.fetch.replay import Recording
from topicrawl.lab.simulate import Task, simulate
from topicrawl.models import Failure, Response, Visit

TEXT = " ".join(f"owl{number} sleeps{number % 7}" for number in range(200))


def page(path: str, *links: str, text: str = TEXT) -> Response:
    url = f"http://owls.example{path}"
    body = f"<p>{text}</p>" + "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    return Response(url, url, 200, {"content-type": "text/html"}, body.encode(), at=1.0)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    directory = tmp_path_factory.mktemp("owls")
    archive = WarcArchive(directory)
    for response in (
        page("/", "/a", "/b", text=f"Owls. {TEXT[::-1]}"),
        page("/a", "/behind-a"),
        page("/b", "/behind-b"),
        page("/behind-a", text="One owl."),
        page("/behind-b", text="Another owl."),
    ):
        archive.write_fetch(response)
    archive.close()
    return Recording(directory / "warc")


def visits(web: Recording, *, distinct: bool) -> list[Visit]:
    task = Task(Topic.of("owls"), ["http://owls.example/"], "breadth_first", 20, distinct=distinct)

    async def collect_visits() -> list[Visit]:
        return [visit async for visit in simulate(web, task)]

    return asyncio.run(collect_visits())


def test_duplicates_count_as_pages_unless_distinct_is_set(web: Recording) -> None:
    assert [visit.failure for visit in visits(web, distinct=False)] == [None] * 5
    found = {visit.url.rpartition("/")[2]: visit for visit in visits(web, distinct=True)}
    assert list(found) == ["", "a", "b", "behind-a"]
    assert (found["b"].failure, found["b"].duplicate_of) == (Failure.DUPLICATE, "http://owls.example/a")


def test_only_mirrors_and_second_urls_are_duplicates_in_the_sample_web(tmp_path: Path) -> None:
    sample = SampleWeb(pages=400, hosts=20)
    sample.write(tmp_path)
    task = Task(Topic.of("dengue fever"), sample.get_seeds("dengue fever"), "breadth_first", 200, distinct=True)

    async def collect_duplicates() -> list[Visit]:
        return [visit async for visit in simulate(Recording(tmp_path), task) if visit.detail.startswith("the same")]

    found = asyncio.run(collect_duplicates())
    assert found
    for visit in found:
        plain = visit.url.replace("//mirror.", "//www.").partition("?ref=")[0]
        assert visit.duplicate_of == plain != visit.url
