"""What engines told is kept, and read again after whatever happened to the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.seeds.test_found import FOUND

from topicrawl.collection.told import DESCRIPTION, PARENTS, TOLD, Told
from topicrawl.errors import SeedError


def test_answers_are_remembered_also_when_there_were_none(tmp_path: Path) -> None:
    told = Told(tmp_path / "new")
    told.keep(PARENTS, "http://a/", ["http://b/"])
    told.keep(PARENTS, "http://c/", [])
    told.keep(DESCRIPTION, "http://a/", ["dengue ü"])
    again = Told(tmp_path / "new")
    assert (again.parents("http://a/"), again.parents("http://c/"), again.parents("http://d/")) == (
        ("http://b/",), (), None,
    )  # fmt: skip
    assert (again.asked(PARENTS), again.asked(DESCRIPTION)) == (2, 1)
    assert again.description("http://a/") == "dengue ü"


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_line_costs_that_answer_only(tmp_path: Path, cut: int) -> None:
    told = Told(tmp_path)
    told.keep(PARENTS, "http://a/", ["http://b/"])
    told.keep(PARENTS, "http://c/", ["http://d/"])
    path = tmp_path / TOLD
    path.write_bytes(path.read_bytes()[:-cut])
    again = Told(tmp_path)
    assert again.parents("http://a/") == ("http://b/",)
    again.keep(PARENTS, "http://e/", [])
    assert Told(tmp_path).parents("http://e/") == ()


def test_snippets_of_the_election_describe_pages(tmp_path: Path) -> None:
    told = Told(tmp_path, FOUND)
    told.keep_seeds()
    again = Told(tmp_path)
    assert again.found == FOUND
    assert again.description("http://p.example/") == "about p"
    again.keep(DESCRIPTION, "http://p.example/", ["asked for it"])
    assert again.description("http://p.example/") == "asked for it"


def test_a_damaged_election_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "seeds.json").write_text("{", "utf-8")
    with pytest.raises(SeedError, match=r"seeds\.json"):
        Told(tmp_path)
