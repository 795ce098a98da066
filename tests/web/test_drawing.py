"""Curves stay in their picture, and so do their names, which do not cover each other."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.web.drawing import COLOURS, curve_svg, curves_svg

CURVES = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=30), min_size=1, max_size=COLOURS)


def texts(svg: str, kind: str = "") -> list[ElementTree.Element]:
    return [it for it in ElementTree.fromstring(svg).iter("text") if kind in it.get("class", "")]


@given(CURVES)
def test_names_of_curves_stay_in_the_picture_and_apart(found: list[list[int]]) -> None:
    curves = {
        f"strategy_{number}": [sum(hits[:at]) for at in range(len(hits) + 1)] for number, hits in enumerate(found)
    }
    svg = curves_svg(curves)
    high = float(svg.partition('viewBox="0 0 640 ')[2].partition('"')[0])
    heights = sorted(float(it.get("y", "")) for it in texts(svg, "name"))
    assert len(heights) == len(curves)
    assert 0 < heights[0] <= heights[-1] < high
    assert all(after - before > 14 for before, after in pairwise(heights))


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=5).map(sorted))
def test_a_curve_has_round_numbers_beside_it_and_no_point_outside(points: list[tuple[int, int]]) -> None:
    svg = curve_svg(points)
    (line,) = ElementTree.fromstring(svg).iter("polyline")
    for pair in line.get("points", "").split()[-1:]:
        x, y = map(float, pair.split(","))
        assert 0 <= x <= 640
        assert 0 <= y <= 240
    assert len(texts(svg)) >= 3


def test_names_are_text() -> None:
    assert "<b>" not in curves_svg({"<b>": [0, 1]})
