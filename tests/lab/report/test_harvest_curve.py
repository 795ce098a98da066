"""Harvest curves as SVG images and terminal text."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.lab.report.harvest_curve import axis_ticks, render_harvest_svg, render_harvest_text, spread_labels

SVG = "{http://www.w3.org/2000/svg}"
RISING = [float(n // 2) for n in range(1, 1001)]
FLAT = [1.0] * 1000


def picture(curves: dict[str, list[float]], title: str = "A topic") -> ElementTree.Element:
    return ElementTree.fromstring(render_harvest_svg(curves, title=title))


@given(st.floats(1e-6, 1e9), st.integers(1, 12))
def test_ticks_are_evenly_spaced_from_0_to_the_top(top: float, most: int) -> None:
    found = axis_ticks(top, most)
    assert found[0] == 0
    assert found[-1] >= top * (1 - 1e-6)
    assert 2 <= len(found) <= most + 1
    steps = [after - before for before, after in pairwise(found)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3)


@given(st.lists(st.floats(0, 300), max_size=12))
def test_labels_keep_their_distance_their_order_and_stay_inside(wanted: list[float]) -> None:
    places = spread_labels(wanted, 20.0, 0.0, 300.0)
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in places)
    assert all(after - before >= 20 - 1e-6 for before, after in pairwise(sorted(places)))
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    assert [places[index] for index in order] == sorted(places)


def test_the_image_is_valid_xml_without_external_files() -> None:
    text = render_harvest_svg({"best & first <i>": RISING, "other": FLAT}, title="Fish & <chips>")
    root = ElementTree.fromstring(text)
    assert root.findtext(f"{SVG}title") == "Fish & <chips>"
    assert not re.search(r"href|url\(|@import", text)


def test_each_curve_has_a_line_a_colour_a_name_and_its_last_value() -> None:
    root = picture({"best": RISING, "breadth": FLAT})
    lines = root.findall(f"{SVG}polyline")
    assert len({line.get("stroke") for line in lines}) == len(lines) == 2
    texts = ["".join(text.itertext()) for text in root.findall(f"{SVG}text")]
    assert {"best 500", "breadth 1"} <= set(texts)


def test_lines_stay_inside_the_axes_and_rise_with_their_values() -> None:
    root = picture({"best": RISING})
    line = root.find(f"{SVG}polyline")
    assert line is not None
    points = [tuple(map(float, point.split(","))) for point in str(line.get("points")).split()]
    assert all(0 < x < 760 and 60 < y < 420 for x, y in points)
    assert all(before[0] < after[0] and before[1] >= after[1] for before, after in pairwise(points))
    assert points[0][1] > points[-1][1] + 200


def test_names_of_curves_that_end_together_do_not_overlap() -> None:
    root = picture({f"strategy {turn}": [value - turn / 10 for value in RISING] for turn in range(7)})
    heights = [float(text.get("y", 0)) for text in root.findall(f"{SVG}text") if "strategy" in "".join(text.itertext())]
    assert len(heights) == 7
    assert all(after - before >= 16 for before, after in pairwise(sorted(heights)))


def test_a_long_name_is_truncated_to_fit_the_image() -> None:
    root = picture({"a strategy with far too many words in its name": RISING})
    [label] = [text for text in root.findall(f"{SVG}text") if "…" in "".join(text.itertext())]
    assert float(label.get("x", 0)) + 7.2 * len("".join(label.itertext())) <= 760


@pytest.mark.parametrize("curves", [{}, {"none": []}, {"zero": [0.0, 0.0]}, {"one": [3.0]}])
def test_empty_curves_give_an_empty_image(curves: dict[str, list[float]]) -> None:
    assert picture(curves).tag == f"{SVG}svg"
    assert "pages fetched" in render_harvest_text(curves)


@pytest.mark.parametrize(("width", "height"), [(60, 8), (78, 16), (120, 30)])
def test_the_terminal_chart_has_the_requested_size(width: int, height: int) -> None:
    lines = render_harvest_text({"best_first": RISING, "breadth_first": FLAT}, width=width, height=height).splitlines()
    assert len(lines) == height + 3
    assert all(len(line) <= width for line in lines)


def test_in_the_terminal_the_better_curve_ends_above_the_other() -> None:
    lines = render_harvest_text({"breadth": FLAT, "best": RISING}).splitlines()
    rows = {name: next(row for row, line in enumerate(lines) if name in line) for name in ("best 500", "breadth 1")}
    assert rows["best 500"] < rows["breadth 1"]
    dotted = [row for row, line in enumerate(lines) if re.search("[\u2801-\u28ff]", line)]
    assert dotted[0] == rows["best 500"]
    assert dotted[-1] == rows["breadth 1"]
