"""The sample web as a recorded web: the same pages, readable by any WARC tool."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.helpers.markers import LONG
from warcio.archiveiterator import ArchiveIterator

from topicrawl.fetch.replay import Recording
from topicrawl.models import Link, Response
from topicrawl.sample_web.web import SampleWeb

WEB = SampleWeb(seed=3, pages=600, hosts=20)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "web"
    WEB.write(path)
    return path


def fetch_recorded(directory: Path, url: str) -> Response:
    async def run() -> Response:
        return await Recording(directory)(Link(url))

    return asyncio.run(run())


def read_table(path: Path) -> dict[str, str]:
    rows = (line.partition("\t") for line in path.read_text("utf-8").splitlines())
    return {key: value for key, _, value in rows}


def test_every_page_reads_back_with_its_bytes(directory: Path) -> None:
    recording = Recording(directory)
    assert recording.damage == ""
    assert all(recording.contains(WEB.page_url(number)) for number in range(WEB.pages))
    response = fetch_recorded(directory, WEB.page_url(77))
    assert (response.status, response.body) == (200, WEB.get_response(WEB.page_url(77)).body)


def test_each_record_is_a_page_or_a_redirect_in_a_separate_gzip_member(directory: Path) -> None:
    with (directory / "pages.warc.gz").open("rb") as file:
        statuses = {
            record.rec_headers["WARC-Target-URI"]: record.http_headers.get_statuscode()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }
    assert len(statuses) > WEB.pages
    assert set(statuses.values()) == {"200", "301", "302"}


def test_aliases_lead_to_where_the_redirect_ends(directory: Path) -> None:
    aliases = read_table(directory / "aliases.tsv")
    assert len(aliases) > 50
    for url, final in list(aliases.items())[:8]:
        assert fetch_recorded(directory, url).final_url == final


def test_the_tables_match_the_web(directory: Path) -> None:
    labels = {url: tuple(names.split(";")) for url, names in read_table(directory / "labels.tsv").items()}
    topics = json.loads((directory / "topics.json").read_text("utf-8"))
    assert labels == WEB.get_labels()
    assert {name: tuple(topic["keywords"].split()) for name, topic in topics.items()} == WEB.topics


def test_each_topic_has_a_task_whose_seeds_are_recorded(directory: Path) -> None:
    tasks = json.loads((directory / "tasks.json").read_text("utf-8"))
    recording = Recording(directory)
    assert [task["topic"] for task in tasks] == list(WEB.topics)
    for task in tasks:
        labelled = sum(task["topic"] in names for names in WEB.get_labels().values())
        assert all(recording.contains(seed) for seed in task["seeds"])
        assert 0.95 * labelled <= task["targets"] <= labelled


def test_pages_closed_to_robots_are_not_recorded(directory: Path) -> None:
    closed = next(host for host in WEB.hosts if b"Disallow: /\n" in WEB.respond(host, "/robots.txt").body)
    assert WEB.respond(closed, "/").status == 200
    assert not Recording(directory).contains(f"http://{closed}/")


@LONG
def test_the_same_web_is_the_same_file(directory: Path, tmp_path: Path) -> None:
    SampleWeb(seed=3, pages=600, hosts=20).write(str(tmp_path))
    for path in sorted(directory.iterdir()):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
