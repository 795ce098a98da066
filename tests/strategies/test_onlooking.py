"""A recrawl passes only changed pages to the strategy."""

from __future__ import annotations

import copy
import math

import pytest
from msgspec.structs import replace
from tests.strategies.test_conformance import bind_strategy, make_visits, run_visits

from topicrawl.recrawl.strategy import ChangedPagesStrategy
from topicrawl.strategies import list_strategies


@pytest.mark.parametrize("name", list_strategies())
def test_only_changed_pages_are_learned_from_and_scored(name: str) -> None:
    strategy = bind_strategy(name)
    run_visits(strategy, make_visits())
    before = copy.deepcopy(strategy.get_state())
    onlooker = ChangedPagesStrategy(strategy, lambda visit: visit if visit.relevance else None)
    assert onlooker.merges == strategy.merges
    for visit in make_visits():
        assert visit.page is not None
        again = replace(visit, page=replace(visit.page, title="another"))
        onlooker.learn(again)
        places = onlooker.score_links(visit.page.links, again)
        assert len(places) == len(visit.page.links)
        if not visit.relevance:
            assert places == [None] * len(places)
            assert strategy.get_state() == before
        assert all(place is None or math.isfinite(place.score) for place in places)
        onlooker.rescore()
        before = copy.deepcopy(strategy.get_state())
