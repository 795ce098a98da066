"""The made-up web as a recorded web: the same pages, readable by any archive tool."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from topicrawl.fetch.replay import Recording
from topicrawl.lab.sample import SampleWeb
from topicrawl.records import Link, Response

WEB = SampleWeb(seed=3, pages=600, hosts=20)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "web"
    WEB.write(path)
    return path


def fetched(directory: Path, url: str) -> Response:
    async def run() -> Response:
        return await Recording(directory)(Link(url))

    return asyncio.run(run())


def table(path: Path) -> dict[str, str]:
    rows = (line.partition("\t") for line in path.read_text("utf-8").splitlines())
    return {key: value for key, _, value in rows}


def test_every_page_reads_back_with_its_bytes(directory: Path) -> None:
    recording = Recording(directory)
    assert recording.torn == ""
    assert all(recording.known(WEB.url(number)) for number in range(WEB.pages))
    response = fetched(directory, WEB.url(77))
    assert (response.status, response.body) == (200, WEB.answer(WEB.url(77)).body)


def test_each_record_is_a_page_or_a_redirect_and_stands_in_a_gzip_member_of_its_own(directory: Path) -> None:
    with (directory / "pages.warc.gz").open("rb") as file:
        statuses = {
            record.rec_headers["WARC-Target-URI"]: record.http_headers.get_statuscode()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }
    assert len(statuses) > WEB.pages
    assert set(statuses.values()) == {"200", "301", "302"}


def test_aliases_lead_to_where_the_redirect_ends(directory: Path) -> None:
    aliases = table(directory / "aliases.tsv")
    assert len(aliases) > 50
    for url, final in list(aliases.items())[:8]:
        assert fetched(directory, url).final_url == final


def test_the_tables_say_what_the_web_says(directory: Path) -> None:
    labels = {url: tuple(names.split(";")) for url, names in table(directory / "labels.tsv").items()}
    topics = json.loads((directory / "topics.json").read_text("utf-8"))
    assert labels == WEB.labels()
    assert {name: tuple(topic["keywords"].split()) for name, topic in topics.items()} == WEB.topics


def test_each_topic_has_a_task_whose_seeds_are_recorded(directory: Path) -> None:
    tasks = json.loads((directory / "tasks.json").read_text("utf-8"))
    recording = Recording(directory)
    assert [task["topic"] for task in tasks] == list(WEB.topics)
    for task in tasks:
        labelled = sum(task["topic"] in names for names in WEB.labels().values())
        assert all(recording.known(seed) for seed in task["seeds"])
        assert 0.95 * labelled <= task["targets"] <= labelled


def test_what_robots_may_not_have_is_not_recorded(directory: Path) -> None:
    closed = next(host for host in WEB.hosts if b"Disallow: /\n" in WEB.reply(host, "/robots.txt").body)
    assert WEB.reply(closed, "/").status == 200
    assert not Recording(directory).known(f"http://{closed}/")


def test_the_same_web_is_the_same_file(directory: Path, tmp_path: Path) -> None:
    SampleWeb(seed=3, pages=600, hosts=20).write(str(tmp_path))
    for path in sorted(directory.iterdir()):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
