"""A crawl on a parsed web makes the same visits as on its recording."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.helpers.markers import LONG
from tests.helpers.sample_web import write_small_web

from topicrawl import parse
from topicrawl.errors import RecordingError, SeedError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.simulate import Task, simulate
from topicrawl.models import Failure, Link, Page, Visit
from topicrawl.sample_web.recording import build_response, write_pages
from topicrawl.sample_web.web import SampleWeb
from topicrawl.topic import Topic


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(folder)
    return folder


def task(folder: Path, strategy: str = "best_first", **changes: object) -> Task:
    entry = json.loads((folder / "tasks.json").read_text("utf-8"))[0]
    examples = sorted(line.partition("\t")[0] for line in (folder / "labels.tsv").read_text("utf-8").splitlines())
    topic = Topic.of(entry["words"]).with_examples(examples[:10:2], examples[1:10:2])
    return Task(topic, entry["seeds"], strategy, fetches=60, **changes)  # type: ignore[arg-type]


def visits(web: Recording | ParsedWeb, simulated: Task) -> list[Visit]:
    async def collect_visits() -> list[Visit]:
        return [visit async for visit in simulate(web, simulated)]

    return asyncio.run(collect_visits())


@LONG
@pytest.mark.parametrize("strategy", ["breadth_first", "best_first", "shark_search", "summary", "hmm"])
def test_visits_are_the_same_without_a_cache_while_it_fills_and_when_it_is_full(
    sample: Path, tmp_path: Path, strategy: str
) -> None:
    simulated = task(sample, strategy)
    plain = visits(Recording(sample), simulated)
    for web in (ParsedWeb(sample, cached=False), *(ParsedWeb(sample, cache=tmp_path) for _ in range(2))):
        assert visits(web, simulated) == plain
        web.close()


def test_an_open_world_is_the_same_too(sample: Path, tmp_path: Path) -> None:
    simulated = task(sample, open_world=True)
    plain = visits(Recording(sample), simulated)
    assert any(visit.failure for visit in plain)
    assert visits(ParsedWeb(sample, cache=tmp_path), simulated) == plain


def test_a_second_run_neither_scans_nor_parses(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = task(sample)
    first = visits(ParsedWeb(sample, cache=tmp_path), simulated)

    def refuse(*values: object, **named: object) -> None:
        raise AssertionError("the result must come from the cache")

    monkeypatch.setattr(Recording, "_scan", refuse)
    monkeypatch.setattr(parse, "parse_response", refuse)
    assert visits(ParsedWeb(sample, cache=tmp_path), simulated) == first


def test_pages_are_those_that_the_parser_reads(sample: Path, tmp_path: Path) -> None:
    recording = Recording(sample)
    url = next(iter(recording))
    for _ in range(2):
        web = ParsedWeb(sample, cache=tmp_path)
        for context, styles in ((True, False), (False, False), (True, True)):
            page = parse.parse_response(recording.get_response(url), Link(url), context=context, styles=styles)
            assert web.get_page(url, context=context, styles=styles) == page
        web.close()
    assert web.get_page("http://nowhere.example/") is None


@LONG
def test_a_changed_recording_is_parsed_again(tmp_path: Path) -> None:
    folder = tmp_path / "web"
    SampleWeb(pages=400, hosts=20, seed=1).write(folder)
    before = len(ParsedWeb(folder, cache=tmp_path / "cache").recording)
    SampleWeb(pages=440, hosts=22, seed=2).write(folder)
    assert len(ParsedWeb(folder, cache=tmp_path / "cache").recording) > before


HUB, OLD, OLDER, PAGE, MOVED = (f"http://{name}.example/" for name in ("hub", "old", "older", "page", "moved"))


@pytest.fixture
def redirecting(tmp_path: Path) -> Path:
    """Web with a page that is linked through an alias, and one that is linked through a meta refresh."""
    links = "".join(f'<a href="{url}">dengue</a> ' for url in (OLDER, MOVED, "http://lost.example/"))
    refresh = f'<meta http-equiv="refresh" content="0; url={OLD}"><p>moved'
    bodies = {HUB: links, MOVED: refresh, PAGE: f'<p>dengue fever <a href="{HUB}">hub</a>'}
    html = {"content-type": "text/html"}
    responses = (build_response(url, 200, html, body.encode()) for url, body in bodies.items())
    write_pages(tmp_path / "web", responses, description="redirects")
    (tmp_path / "web" / "aliases.tsv").write_text(f"{OLDER}\t{OLD}\n{OLD}\t{PAGE}\n", "utf-8")
    return tmp_path / "web"


def test_aliases_and_meta_refreshes_are_redirects(redirecting: Path, tmp_path: Path) -> None:
    simulated = Task(Topic.of("dengue fever"), [HUB], "breadth_first", fetches=10)
    plain = visits(Recording(redirecting), simulated)
    assert [(visit.link.url, visit.url) for visit in plain] == [(HUB, HUB), (OLDER, PAGE), (MOVED, PAGE)]
    assert [visit.failure for visit in plain] == [None, None, Failure.DUPLICATE]
    for web in (ParsedWeb(redirecting, cached=False), *(ParsedWeb(redirecting, cache=tmp_path) for _ in range(2))):
        assert visits(web, simulated) == plain
        assert web.build_graph() == {HUB: [PAGE], PAGE: [HUB]}
        assert web.find_redirects() == {MOVED: PAGE, OLDER: PAGE, OLD: PAGE}
        assert web.get_page(MOVED) == web.get_page(PAGE)
        web.parse_all()
        web.close()
    assert web.get_response("http://lost.example/").failure is Failure.NOT_RECORDED


def test_changed_aliases_invalidate_the_cache(redirecting: Path, tmp_path: Path) -> None:
    web = ParsedWeb(redirecting, cache=tmp_path)
    assert web.build_graph()[HUB] == [PAGE]
    web.close()
    before = web.fingerprint
    (redirecting / "aliases.tsv").write_text(f"http://lost.example/\t{PAGE}\n", "utf-8")
    web = ParsedWeb(redirecting, cache=tmp_path)
    assert web.fingerprint != before
    assert web.build_graph() == {HUB: [MOVED, PAGE], MOVED: [], PAGE: [HUB]}
    assert not web.contains(OLD)
    web.close()
    (redirecting / "aliases.tsv").unlink()
    assert ParsedWeb(redirecting, cache=tmp_path).build_graph()[HUB] == [MOVED]


@LONG
def test_the_graph_is_what_a_breadth_first_crawl_sees(sample: Path, tmp_path: Path) -> None:
    web = ParsedWeb(sample, cache=tmp_path)
    graph = web.build_graph()
    web.close()
    assert ParsedWeb(sample, cache=tmp_path).build_graph() == ParsedWeb(sample, cached=False).build_graph() == graph
    simulated = task(sample, "breadth_first")
    found = visits(web, Task(simulated.topic, simulated.seeds, simulated.strategy, fetches=10_000))
    reached, waiting = set(simulated.seeds), list(simulated.seeds)
    while waiting:
        for url in graph[waiting.pop()]:
            if url not in reached:
                reached.add(url)
                waiting.append(url)
    assert {visit.url for visit in found if isinstance(visit.page, Page)} == reached


def test_parsing_all_pages_returns_the_parse_time_and_is_done_only_once(sample: Path, tmp_path: Path) -> None:
    web = ParsedWeb(sample, cache=tmp_path)
    progress: list[tuple[int, int]] = []
    seconds = web.parse_all(on_progress=lambda done, of: progress.append((done, of)))
    assert 0 < seconds < 1
    assert progress[-1] == (len(web.recording), len(web.recording))
    web.close()
    assert ParsedWeb(sample, cache=tmp_path).parse_all(on_progress=lambda done, of: progress.clear()) == seconds
    assert progress


def test_browsing_sessions_beside_the_pages_are_found(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "pages.warc.gz").write_bytes((sample / "pages.warc.gz").read_bytes())
    assert ParsedWeb(folder, cache=tmp_path).sessions == ()
    (folder / "paths.tsv").write_text("1\tfinished\thttp://b/\t\thttp://a/ http://b/\n", "utf-8")
    for _ in range(2):
        assert list(ParsedWeb(folder, cache=tmp_path).sessions) == [("http://a/", "http://b/")]


def test_the_crawl_continues_without_a_cache(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "webs").write_text("in the way")
    web = ParsedWeb(sample, cache=tmp_path)
    assert "no cache" in web.note
    assert visits(web, task(sample)) == visits(Recording(sample), task(sample))


def test_errors_are_the_same_as_for_the_plain_recording(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordingError):
        ParsedWeb(tmp_path / "nowhere", cache=tmp_path)
    with pytest.raises(SeedError):
        visits(ParsedWeb(sample, cache=tmp_path), Task(Topic.of("owl"), ["http://x/"], "best_first", 5))
