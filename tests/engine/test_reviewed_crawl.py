"""A crawl with a reviewer: verdicts train the judge and move links, also after a restart, and the crawl never waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.helpers.chat_server import MODEL, ChatAnswer, make_error, make_verdict, serve_chat
from tests.helpers.live_site import live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.store import CollectionStore
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.reviewer import Reviewer
from topicrawl.engine.sinks import CollectionSink
from topicrawl.engine.steering import REVIEWER_WEIGHT, create_steering
from topicrawl.errors import SettingError
from topicrawl.models import Page

#: The judge is unsure about a text that mentions the topic once.
TEXT = (
    "The town library keeps old maps, a reading room and a small garden. Opening hours change in winter. "
    "A lecture about dengue was given there by a doctor"
)
#: The first page is about something else, so the judge is sure about it.
HUB = "Steam trains cross the bridge and whistle. " + "".join(
    f'<p><a href="/page/{n}">train number {n}</a></p>' for n in range(1, 7)
)
#: A page that the crawl does not fetch, similar to those that it fetches.
OTHER = Page("http://other.example/", text=TEXT, words=tuple(TEXT.lower().split()), language="en")


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    if path == "/robots.txt":
        return 404, {}, b""
    return 200, {}, f"<title>Page {path}</title><p>{HUB if path == '/' else f'{TEXT} {path}'}</p>".encode()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with live_site(answer) as (address, _):
        yield address


@pytest.fixture(scope="module")
def topic(site: str, tmp_path_factory: pytest.TempPathFactory) -> Topic:
    """A topic whose threshold is the relevance of the pages, so that the judge is unsure about all but the first."""
    directory, topic = tmp_path_factory.mktemp("plain") / "crawl", Topic.of("dengue fever")

    async def measure() -> list[float]:
        async with open_crawl(directory, topic, [f"{site}/"], make_settings("", pages=3)) as crawl:
            return [visit.relevance or 0.0 async for visit in crawl.visits()]

    return replace(topic, threshold=asyncio.run(measure())[-1])


def make_settings(reviewer: str, **values: object) -> Settings:
    fixed = Settings(
        strategy="breadth_first",
        delay=0.0,
        allow_net=("127.0.0.0/8",),
        distinct=False,
        documents=False,
        reviewer=reviewer,
        reviewer_model=MODEL,
        reviewer_price_in=1.0,
    )
    return replace(fixed, **values)  # type: ignore[arg-type]


@asynccontextmanager
async def run_crawl(directory: Path, topic: Topic, site: str, settings: Settings) -> AsyncIterator[Crawl]:
    """Run a crawl, and yield it after its last visit, while its background tasks still run."""
    async with open_crawl(directory, topic, [f"{site}/"], settings) as crawl:
        async for _ in crawl.visits():
            pass
        yield crawl


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the conditions are about files and other threads
            await asyncio.sleep(0.01)


def find_reviewer(crawl: Crawl) -> Reviewer:
    (reviewer,) = [item for item in cast(CollectionSink, crawl.context.sink).observers if isinstance(item, Reviewer)]
    return reviewer


def count_verdicts(crawl: Crawl) -> int:
    assert crawl.context.reviewer_log is not None
    return crawl.context.reviewer_log.report.verdicts


def count_applied(directory: Path) -> int:
    """Return the number of the last annotation that the crawl has applied."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        fact = store.get_fact("heeded")
        return int(str(fact["verdict"])) if isinstance(fact, dict) else 0
    finally:
        store.close()


@pytest.mark.parametrize("relevant", [True, False])
def test_verdicts_change_the_scores_of_other_pages_during_the_crawl_and_after_a_restart(
    tmp_path: Path, site: str, topic: Topic, relevant: bool
) -> None:
    directory, release = tmp_path / "crawl", threading.Event()

    async def review() -> tuple[float, float]:
        async with open_crawl(directory, topic, [f"{site}/"], make_settings(chat.url, pages=3)) as crawl:
            async for _ in crawl.visits():
                pass
            # The first check of a crawl applies all annotations; later ones must be requested by the reviewer.
            await wait_until(lambda: count_applied(directory) == 1)
            before = crawl.context.relevance.score(OTHER)
            release.set()
            await wait_until(lambda: count_applied(directory) > 1)
            return before, crawl.context.relevance.score(OTHER)

    async def resume() -> float:
        async with open_crawl(directory, topic, [], make_settings("", pages=3)) as crawl:
            return crawl.context.relevance.score(OTHER)

    def answer_in_turn(request: object) -> ChatAnswer:
        if len(chat.requests) == 1:
            return make_verdict(relevant, 0.1)  # unsure: the judge does not learn from it
        assert release.wait(60)
        return make_verdict(relevant)

    with serve_chat(answer_in_turn) as chat:
        before, after = asyncio.run(review())
    assert after > before if relevant else after < before
    resumed = asyncio.run(resume())
    assert resumed > before if relevant else resumed < before


def test_a_verdict_of_a_user_retrains_the_judge(tmp_path: Path, site: str, topic: Topic) -> None:
    directory = tmp_path / "crawl"

    async def score() -> float:
        async with run_crawl(directory, topic, site, make_settings("", pages=2)) as crawl:
            return crawl.context.relevance.score(OTHER)

    async def review() -> None:
        async with run_crawl(directory, topic, site, make_settings(chat.url, pages=2, reviewer_calls=1)) as crawl:
            await wait_until(lambda: count_verdicts(crawl) == 1)

    plain = asyncio.run(score())
    with serve_chat(lambda request: make_verdict(False)) as chat:
        asyncio.run(review())
    assert asyncio.run(score()) < plain
    store = CollectionStore(directory / "topicrawl.sqlite")
    annotation_log.annotate(store, [f"{site}/page/1"], AnnotationLabel.RELEVANT, origin="read", at=1.0)
    store.close()
    assert asyncio.run(score()) > plain


def test_the_limit_of_calls_holds_over_resumes(tmp_path: Path, site: str, topic: Topic) -> None:
    async def review(**values: object) -> int:
        async with run_crawl(tmp_path / "crawl", topic, site, make_settings(chat.url, **values)) as crawl:
            # The reviewer stops when it has a candidate and no calls left.
            await wait_until(lambda: find_reviewer(crawl)._is_stopped)
            assert crawl.context.reviewer_log is not None
            return crawl.context.reviewer_log.report.calls

    with serve_chat(lambda request: make_verdict(True, 0.1)) as chat:
        assert asyncio.run(review(pages=4, reviewer_calls=2)) == 2
        assert asyncio.run(review(pages=6, reviewer_calls=2)) == 2
        assert len(chat.requests) == 2
        assert asyncio.run(review(pages=7, reviewer_calls=3)) == 3
        assert len(chat.requests) == 3


def test_a_crawl_does_not_wait_for_a_slow_model(tmp_path: Path, site: str, topic: Topic) -> None:
    release = threading.Event()

    def answer_late(request: object) -> ChatAnswer:
        release.wait(60)
        return make_verdict(True)

    async def review() -> int:
        async with run_crawl(tmp_path / "crawl", topic, site, make_settings(chat.url)) as crawl:
            assert count_verdicts(crawl) == 0
            return crawl.pages

    with serve_chat(answer_late) as chat:
        assert asyncio.run(review()) == 7
        release.set()


def test_a_crawl_continues_without_a_reviewer_that_refuses(tmp_path: Path, site: str, topic: Topic) -> None:
    async def review() -> int:
        async with run_crawl(tmp_path / "crawl", topic, site, make_settings(chat.url)) as crawl:
            await wait_until(lambda: find_reviewer(crawl)._is_stopped)
            return crawl.pages

    with serve_chat(lambda request: make_error(401)) as chat:
        assert asyncio.run(review()) == 7
        assert len(chat.requests) == 1


def test_certain_pages_are_not_sent(tmp_path: Path, site: str, topic: Topic) -> None:
    async def review() -> None:
        certain = replace(topic, threshold=topic.threshold / 3)
        async with run_crawl(tmp_path / "crawl", certain, site, make_settings(chat.url)) as crawl:
            assert not find_reviewer(crawl)._candidates

    with serve_chat(lambda request: make_verdict(True)) as chat:
        asyncio.run(review())
        assert chat.requests == []


class WeighingJudge:
    """Judge that records the weights of annotations."""

    def __init__(self) -> None:
        self.weights: list[float] = []

    def score(self, page: Page) -> float:
        """Return a constant relevance."""
        return 0.5

    def learn(self, page: Page, relevant: bool, weight: float = 1.0) -> None:
        """Record the weight."""
        self.weights.append(weight)


def test_a_judge_that_supports_weights_gives_the_reviewer_less_weight(tmp_path: Path, site: str, topic: Topic) -> None:
    directory, judge = tmp_path / "crawl", WeighingJudge()

    async def crawl_pages() -> None:
        async with run_crawl(directory, topic, site, make_settings("", pages=3)):
            pass

    async def apply_annotations() -> None:
        async with open_crawl(directory, topic, [], make_settings("", pages=3)) as crawl:
            steering = create_steering(cast(CollectionSink, crawl.context.sink).collection, crawl)
            steering.relevance = judge
            async with steering:
                pass

    asyncio.run(crawl_pages())
    store = CollectionStore(directory / "topicrawl.sqlite")
    for number, origin in enumerate(("read", annotation_log.REVIEWER_ORIGIN), 1):
        url = f"{site}/page/{number}"
        annotation_log.annotate(store, [url], AnnotationLabel.RELEVANT, origin=origin, at=1.0)
    store.close()
    asyncio.run(apply_annotations())
    assert judge.weights == [1.0, REVIEWER_WEIGHT]


def test_a_shared_crawl_has_no_reviewer() -> None:
    with pytest.raises(SettingError, match="shared crawl"):
        make_settings("http://localhost:11434/v1", frontier="redis://localhost:6379/0")
