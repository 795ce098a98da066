"""A killed crawl resumes as if it had not been killed, also with a learning strategy."""

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
from _pytest.mark import ParameterSet
from tests.helpers.markers import mark_long

from topicrawl import SampleWeb, Topic, parse, strategies
from topicrawl.collection import queries
from topicrawl.collection.directory import Collection
from topicrawl.engine import checkpoint
from topicrawl.engine.checkpoint import Checkpoint, can_learn
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.limits import CrawlLimits
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.engine.sinks import ProcessedVisit
from topicrawl.errors import DamagedError
from topicrawl.fetch.replay import Recording
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.models import Link, Response
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext

TOPIC = "dengue fever"
PAGES, KILLED, CHECKPOINT = 45, 31, 9  # the kill falls between two checkpoints
# Strategies with a batch size of 1: the links of a batch leave the frontier together.
ONE_AT_A_TIME = [name for name in strategies.list_strategies() if strategies.create_strategy(name).batch_size == 1]
EVERY_RUN = ("apprentice", "best_first", "hati", "pagerank")


@dataclass(frozen=True)
class Web:
    """A small recorded web for crawling and training."""

    recording: Recording
    topic: Topic
    seeds: Sequence[str]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Web:
    directory = tmp_path_factory.mktemp("recorded")
    sample = SampleWeb(pages=400, hosts=20)
    sample.write(directory)
    labels = sample.get_labels()
    relevant = [url for url, topics in labels.items() if TOPIC in topics]
    irrelevant = [url for url, topics in labels.items() if topics and TOPIC not in topics]
    topic = Topic.of("dengue fever mosquito").with_examples(relevant[::4][:10], irrelevant[::9][:10])
    return Web(Recording(directory), topic, sample.get_seeds(TOPIC))


@dataclass
class CheckpointSink:
    collection: Collection
    copy: Path | None = None  # copy of the directory as a kill between storing and completing a visit leaves it
    checkpoint: Checkpoint | None = None

    def find_stored_step(self, link: Link) -> int | None:
        return self.collection.find_stored_step(link)

    def owns_page(self, link: Link, url: str) -> bool:
        return self.collection.owns_page(link, url)

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        self.collection.store_visits(
            (each.visit, each.response, each.pack_links() if each.outlinks else None) for each in processed
        )
        if self.copy is not None and processed[-1].visit.step == KILLED:
            shutil.copytree(self.collection.directory, self.copy)

    def on_batch_completed(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.on_batch_completed()

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        raise AssertionError("a recording has no transient failures")


@asynccontextmanager
async def open_recorded_crawl(directory: Path, web: Web, name: str, copy: Path | None = None) -> AsyncIterator[Crawl]:
    """Open a crawl of the recording in a directory, with the same components as for the live web."""
    vsm = Vsm(web.topic)
    with Collection(directory, web.topic, {}) as collection:
        keeping = CheckpointSink(collection, copy)
        collection.recover_archive()
        strategy = strategies.create_strategy(name)
        strategy.bind(StrategyContext(web.topic, vsm, Random(0)))
        parts = CrawlContext(
            frontier=SqliteFrontier(directory / "frontier.sqlite", FrontierRules(delay=0.0), lambda: 0.0),
            fetch=collection.wrap_fetch(web.recording),
            parse=partial(parse.parse_response, styles=strategy.needs_styles, context=strategy.link_context),
            relevance=vsm,
            strategy=strategy,
            sink=keeping,
            clock=lambda: 0.0,
            link_filter=LinkFilter(trap_detector=TrapDetector(), scope=lambda link: web.recording.contains(link.url)),
        )
        step, pages = queries.get_progress(collection.store)
        crawl = Crawl(parts, CrawlLimits(fetches=PAGES, concurrency=1, attempts=1), step=step, pages=pages)
        keeping.checkpoint = Checkpoint(collection, crawl)
        if not await keeping.checkpoint.restore():
            strategy.fit(RecordedTrainingData(web.recording, web.topic, styles=strategy.needs_styles))
            await keeping.checkpoint.save_initial()
        await crawl.add_seeds(build_seed_links(web.seeds))
        yield crawl
        await parts.frontier.close()


Steps = list[tuple[int, str, float]]
Through = Callable[[str], tuple[Path, Steps]]  # strategy name → folder of its crawl and copies, visits of the crawl


async def run_crawl(directory: Path, web: Web, name: str, *, copied: bool = False) -> Steps:
    """Return the visits of a crawl. With `copied`, copy the directory before and after the completion of a visit."""
    found = []
    async with open_recorded_crawl(directory, web, name, directory.with_name("kept") if copied else None) as crawl:
        async for visit in crawl.visits():
            found.append((visit.step, visit.url, visit.priority.score))
            if visit.step == KILLED and copied:
                shutil.copytree(directory, directory.with_name("completed"))
    return found


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_MIN_INTERVAL", CHECKPOINT)


@pytest.fixture(scope="module")
def through(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Through:
    """Crawls without a kill, run once per strategy."""

    @cache
    def run_once(name: str) -> tuple[Path, Steps]:
        folder = tmp_path_factory.mktemp(name)
        return folder, asyncio.run(run_crawl(folder / "through", web, name, copied=True))

    return run_once


def select_strategies(names: list[str]) -> list[ParameterSet]:
    """Run a few strategies of different kinds in every run, and all of them in `make test-long`."""
    return mark_long(names, except_for=EVERY_RUN)


@pytest.mark.parametrize("name", select_strategies(ONE_AT_A_TIME))
def test_a_killed_crawl_goes_on_in_the_same_order(name: str, web: Web, through: Through) -> None:
    folder, steps = through(name)
    assert len(steps) > KILLED
    assert asyncio.run(run_crawl(folder / "completed", web, name)) == steps[KILLED:]


@pytest.mark.parametrize(
    "name", select_strategies([name for name in ONE_AT_A_TIME if can_learn(strategies.create_strategy(name))])
)
def test_a_visit_that_was_kept_and_not_completed_is_learned_from_once(name: str, web: Web, through: Through) -> None:
    folder, steps = through(name)
    assert asyncio.run(run_crawl(folder / "kept", web, name)) == steps[KILLED - 1 :]


def execute_sql(directory: Path, statement: str) -> None:
    with closing(sqlite3.connect(directory / "topicrawl.sqlite")) as database, database:
        database.execute(statement)


TORN = (
    "json_set(value, '$.strategy', json('{\"seen\": 7}'))",
    "json_set(value, '$.trap_detector', json('[7]'))",
    "json_set(value, '$.step', 'x')",
    "'{'",
)


def test_a_crawl_whose_learning_is_lost_says_so_in_one_line_or_learns_again_from_its_pages(
    web: Web, tmp_path: Path
) -> None:
    steps = asyncio.run(run_crawl(tmp_path / "through", web, "intelligent", copied=True))
    for number, value in enumerate(TORN):
        shutil.copytree(tmp_path / "completed", torn := tmp_path / f"torn{number}")
        execute_sql(torn, f"UPDATE facts SET value = {value} WHERE name = 'learned'")
        with pytest.raises(DamagedError, match="topicrawl doctor") as caught:
            asyncio.run(run_crawl(torn, web, "intelligent"))
        assert "\n" not in str(caught.value)
    execute_sql(tmp_path / "completed", "DELETE FROM facts WHERE name = 'learned'")
    assert asyncio.run(run_crawl(tmp_path / "completed", web, "intelligent")) == steps[KILLED:]
