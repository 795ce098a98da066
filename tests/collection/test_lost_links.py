"""Done links of a frontier without a result in the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from topicrawl.collection.lost_links import LostLinkFinder
from topicrawl.collection.store import FORGOTTEN_DETAIL, CollectionStore
from topicrawl.frontier.base import FETCHED, FrontierEntry
from topicrawl.models import Failure, Link, Priority
from topicrawl.urls import fingerprint


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CollectionStore]:
    opened = CollectionStore(tmp_path / "topicrawl.sqlite")
    yield opened
    opened.close()


def add_visit(
    store: CollectionStore, url: str, final: str = "", *, failure: str | None = None, detail: str = ""
) -> None:
    final = final or url
    sql = (
        "INSERT INTO visits (id, requested, url, source, anchor, depth, score, score_parts, payload, failure, detail,"
        " status, at, seconds) VALUES (?, ?, ?, '', '', 0, 0.5, '[]', 'null', ?, ?, 200, 0, 0)"
    )
    step = store.db.execute(sql, (fingerprint(url), url, final, failure, detail)).lastrowid
    if failure is None:
        sql = (
            "INSERT INTO pages (id, step, url, title, language, words, bytes, type, canonical, digest)"
            " VALUES (?, ?, ?, '', '', 0, 0, '', '', '')"
        )
        store.db.execute(sql, (fingerprint(final), step, final))


def find_lost(store: CollectionStore, *links: tuple[str, str, int]) -> list[str]:
    finder = LostLinkFinder(store.db)
    finder.add_links([FrontierEntry(Link(url), Priority(0.5), "done", tries, 0.5, why) for url, why, tries in links])
    return [entry.link.url for entry in finder.get_lost_links()]


def test_links_without_a_visit_are_lost(store: CollectionStore) -> None:
    add_visit(store, "http://a/1")
    add_visit(store, "http://a/2", failure=Failure.NOT_FOUND)
    stored = [("http://a/1", FETCHED, 1), ("http://a/2", Failure.NOT_FOUND.value, 1)]
    assert find_lost(store, *stored) == []
    assert find_lost(store, *stored, ("http://a/3", FETCHED, 1), ("http://a/4", Failure.ROBOTS.value, 2)) == [
        "http://a/3",
        "http://a/4",
    ]


def test_links_that_lead_to_no_visit_are_not_lost(store: CollectionStore) -> None:
    assert find_lost(store, ("http://a/1", "moved http://b/", 1), ("http://a/2", "too_deep", 1)) == []


def test_an_earlier_result_of_a_link_that_was_fetched_again_does_not_count(store: CollectionStore) -> None:
    add_visit(store, "http://a/1", failure=Failure.TIMEOUT)
    add_visit(store, "http://a/2", failure=Failure.NOT_FOUND, detail=FORGOTTEN_DETAIL)
    add_visit(store, "http://a/3", failure=Failure.NOINDEX)  # withdrawn later
    links = [(f"http://a/{number}", FETCHED, 1) for number in (1, 2, 3)]
    assert find_lost(store, *links) == ["http://a/1", "http://a/2"]
    assert find_lost(store, ("http://a/1", Failure.TIMEOUT.value, 3)) == []
    add_visit(store, "http://a/4", failure=Failure.DUPLICATE)  # of a page that was lost
    assert find_lost(store, ("http://a/4", FETCHED, 1)) == ["http://a/4"]
    assert find_lost(store, ("http://a/4", Failure.DUPLICATE.value, 1)) == []


def test_redirect_targets_are_lost_only_together_with_a_visit(store: CollectionStore) -> None:
    add_visit(store, "http://a/old", "http://a/new")
    targets = [("http://a/new", FETCHED, 0), ("http://a/hop", FETCHED, 0)]
    assert find_lost(store, ("http://a/old", FETCHED, 1), *targets) == []
    assert find_lost(store, ("http://a/lost", FETCHED, 1), *targets) == ["http://a/lost", "http://a/hop"]
