"""The votes of three engines make the papers' groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.seeds.searx import ANSWERS, PLACE

from topicrawl.seeds.provider import Answer, Hit
from topicrawl.seeds.voting import Group, elected, rejected, same, voters


def answers(table: Mapping[str, Sequence[str]]) -> list[Answer]:
    return [
        Answer(engine, tuple(Hit(PLACE.format(name), rank) for rank, name in enumerate(names, 1)))
        for engine, names in table.items()
    ]


def groups(found: Sequence[Answer], votes: int = 2) -> dict[str, set[str]]:
    grouped: dict[str, set[str]] = {}
    for seed in elected(found, votes):
        grouped.setdefault(seed.group, set()).add(seed.url.removeprefix("https://").partition(".")[0])
    return grouped


def test_three_votes_are_most_relevant_two_are_relevant_one_is_too_few() -> None:
    assert groups(answers(ANSWERS["dengue fever"])) == {
        Group.MOST_RELEVANT: {"who", "cdc"},
        Group.RELEVANT: {"clinic"},
        Group.ALONE: {"news", "blog", "shop"},
    }


def test_the_negative_query_gives_irrelevant_pages_that_are_not_among_the_others() -> None:
    relevant = elected(answers(ANSWERS["dengue fever"]))
    found = rejected(answers(ANSWERS["-dengue fever"]), relevant)
    assert [(seed.url, seed.votes, seed.group) for seed in found] == [
        (PLACE.format("cars"), 3, Group.IRRELEVANT),
        (PLACE.format("faces"), 2, Group.IRRELEVANT),
    ]


def test_pages_with_most_votes_come_first_and_among_equals_the_better_placed() -> None:
    found = elected(answers(ANSWERS["dengue fever"]))
    assert [seed.url for seed in found[:3]] == [PLACE.format(name) for name in ("who", "cdc", "clinic")]
    assert dict(found[0].ranks) == {"google": 1, "msn": 1, "yahoo": 2}


def test_when_an_engine_fails_two_that_agree_are_relevant_and_not_most_relevant() -> None:
    found = [*answers(ANSWERS["dengue fever"])[:2], Answer("msn", (Hit(PLACE.format("blog"), 1),), "timeout")]
    assert voters(found) == ["google", "yahoo"]
    assert groups(found)[Group.RELEVANT] == {"who", "cdc", "clinic"}
    assert Group.MOST_RELEVANT not in groups(found)
    assert "blog" not in groups(found)[Group.ALONE]


def test_with_more_engines_all_of_them_are_needed_for_the_first_group() -> None:
    four = answers({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"], "d": ["x"]})
    assert groups(four) == {Group.MOST_RELEVANT: {"x"}, Group.RELEVANT: {"y"}}


def test_an_engine_that_is_asked_in_two_ways_has_one_vote() -> None:
    found = elected([*answers({"brave": ["a", "b"]}), *answers({"brave": ["b", "a"]})], votes=1)
    assert [(seed.votes, dict(seed.ranks)) for seed in found] == [(1, {"brave": 1})] * 2


@pytest.mark.parametrize(
    ("urls", "kept"),
    [
        (["http://who.example/x", "https://www.who.example/x/"], "https://www.who.example/x/"),
        (["https://who.example/", "http://www.who.example/"], "https://who.example/"),
    ],
)
def test_spellings_of_one_address_are_one_page_and_the_secure_one_is_kept(urls: list[str], kept: str) -> None:
    (seed,) = elected([Answer(f"e{n}", (Hit(url, 1),)) for n, url in enumerate(urls)])
    assert (seed.url, seed.votes) == (kept, 2)
    assert same(urls[0]) == same(urls[1])


PAGES = some.lists(some.sampled_from("pqrs"), unique=True, max_size=4)
TABLES = some.lists(PAGES, max_size=4).map(lambda found: dict(zip("abcd", found, strict=False)))


@given(TABLES, some.integers(1, 4))
def test_every_page_has_as_many_votes_as_engines_found_it_and_is_in_the_group_that_this_says(
    table: dict[str, list[str]], votes: int
) -> None:
    found = elected(answers(table), votes)
    assert {seed.url for seed in found} == {PLACE.format(name) for names in table.values() for name in names}
    for seed in found:
        assert seed.votes == sum(seed.url in map(PLACE.format, names) for names in table.values())
        assert (seed.group == Group.ALONE) == (seed.votes < votes)
        assert seed.group != Group.MOST_RELEVANT or seed.votes == len(table) >= 3
    assert [seed.votes for seed in found] == sorted((seed.votes for seed in found), reverse=True)
