"""A crawl that was killed goes on as if it had not been, also where its strategy learns."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest

from topicrawl import SampleWeb, Topic, checkpoint, parse, strategies
from topicrawl.budget import Budget
from topicrawl.checkpoint import Checkpoint, learns
from topicrawl.collection import report
from topicrawl.collection.directory import Collection
from topicrawl.collection.links import packed
from topicrawl.crawl import Crawl, seed_links
from topicrawl.errors import DamagedError
from topicrawl.fetch.replay import Recording
from topicrawl.frontier.contract import Rules
from topicrawl.frontier.monotony import Monotony
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.lab.material import Recorded
from topicrawl.parts import Found, Parts
from topicrawl.placing import Fences
from topicrawl.records import Link, Response
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.strategy import Setting

TOPIC = "dengue fever"
PAGES, KILLED, CHECKPOINT = 45, 31, 9  # the kill falls between two checkpoints
# N links that leave the frontier together are forgotten together.
ONE_AT_A_TIME = [name for name in strategies.available() if strategies.make(name).batch == 1]


@dataclass(frozen=True)
class Web:
    """A small recorded web: to crawl, and to learn from."""

    recording: Recording
    topic: Topic
    seeds: Sequence[str]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Web:
    directory = tmp_path_factory.mktemp("recorded")
    sample = SampleWeb(pages=400, hosts=20)
    sample.write(directory)
    labels = sample.labels()
    relevant = [url for url, topics in labels.items() if TOPIC in topics]
    irrelevant = [url for url, topics in labels.items() if topics and TOPIC not in topics]
    topic = Topic.of("dengue fever mosquito").with_examples(relevant[::4][:10], irrelevant[::9][:10])
    return Web(Recording(directory), topic, sample.seeds(TOPIC))


@dataclass
class Keeping:
    collection: Collection
    copy: Path | None = None  # where a kill goes that falls between keeping a visit and completing it
    checkpoint: Checkpoint | None = None

    def step_of(self, link: Link) -> int | None:
        return self.collection.step_of(link)

    def keep(self, found: Sequence[Found]) -> None:
        self.collection.keep((visit, response, packed(links) if links else None) for visit, response, links in found)
        if self.copy is not None and found[-1].visit.step == KILLED:
            shutil.copytree(self.collection.directory, self.copy)

    def settled(self) -> None:
        if self.checkpoint is not None and self.checkpoint.due():
            self.checkpoint.save()

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        raise AssertionError("a recording does not fail in passing")


@asynccontextmanager
async def opened(directory: Path, web: Web, name: str, copy: Path | None = None) -> AsyncIterator[Crawl]:
    """A crawl of the recording into a directory, put together as for the live web."""
    vsm = Vsm(web.topic)
    with Collection(directory, web.topic, {}) as collection:
        keeping = Keeping(collection, copy)
        collection.recover()
        strategy = strategies.make(name)
        strategy.begin(Setting(web.topic, vsm, Random(0)))
        parts = Parts(
            frontier=Sqlite(directory / "frontier.sqlite", Rules(delay=0.0), lambda: 0.0),
            fetch=collection.through(web.recording),
            parse=partial(parse.read, styles=strategy.styles, context=strategy.context),
            relevance=vsm,
            strategy=strategy,
            keep=keeping,
            clock=lambda: 0.0,
            fences=Fences(monotony=Monotony(), scope=web.recording.known),
        )
        step, pages = report.counts(collection.store)
        crawl = Crawl(parts, Budget(fetches=PAGES, concurrency=1, attempts=1), step=step, pages=pages)
        keeping.checkpoint = Checkpoint(collection, crawl)
        if not await keeping.checkpoint.restore():
            strategy.prepare(Recorded(web.recording, web.topic, styles=strategy.styles))
            await keeping.checkpoint.begin()
        await crawl.seed(seed_links(web.seeds))
        yield crawl
        await parts.frontier.close()


Steps = list[tuple[int, str, float]]
Through = Callable[[str], tuple[Path, Steps]]  # a strategy's name → where its crawl and its copies are, what it did


async def visited(directory: Path, web: Web, name: str, *, copied: bool = False) -> Steps:
    """The visits of a crawl; if asked, its directory is copied as kills just before and after one's end leave it."""
    found = []
    async with opened(directory, web, name, directory.with_name("kept") if copied else None) as crawl:
        async for visit in crawl.visits():
            found.append((visit.step, visit.url, visit.place.score))
            if visit.step == KILLED and copied:
                shutil.copytree(directory, directory.with_name("completed"))
    return found


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_LEAST", CHECKPOINT)


@pytest.fixture(scope="module")
def through(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Through:
    """Crawls that nobody kills, each made once."""

    @cache
    def made(name: str) -> tuple[Path, Steps]:
        folder = tmp_path_factory.mktemp(name)
        return folder, asyncio.run(visited(folder / "through", web, name, copied=True))

    return made


@pytest.mark.parametrize("name", ONE_AT_A_TIME)
def test_a_killed_crawl_goes_on_in_the_same_order(name: str, web: Web, through: Through) -> None:
    folder, steps = through(name)
    assert len(steps) > KILLED
    assert asyncio.run(visited(folder / "completed", web, name)) == steps[KILLED:]


@pytest.mark.parametrize("name", [name for name in ONE_AT_A_TIME if learns(strategies.make(name))])
def test_a_visit_that_was_kept_and_not_completed_is_learned_from_once(name: str, web: Web, through: Through) -> None:
    folder, steps = through(name)
    assert asyncio.run(visited(folder / "kept", web, name)) == steps[KILLED - 1 :]


def changed(directory: Path, statement: str) -> None:
    with closing(sqlite3.connect(directory / "topicrawl.sqlite")) as database, database:
        database.execute(statement)


TORN = (
    "json_set(value, '$.strategy', json('{\"seen\": 7}'))",
    "json_set(value, '$.monotony', json('[7]'))",
    "json_set(value, '$.step', 'x')",
    "'{'",
)


def test_a_crawl_whose_learning_is_lost_says_so_in_one_line_or_learns_again_from_its_pages(
    web: Web, tmp_path: Path
) -> None:
    steps = asyncio.run(visited(tmp_path / "through", web, "intelligent", copied=True))
    for number, value in enumerate(TORN):
        shutil.copytree(tmp_path / "completed", torn := tmp_path / f"torn{number}")
        changed(torn, f"UPDATE facts SET value = {value} WHERE name = 'learned'")
        with pytest.raises(DamagedError, match="topicrawl doctor") as caught:
            asyncio.run(visited(torn, web, "intelligent"))
        assert "\n" not in str(caught.value)
    changed(tmp_path / "completed", "DELETE FROM facts WHERE name = 'learned'")
    assert asyncio.run(visited(tmp_path / "completed", web, "intelligent")) == steps[KILLED:]
