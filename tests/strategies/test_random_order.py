"""Tests of random order: reproducible and uniform."""

from __future__ import annotations

from statistics import fmean

import pytest
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.strategies import create_strategy

VISIT = build_visit("http://a/", [f"http://host/{n}" for n in range(2000)])


def test_a_link_has_the_same_score_on_every_page() -> None:
    other = build_visit("http://z/", ["http://host/7", "http://new/"])
    assert (
        score_visit_links(bind_strategy("random"), other)["http://host/7"]
        == score_visit_links(bind_strategy("random"), VISIT)["http://host/7"]
    )


def test_scores_fill_the_range_evenly() -> None:
    found = sorted(score_visit_links(bind_strategy("random"), VISIT).values())
    assert fmean(found) == pytest.approx(0.5, abs=0.03)
    assert all(abs(score - place / 2000) < 0.05 for place, score in enumerate(found))


def test_another_seed_gives_another_order() -> None:
    orders = []
    for seed in (0, 1):
        found = score_visit_links(bind_strategy(f"random:seed={seed}"), VISIT)
        orders.append(sorted(found, key=found.__getitem__))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_rejected(seed: int) -> None:
    with pytest.raises(StrategyError, match="seed"):
        create_strategy(f"random:seed={seed}")
