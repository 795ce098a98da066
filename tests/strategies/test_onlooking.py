"""A refresh shows a strategy the pages that have changed, and no others."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest

from topicrawl.refresh import Onlooker
from topicrawl.strategies import available

from .test_conformance import begun, run, visits


@pytest.mark.parametrize("name", available())
def test_links_of_changed_pages_are_placed_and_from_others_nothing_is_learned(name: str) -> None:
    strategy = begun(name)
    run(strategy, visits())
    before = copy.deepcopy(strategy.state())
    onlooker = Onlooker(strategy, lambda visit: visit if visit.relevance else None)
    assert onlooker.combines == strategy.combines
    for visit in visits():
        assert visit.page is not None
        again = replace(visit, page=replace(visit.page, title="another"))
        onlooker.learn(again)
        places = onlooker.place(visit.page.links, again)
        assert len(places) == len(visit.page.links)
        if not visit.relevance:
            assert places == [None] * len(places)
            assert strategy.state() == before
        assert all(place is None or math.isfinite(place.score) for place in places)
        onlooker.revise()
        before = copy.deepcopy(strategy.state())
