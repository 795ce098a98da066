"""Tests of the search engine cache and its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.seeds.test_election import FOUND

from topicrawl.errors import SeedError
from topicrawl.seeds.search_engine_cache import ANSWERS_FILE, BACKLINKS, DESCRIPTION, SearchEngineCache


def test_answers_are_stored_even_if_empty(tmp_path: Path) -> None:
    cache = SearchEngineCache(tmp_path / "new")
    cache.store_answer(BACKLINKS, "http://a/", ["http://b/"])
    cache.store_answer(BACKLINKS, "http://c/", [])
    cache.store_answer(DESCRIPTION, "http://a/", ["dengue ü"])
    again = SearchEngineCache(tmp_path / "new")
    assert (again.get_backlinks("http://a/"), again.get_backlinks("http://c/"), again.get_backlinks("http://d/")) == (
        ("http://b/",),
        (),
        None,
    )
    assert (again.count_queries(BACKLINKS), again.count_queries(DESCRIPTION)) == (2, 1)
    assert again.get_description("http://a/") == "dengue ü"


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_incomplete_line_loses_only_that_answer(tmp_path: Path, cut: int) -> None:
    cache = SearchEngineCache(tmp_path)
    cache.store_answer(BACKLINKS, "http://a/", ["http://b/"])
    cache.store_answer(BACKLINKS, "http://c/", ["http://d/"])
    path = tmp_path / ANSWERS_FILE
    path.write_bytes(path.read_bytes()[:-cut])
    again = SearchEngineCache(tmp_path)
    assert again.get_backlinks("http://a/") == ("http://b/",)
    again.store_answer(BACKLINKS, "http://e/", [])
    assert SearchEngineCache(tmp_path).get_backlinks("http://e/") == ()


def test_descriptions_come_from_election_snippets(tmp_path: Path) -> None:
    cache = SearchEngineCache(tmp_path, FOUND)
    cache.save_election()
    again = SearchEngineCache(tmp_path)
    assert again.election == FOUND
    assert again.get_description("http://p.example/") == "about p"
    again.store_answer(DESCRIPTION, "http://p.example/", ["asked for it"])
    assert again.get_description("http://p.example/") == "asked for it"


def test_damaged_election_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "seeds.json").write_text("{", "utf-8")
    with pytest.raises(SeedError, match=r"seeds\.json"):
        SearchEngineCache(tmp_path)
