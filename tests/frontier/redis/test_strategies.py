"""Every strategy crawls HTML pages over a Redis frontier, and resumes the crawl with the stored payloads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.markers import mark_long
from tests.helpers.redis_server import RedisServer, running

from topicrawl import Settings, Topic, open_crawl
from topicrawl.models import Visit
from topicrawl.strategies import list_strategies

PAGES = 12
FIRST_PAGES = 3  # pages of the first run
WORDS = "dengue fever"
# Strategies of different kinds, and those with their own batch sizes or payloads.
EVERY_RUN = ("apprentice", "best_first", "context_graph", "hmm", "intelligent", "n_best_first", "nb4", "pagerank")
TEXTS = [
    "Dengue fever is spread by the mosquito Aedes aegypti. Fever, pain and rash follow after some days.",
    "The steam locomotive was built in Derby. It ran on the main line for forty years.",
    "A vaccine against dengue fever protects children in the tropics. Doctors recommend two doses.",
]


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Return page `/n`, which links to two other pages from a list, a sentence and an image."""
    number = path[1:]
    if not number.isdecimal() or int(number) >= PAGES:
        return 404, {}, b""
    n = int(number)
    text, topic = TEXTS[n % 3], ("dengue fever", "trains", "dengue vaccine")
    near, far = (2 * n + 1) % PAGES, (2 * n + 2) % PAGES
    body = (
        f"<html lang=en><head><title>Page {n}: {topic[n % 3]}</title><style>.faint {{color: #eee}}</style></head><body>"
        f"<h1>{topic[n % 3]} {n}</h1><p>{text}</p><p class=faint>Chapter {n} of the collection.</p>"
        f"<ul><li><a href='/{near}'>About {topic[near % 3]}</a></li></ul>"
        f"<p>Read more about <a href='/{far}'><img src=x.png alt='{topic[far % 3]}'> {topic[far % 3]}</a> here.</p>"
        "</body></html>"
    )
    return 200, {"Content-Type": "text/html; charset=utf-8"}, body.encode()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with live_site(answer) as (address, _):
        yield address


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


def run_crawl(directory: Path, site: str, topic: Topic, **given: object) -> list[Visit]:
    """Crawl the site into a directory and return the visits."""

    async def run() -> list[Visit]:
        settings = Settings(
            delay=0.0,
            allow_net=("127.0.0.0/8",),
            documents=False,
            distinct=False,
            min_free=0,
            patience=5.0,
            **given,  # type: ignore[arg-type]
        )
        async with open_crawl(directory, topic, [f"{site}/0"], settings) as crawl:
            return [visit async for visit in crawl.visits()]

    return asyncio.run(run())


@pytest.fixture(scope="module")
def recording(site: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a complete crawl of the site, with a file of browsing sessions."""
    directory = tmp_path_factory.mktemp("recording") / "crawl"
    assert len(run_crawl(directory, site, Topic.of(WORDS), strategy="breadth_first")) == PAGES
    sessions = [[0, 1, 3, 7, 3, 8], [0, 2, 5, 11], [0, 2, 6, 1, 4, 9], [0, 1, 4, 10]]
    lines = [f"{number}\t{site}/{page}" for number, pages in enumerate(sessions) for page in pages]
    directory.with_name("sessions.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return directory


@pytest.mark.parametrize("name", mark_long(list_strategies(), except_for=EVERY_RUN))
def test_every_strategy_crawls_and_resumes_over_redis(
    name: str, site: str, redis: RedisServer, recording: Path, tmp_path: Path
) -> None:
    topic, training = Topic.of(WORDS), {}
    inputs = list_strategies()[name].required_inputs
    if "examples" in inputs:
        topic = topic.with_examples([f"{site}/{n}" for n in (0, 3, 5, 8)], [f"{site}/{n}" for n in (1, 4, 7)])
        training["learn_from"] = str(recording)
    if "sessions" in inputs:
        training["sessions"] = str(recording.with_name("sessions.tsv"))
    shared = {"strategy": name, "frontier": f"{redis.address}#{name}", **training}
    first = run_crawl(tmp_path / "one", site, topic, **shared, pages=FIRST_PAGES)
    second = run_crawl(tmp_path / "one", site, topic, **shared, pages=PAGES)
    visits = [*first, *second]
    assert [visit.failure for visit in visits] == [None] * len(visits)
    assert len({visit.url for visit in visits}) == len(visits)
    # A strategy may decide not to follow some links.
    assert FIRST_PAGES <= len(visits) <= PAGES
    assert second
