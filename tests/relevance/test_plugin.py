"""Tests of a user's own judge, whose scores the collection and the strategy use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site

from topicrawl import Page, Settings, Topic, Visit, open_crawl
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import SettingError
from topicrawl.relevance import plugin

TOPIC = Topic.of("owls")
JUDGES = """
class Trains:
    heard = []
    def __init__(self, topic, worth: float = 0.9):
        self.worth = worth
    def score(self, page):
        return self.worth if "trains" in page.words else 0.1
    def learn(self, page, relevant):
        self.heard.append((page.title, relevant))

class Wild(Trains):
    def score(self, page):
        return float("nan")

class Silent:
    def __init__(self, topic):
        pass
    def score(self, page):
        return 0.0

class Bare:
    def score(self, page):
        return 0.0
    def learn(self, page, relevant):
        pass
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_judges.py").write_text(JUDGES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    if path == "/robots.txt":
        return 404, {}, b""
    kind = path.split("/")[1] or "hub"
    links = "".join(f'<a href="{path.rstrip("/")}/{n}">more</a>' for n in range(3)) if path.count("/") < 3 else ""
    hub = '<a href="/owls">more</a> <a href="/trains">more</a>' if path == "/" else links
    return 200, {}, f"<title>{kind}</title><p>All about {kind} {path}</p>{hub}".encode()


async def visits(directory: Path, site: str, judge: str, pages: int) -> list[Visit]:
    # This strategy uses the scores at once. `apprentice` learns more slowly to trust a judge over the topic's words.
    settings = Settings(
        strategy="best_first",
        judge=judge,
        pages=pages,
        delay=0.0,
        concurrency=1,
        allow_net=("127.0.0.0/8",),
        distinct=False,
        documents=False,
    )
    async with open_crawl(directory, TOPIC, [f"{site}/"], settings) as crawl:
        return [visit async for visit in crawl.visits()]


def test_crawl_uses_and_stores_the_scores_of_the_judge(tmp_path: Path) -> None:
    with live_site(answer) as (site, _):
        found = asyncio.run(visits(tmp_path / "crawl", site, "made_judges:Trains:worth=0.8", 6))
    paths = [visit.url.removeprefix(site) for visit in found]
    # Both kinds have the same anchors. By the topic's words, the owls would be fetched first.
    assert set(paths[3:]) == {"/trains/0", "/trains/1", "/trains/2"}
    assert {visit.relevance for visit in found if "trains" in visit.url} == {0.8}
    store = CollectionStore(tmp_path / "crawl" / "topicrawl.sqlite", readonly=True)
    assert {row.relevance for row in store.iterate_visits()} == {0.1, 0.8}
    store.close()


def test_annotations_reach_the_judge_and_resuming_requires_the_same_judge(tmp_path: Path) -> None:
    import made_judges  # type: ignore[import-not-found]

    with live_site(answer) as (site, _):
        asyncio.run(visits(tmp_path / "crawl", site, "made_judges:Trains", 2))
        store = CollectionStore(tmp_path / "crawl" / "topicrawl.sqlite")
        annotation_log.annotate(store, [f"{site}/"], AnnotationLabel.IRRELEVANT, origin="read", at=1.0)
        store.close()
        made_judges.Trains.heard.clear()
        asyncio.run(visits(tmp_path / "crawl", site, "made_judges:Trains", 3))
        for other in ("", "made_judges:Trains:worth=0.5"):
            with pytest.raises(SettingError, match="another judge"):
                asyncio.run(visits(tmp_path / "crawl", site, other, 4))
    assert made_judges.Trains.heard == [("hub", False)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("vsm", "as module:Class"),
        ("made_judges:Silent", "add the method learn"),
        ("made_judges:Bare", "cannot be called with a topic"),
        ("made_judges:Trains:worth=x", "worth must be float"),
        ("made_judges:Missing", "cannot load the judge"),
    ],
)
def test_invalid_judge_is_rejected_with_one_line(spec: str, message: str) -> None:
    with pytest.raises(SettingError, match=message) as caught:
        plugin.load_judge(spec, TOPIC)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("score", [-0.1, 1.5, float("nan"), None, "much"])
def test_invalid_score_ends_the_crawl(score: object) -> None:
    judge = plugin.load_judge("made_judges:Trains", TOPIC)
    judge.judge.worth = score  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match=r"made_judges:Trains returned the score .* for http://a/"):
        judge.score(Page("http://a/", words=("trains",)))
