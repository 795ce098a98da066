"""The caches of the web application follow the collection, stay small, and are prepared for large collections."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from topicrawl.collection.annotations import AnnotationLabel, annotate
from topicrawl.collection.directory import Collection
from topicrawl.collection.page_filter import ExportFilter
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.topic import Topic
from topicrawl.web import collections, page_table
from topicrawl.web.app import create_app
from topicrawl.web.collection_cache import CollectionCache
from topicrawl.web.collections import CollectionRegistry
from topicrawl.web.page_table import load_rows, select_steps
from topicrawl.web.warm_up import list_paths, prepare_pages, request_path

BY_RELEVANCE = ("relevance", True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Collection(tmp_path / "owls", Topic.of("owls"), {"identity": {}}) as collection:
        for step in range(1, 7):
            url = f"http://{'www.' * (step % 2)}a.example/{step}"
            page = Page(url, f"Owl {step}", text="owls", digest=str(step))
            visit = Visit(step, Link(url), Priority(0.5), url, page, step / 10, None, 1e9, 200)
            response = Response(url, url, 200, {"content-type": "text/html"}, b"owls", 1e9)
            collection.store_visits([(visit, response, None)])
    return tmp_path


def test_the_table_is_sorted_and_includes_new_verdicts(home: Path) -> None:
    registry = CollectionRegistry([home])
    everything, rejected = ExportFilter(includes_irrelevant=True), ExportFilter(verdicts=("irrelevant",))
    with registry.open_writable("owls") as opened:
        assert list(select_steps(opened, everything, BY_RELEVANCE)) == [6, 5, 4, 3, 2, 1]
        assert list(select_steps(opened, rejected, BY_RELEVANCE)) == []
        annotate(opened.store, ["http://a.example/4"], AnnotationLabel.IRRELEVANT, origin="read", at=1.0)
        assert list(select_steps(opened, rejected, BY_RELEVANCE)) == [4]
        (row,) = load_rows(opened, [4, 99])
        assert (row.title, row.label) == ("Owl 4", "irrelevant")


@pytest.mark.parametrize("most", [0, 5000])
@pytest.mark.parametrize("sort", [("relevance", False), ("host", False), ("title", True), ("at", True)])
def test_the_order_of_many_pages_is_that_of_a_few(
    home: Path, sort: tuple[str, bool], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_table, "_MAX_SORTED", most)
    keys = {"relevance": str, "host": lambda step: ("a.example" if step % 2 == 0 else "www.a.example", -step)}
    expected = sorted((2, 3, 4, 5, 6), key=keys.get(sort[0], str), reverse=sort[1])
    with CollectionRegistry([home]).open_readonly("owls") as opened:
        selection = ExportFilter(includes_irrelevant=True, relevance=0.2)
        assert list(select_steps(opened, selection, sort)) == expected


@pytest.mark.parametrize(
    ("host", "steps"), [("a.example", [6, 5, 4, 3, 2, 1]), ("www.a.example", [5, 3, 1]), ("example.com", [])]
)
def test_a_host_selects_its_subdomains(home: Path, host: str, steps: list[int]) -> None:
    with CollectionRegistry([home]).open_readonly("owls") as opened:
        selection = ExportFilter(includes_irrelevant=True, hosts=(host,))
        assert list(select_steps(opened, selection, BY_RELEVANCE)) == steps


def test_the_least_recently_used_value_is_dropped(home: Path) -> None:
    cache = CollectionCache()
    with CollectionRegistry([home]).open_readonly("owls") as opened:
        for number in range(60):
            assert cache.compute("used", opened.store, lambda: 1) == 1
            assert cache.compute(f"value {number}", opened.store, lambda number=number: number) == number  # type: ignore[misc]
        # The value that was used is kept; of the others, the first ones are computed again.
        assert cache.compute("used", opened.store, lambda: 2) == 1
        assert cache.compute("value 59", opened.store, lambda: -1) == 59
        assert cache.compute("value 0", opened.store, lambda: -1) == -1


def test_large_collections_are_prepared(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CollectionRegistry([home])
    cache = registry.caches.get(home / "owls")
    for minimum, is_stopped, expected in ((7, False, False), (6, True, False), (6, False, True)):
        monkeypatch.setattr(collections, "_MIN_PREPARED_VISITS", minimum)
        registry.prepare_caches(lambda is_stopped=is_stopped: is_stopped)  # type: ignore[misc]
        assert (cache._review is not None) == expected
    assert cache._review is not None
    assert cache._review.page_count == 6


def test_a_removed_collection_is_not_listed(home: Path) -> None:
    registry = CollectionRegistry([home])
    assert list(registry.list_directories()) == ["owls"]
    (home / "owls").rename(home.parent / "elsewhere")
    assert not registry.list_directories()


def test_the_pages_of_large_collections_are_prepared(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []
    app = create_app([home])

    async def record(scope: Scope, receive: Receive, send: Send) -> None:
        requests.append(scope["path"])
        await app(scope, receive, send)

    registry = app.state.site.collections
    asyncio.run(prepare_pages(record, registry, lambda: False))
    assert requests == []
    monkeypatch.setattr(collections, "_MIN_PREPARED_VISITS", 5)
    asyncio.run(prepare_pages(record, registry, lambda: True))
    assert requests == []
    asyncio.run(prepare_pages(record, registry, lambda: False))
    assert {"/", "/c/owls", "/c/owls/pages", "/c/owls/map", "/c/owls/review", "/compare"} <= set(requests)
    paths = list_paths(registry, "owls")
    failed = [path for path in paths if not path.startswith("/search") and asyncio.run(request_path(app, path)) != 200]
    assert failed == []
    assert any(name.startswith("steps ('relevance', True)") for name in registry.caches.get(home / "owls")._values)
    assert list_paths(registry, "removed") == []
