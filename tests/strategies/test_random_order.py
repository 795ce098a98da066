"""Random order: the same for everybody, and of no pattern."""

from __future__ import annotations

from statistics import fmean

import pytest

from topicrawl.errors import StrategyError
from topicrawl.strategies import make

from .visits import begun, scores, visited

VISIT = visited("http://a/", [f"http://host/{n}" for n in range(2000)])


def test_a_link_has_the_same_place_wherever_it_is_found() -> None:
    other = visited("http://z/", ["http://host/7", "http://new/"])
    assert scores(begun("random"), other)["http://host/7"] == scores(begun("random"), VISIT)["http://host/7"]


def test_scores_fill_the_range_evenly() -> None:
    found = sorted(scores(begun("random"), VISIT).values())
    assert fmean(found) == pytest.approx(0.5, abs=0.03)
    assert all(abs(score - place / 2000) < 0.05 for place, score in enumerate(found))


def test_another_seed_is_another_order() -> None:
    orders = []
    for seed in (0, 1):
        found = scores(begun(f"random:seed={seed}"), VISIT)
        orders.append(sorted(found, key=found.__getitem__))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(StrategyError, match="seed"):
        make(f"random:seed={seed}")
