"""Over a parsed web a crawl makes the same visits as over its recording."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from topicrawl import parse
from topicrawl.errors import RecordingError, SeedError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.simulate import Task, simulate
from topicrawl.lab.web import ParsedWeb
from topicrawl.records import Link, Page, Visit
from topicrawl.topic import Topic


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "sample"
    SampleWeb(pages=400, hosts=20).write(folder)
    return folder


def task(folder: Path, strategy: str = "best_first", **changes: object) -> Task:
    told = json.loads((folder / "tasks.json").read_text("utf-8"))[0]
    examples = sorted(line.partition("\t")[0] for line in (folder / "labels.tsv").read_text("utf-8").splitlines())
    topic = Topic.of(told["words"]).with_examples(examples[:10:2], examples[1:10:2])
    return Task(topic, told["seeds"], strategy, fetches=60, **changes)  # type: ignore[arg-type]


def visits(web: Recording | ParsedWeb, asked: Task) -> list[Visit]:
    async def all_of_them() -> list[Visit]:
        return [visit async for visit in simulate(web, asked)]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("strategy", ["breadth_first", "best_first", "shark_search", "summary", "hmm"])
def test_visits_are_the_same_without_a_cache_while_it_fills_and_when_it_is_full(
    sample: Path, tmp_path: Path, strategy: str
) -> None:
    asked = task(sample, strategy)
    plain = visits(Recording(sample), asked)
    for web in (ParsedWeb(sample, cached=False), *(ParsedWeb(sample, cache=tmp_path) for _ in range(2))):
        assert visits(web, asked) == plain
        web.close()


def test_an_open_world_is_the_same_too(sample: Path, tmp_path: Path) -> None:
    asked = task(sample, open_world=True)
    plain = visits(Recording(sample), asked)
    assert any(visit.failure for visit in plain)
    assert visits(ParsedWeb(sample, cache=tmp_path), asked) == plain


def test_a_second_run_neither_scans_nor_parses(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = task(sample)
    first = visits(ParsedWeb(sample, cache=tmp_path), asked)

    def refuse(*values: object, **named: object) -> None:
        raise AssertionError("this was known already")

    monkeypatch.setattr(Recording, "_scan", refuse)
    monkeypatch.setattr(parse, "read", refuse)
    assert visits(ParsedWeb(sample, cache=tmp_path), asked) == first


def test_pages_are_those_that_the_parser_reads(sample: Path, tmp_path: Path) -> None:
    recording = Recording(sample)
    url = next(iter(recording))
    for _ in range(2):
        web = ParsedWeb(sample, cache=tmp_path)
        for context, styles in ((True, False), (False, False), (True, True)):
            page = parse.read(recording.answer(url), Link(url), context=context, styles=styles)
            assert web.page(url, context=context, styles=styles) == page
        web.close()
    assert web.page("http://nowhere.example/") is None


def test_a_recording_that_changed_is_read_anew(tmp_path: Path) -> None:
    folder = tmp_path / "web"
    SampleWeb(pages=400, hosts=20, seed=1).write(folder)
    before = len(ParsedWeb(folder, cache=tmp_path / "cache").recording)
    SampleWeb(pages=440, hosts=22, seed=2).write(folder)
    assert len(ParsedWeb(folder, cache=tmp_path / "cache").recording) > before


def test_the_graph_is_what_a_breadth_first_crawl_sees(sample: Path, tmp_path: Path) -> None:
    web = ParsedWeb(sample, cache=tmp_path)
    graph = web.graph()
    web.close()
    assert ParsedWeb(sample, cache=tmp_path).graph() == ParsedWeb(sample, cached=False).graph() == graph
    asked = task(sample, "breadth_first")
    found = visits(web, Task(asked.topic, asked.seeds, asked.strategy, fetches=10_000))
    reached, waiting = set(asked.seeds), list(asked.seeds)
    while waiting:
        for url in graph[waiting.pop()]:
            if url not in reached:
                reached.add(url)
                waiting.append(url)
    assert {visit.url for visit in found if isinstance(visit.page, Page)} == reached


def test_reading_all_pages_says_how_long_a_page_takes_and_does_it_once(sample: Path, tmp_path: Path) -> None:
    web = ParsedWeb(sample, cache=tmp_path)
    told: list[tuple[int, int]] = []
    seconds = web.read_all(tell=lambda done, of: told.append((done, of)))
    assert 0 < seconds < 1
    assert told[-1] == (len(web.recording), len(web.recording))
    web.close()
    assert ParsedWeb(sample, cache=tmp_path).read_all(tell=lambda done, of: told.clear()) == seconds
    assert told


def test_browsing_sessions_beside_the_pages_are_found(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "pages.warc.gz").write_bytes((sample / "pages.warc.gz").read_bytes())
    assert ParsedWeb(folder, cache=tmp_path).sessions == ()
    (folder / "paths.tsv").write_text("1\tfinished\thttp://b/\t\thttp://a/ http://b/\n", "utf-8")
    for _ in range(2):
        assert list(ParsedWeb(folder, cache=tmp_path).sessions) == [("http://a/", "http://b/")]


def test_where_no_cache_can_be_the_crawl_goes_on(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "webs").write_text("in the way")
    web = ParsedWeb(sample, cache=tmp_path)
    assert "no cache" in web.note
    assert visits(web, task(sample)) == visits(Recording(sample), task(sample))


def test_mistakes_are_those_of_the_plain_recording(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordingError):
        ParsedWeb(tmp_path / "nowhere", cache=tmp_path)
    with pytest.raises(SeedError):
        visits(ParsedWeb(sample, cache=tmp_path), Task(Topic.of("owl"), ["http://x/"], "best_first", 5))
