"""What engines found, in files and back."""

from __future__ import annotations

import json

import pytest
from tests.seeds.test_voting import answers

from topicrawl.errors import SeedError
from topicrawl.seeds.found import Found, read_found
from topicrawl.seeds.importance import ordered
from topicrawl.seeds.provider import Answer, Hit
from topicrawl.seeds.voting import METHODS, elected

TOLD = (
    *answers({"a": ["p", "q"], "b": ["q"]}),
    Answer("c", (Hit("http://p.example/", 1, "P", "about p"), Hit("http://r.example/", 2, "R"))),
    Answer("d", (), "timeout"),
)
FOUND = Found("dengue", tuple(elected(TOLD)), tuple(("dengue", answer) for answer in TOLD))


def test_all_of_it_comes_back_from_json() -> None:
    assert read_found(json.dumps(FOUND.table()), "x") == FOUND


def test_the_text_names_the_seeds_one_a_line_and_everything_else_in_comments() -> None:
    lines = FOUND.text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [seed.url for seed in FOUND.taken]
    assert "# d had no vote: timeout" in lines


def test_snippets_describe_the_pages_and_titles_where_there_are_none() -> None:
    assert FOUND.descriptions == {"http://p.example/": "about p", "http://r.example/": "R"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"answers": [], "seeds": [{}], "query": "x", "votes": 1}', "[" * 99999]
)
def test_another_file_is_one_line(text: str) -> None:
    with pytest.raises(SeedError, match="x: not a file of"):
        read_found(text, "x")


@pytest.mark.parametrize("method", METHODS)
def test_among_equals_the_page_that_others_link_to_comes_first(method: str) -> None:
    seeds = elected(answers({"a": ["p", "q", "r"], "b": ["p", "q", "r"]}))
    p, q, r = (f"https://{name}.example/" for name in "pqr")
    found = ordered(seeds, {p: ["http://www.r.example", q], q: [r], r: [f"{r}more"]}, method)
    assert [seed.url for seed in found] == [r, q, p]
    assert found[0].importance > found[1].importance > found[2].importance


@pytest.mark.parametrize("method", METHODS)
def test_without_links_the_order_of_the_votes_stays(method: str) -> None:
    seeds = elected(answers({"a": ["p", "q"], "b": ["p", "q", "r"]}))
    assert [seed.url for seed in ordered(seeds, {}, method)] == [seed.url for seed in seeds]
