"""Tests of the seed election: groups by votes, as in the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.helpers.searxng_server import ANSWERS, PLACE

from topicrawl.seeds.provider import EngineAnswer, EngineHit
from topicrawl.seeds.voting import SeedGroup, elect_irrelevant_seeds, elect_seeds, get_page_key, get_voting_engines


def answers(table: Mapping[str, Sequence[str]]) -> list[EngineAnswer]:
    return [
        EngineAnswer(engine, tuple(EngineHit(PLACE.format(name), rank) for rank, name in enumerate(names, 1)))
        for engine, names in table.items()
    ]


def groups(found: Sequence[EngineAnswer], votes: int = 2) -> dict[str, set[str]]:
    grouped: dict[str, set[str]] = {}
    for seed in elect_seeds(found, votes):
        grouped.setdefault(seed.group, set()).add(seed.url.removeprefix("https://").partition(".")[0])
    return grouped


def test_groups_by_number_of_votes() -> None:
    assert groups(answers(ANSWERS["dengue fever"])) == {
        SeedGroup.MOST_RELEVANT: {"who", "cdc"},
        SeedGroup.RELEVANT: {"clinic"},
        SeedGroup.TOO_FEW_VOTES: {"news", "blog", "shop"},
    }


def test_negative_query_gives_irrelevant_pages() -> None:
    relevant = elect_seeds(answers(ANSWERS["dengue fever"]))
    found = elect_irrelevant_seeds(answers(ANSWERS["-dengue fever"]), relevant)
    assert [(seed.url, seed.votes, seed.group) for seed in found] == [
        (PLACE.format("cars"), 3, SeedGroup.IRRELEVANT),
        (PLACE.format("faces"), 2, SeedGroup.IRRELEVANT),
    ]


def test_order_by_votes_and_rank() -> None:
    found = elect_seeds(answers(ANSWERS["dengue fever"]))
    assert [seed.url for seed in found[:3]] == [PLACE.format(name) for name in ("who", "cdc", "clinic")]
    assert dict(found[0].ranks) == {"google": 1, "msn": 1, "yahoo": 2}


def test_two_votes_of_two_engines_are_not_most_relevant() -> None:
    found = [
        *answers(ANSWERS["dengue fever"])[:2],
        EngineAnswer("msn", (EngineHit(PLACE.format("blog"), 1),), "timeout"),
    ]
    assert get_voting_engines(found) == ["google", "yahoo"]
    assert groups(found)[SeedGroup.RELEVANT] == {"who", "cdc", "clinic"}
    assert SeedGroup.MOST_RELEVANT not in groups(found)
    assert "blog" not in groups(found)[SeedGroup.TOO_FEW_VOTES]


def test_most_relevant_needs_all_engines() -> None:
    four = answers({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"], "d": ["x"]})
    assert groups(four) == {SeedGroup.MOST_RELEVANT: {"x"}, SeedGroup.RELEVANT: {"y"}}


def test_engine_in_two_providers_has_one_vote() -> None:
    found = elect_seeds([*answers({"brave": ["a", "b"]}), *answers({"brave": ["b", "a"]})], votes=1)
    assert [(seed.votes, dict(seed.ranks)) for seed in found] == [(1, {"brave": 1})] * 2


@pytest.mark.parametrize(
    ("urls", "expected_url"),
    [
        (["http://who.example/x", "https://www.who.example/x/"], "https://www.who.example/x/"),
        (["https://who.example/", "http://www.who.example/"], "https://who.example/"),
    ],
)
def test_urls_of_one_page_are_merged(urls: list[str], expected_url: str) -> None:
    (seed,) = elect_seeds([EngineAnswer(f"e{n}", (EngineHit(url, 1),)) for n, url in enumerate(urls)])
    assert (seed.url, seed.votes) == (expected_url, 2)
    assert get_page_key(urls[0]) == get_page_key(urls[1])


PAGES = some.lists(some.sampled_from("pqrs"), unique=True, max_size=4)
TABLES = some.lists(PAGES, max_size=4).map(lambda found: dict(zip("abcd", found, strict=False)))


@given(TABLES, some.integers(1, 4))
def test_votes_and_groups_are_consistent(table: dict[str, list[str]], votes: int) -> None:
    found = elect_seeds(answers(table), votes)
    assert {seed.url for seed in found} == {PLACE.format(name) for names in table.values() for name in names}
    for seed in found:
        assert seed.votes == sum(seed.url in map(PLACE.format, names) for names in table.values())
        assert (seed.group == SeedGroup.TOO_FEW_VOTES) == (seed.votes < votes)
        assert seed.group != SeedGroup.MOST_RELEVANT or seed.votes == len(table) >= 3
    assert [seed.votes for seed in found] == sorted((seed.votes for seed in found), reverse=True)
