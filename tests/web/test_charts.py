"""Curves and their labels stay inside the chart, and labels do not overlap."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.web.charts import COLOURS, render_curves

CURVES = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=30), min_size=1, max_size=COLOURS)


def find_texts(svg: str, kind: str = "") -> list[ElementTree.Element]:
    """Return the text elements whose class contains `kind`."""
    return [element for element in ElementTree.fromstring(svg).iter("text") if kind in element.get("class", "")]


@given(CURVES)
def test_labels_of_curves_stay_inside_and_do_not_overlap(hit_lists: list[list[int]]) -> None:
    curves = {
        f"strategy_{number}": [sum(hits[:at]) for at in range(len(hits) + 1)] for number, hits in enumerate(hit_lists)
    }
    svg = render_curves(curves)
    chart_height = float(svg.partition('viewBox="0 0 640 ')[2].partition('"')[0])
    heights = sorted(float(element.get("y", "")) for element in find_texts(svg, "name"))
    assert len(heights) == len(curves)
    assert 0 < heights[0] <= heights[-1] < chart_height
    assert all(after - before > 14 for before, after in pairwise(heights))


def test_names_are_escaped() -> None:
    assert "<b>" not in render_curves({"<b>": [0, 1]})
