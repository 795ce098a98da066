"""Tests of election results and their files."""

from __future__ import annotations

import json

import pytest
from tests.seeds.test_voting import answers

from topicrawl.errors import SeedError
from topicrawl.seeds.election import ElectionResult, parse_election_result
from topicrawl.seeds.link_ranking import rank_seeds
from topicrawl.seeds.provider import EngineAnswer, EngineHit
from topicrawl.seeds.voting import RANKING_METHODS, elect_seeds

TOLD = (
    *answers({"a": ["p", "q"], "b": ["q"]}),
    EngineAnswer("c", (EngineHit("http://p.example/", 1, "P", "about p"), EngineHit("http://r.example/", 2, "R"))),
    EngineAnswer("d", (), "timeout"),
)
FOUND = ElectionResult("dengue", tuple(elect_seeds(TOLD)), tuple(("dengue", answer) for answer in TOLD))


def test_json_round_trip() -> None:
    assert parse_election_result(json.dumps(FOUND.to_dict()), "x") == FOUND


def test_seed_file_has_one_seed_per_line_and_comments() -> None:
    lines = FOUND.to_seed_lines().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [seed.url for seed in FOUND.selected_seeds]
    assert "# d had no vote: timeout" in lines


def test_descriptions_are_snippets_or_titles() -> None:
    assert FOUND.descriptions == {"http://p.example/": "about p", "http://r.example/": "R"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"answers": [], "seeds": [{}], "query": "x", "votes": 1}', "[" * 99999]
)
def test_invalid_file_is_reported_in_one_line(text: str) -> None:
    with pytest.raises(SeedError, match="x: not a file of"):
        parse_election_result(text, "x")


@pytest.mark.parametrize("method", RANKING_METHODS)
def test_linked_pages_rank_first_within_a_group(method: str) -> None:
    seeds = elect_seeds(answers({"a": ["p", "q", "r"], "b": ["p", "q", "r"]}))
    p, q, r = (f"https://{name}.example/" for name in "pqr")
    found = rank_seeds(seeds, {p: ["http://www.r.example", q], q: [r], r: [f"{r}more"]}, method)
    assert [seed.url for seed in found] == [r, q, p]
    assert found[0].importance > found[1].importance > found[2].importance


@pytest.mark.parametrize("method", RANKING_METHODS)
def test_without_links_the_vote_order_is_kept(method: str) -> None:
    seeds = elect_seeds(answers({"a": ["p", "q"], "b": ["p", "q", "r"]}))
    assert [seed.url for seed in rank_seeds(seeds, {}, method)] == [seed.url for seed in seeds]
