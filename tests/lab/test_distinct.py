"""Pages that repeat others, in an experiment."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from topicrawl import SampleWeb, Topic
from topicrawl.collection.archive import Archive
from topicrawl.fetch.replay import Recording
from topicrawl.lab.simulate import Task, simulate
from topicrawl.records import Failure, Response, Visit

TEXT = " ".join(f"owl{number} sleeps{number % 7}" for number in range(200))


def page(path: str, *links: str, text: str = TEXT) -> Response:
    url = f"http://owls.example{path}"
    body = f"<p>{text}</p>" + "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    return Response(url, url, 200, {"content-type": "text/html"}, body.encode(), at=1.0)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    directory = tmp_path_factory.mktemp("owls")
    archive = Archive(directory)
    for response in (
        page("/", "/a", "/b", text=f"Owls. {TEXT[::-1]}"), page("/a", "/behind-a"), page("/b", "/behind-b"),
        page("/behind-a", text="One owl."), page("/behind-b", text="Another owl."),
    ):  # fmt: skip
        archive.write(response)
    archive.close()
    return Recording(directory / "warc")


def visits(web: Recording, *, distinct: bool) -> list[Visit]:
    task = Task(Topic.of("owls"), ["http://owls.example/"], "breadth_first", 20, distinct=distinct)

    async def all_of_them() -> list[Visit]:
        return [visit async for visit in simulate(web, task)]

    return asyncio.run(all_of_them())


def test_they_count_unless_they_are_to_be_left_out(web: Recording) -> None:
    assert [visit.failure for visit in visits(web, distinct=False)] == [None] * 5
    found = {visit.url.rpartition("/")[2]: visit for visit in visits(web, distinct=True)}
    assert list(found) == ["", "a", "b", "behind-a"]
    assert (found["b"].failure, found["b"].twin) == (Failure.DUPLICATE, "http://owls.example/a")


def test_mirrors_and_second_addresses_in_the_built_in_web_are_found_and_nothing_else(tmp_path: Path) -> None:
    sample = SampleWeb(pages=400, hosts=20)
    sample.write(tmp_path)
    task = Task(Topic.of("dengue fever"), sample.seeds("dengue fever"), "breadth_first", 200, distinct=True)

    async def repeated() -> list[Visit]:
        return [visit async for visit in simulate(Recording(tmp_path), task) if visit.detail.startswith("the same")]

    found = asyncio.run(repeated())
    assert found
    for visit in found:
        plain = visit.url.replace("//mirror.", "//www.").partition("?ref=")[0]
        assert visit.twin == plain != visit.url
