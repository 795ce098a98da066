"""A report that stands alone, with everything in it that was measured and everything that is missing."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from itertools import combinations
from math import dist
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.lab.made_comparison import compared

from topicrawl.lab.chart import COLOURS, Box, looks
from topicrawl.lab.chart_points import _labels, cost_svg, matrix_svg, recall_svg
from topicrawl.lab.compare import Comparison
from topicrawl.lab.report import report_html
from topicrawl.lab.report_files import write_report
from topicrawl.lab.standings import Standings

EMPTY = {"meta", "br", "circle", "path", "rect", "polyline", "polygon"}


@pytest.fixture(scope="module")
def made() -> tuple[Comparison, Standings]:
    return compared(strategies=9, topics=3)


@pytest.fixture(scope="module")
def page(made: tuple[Comparison, Standings]) -> str:
    return report_html(*made)


def test_the_page_loads_nothing_from_elsewhere(page: str) -> None:
    assert not re.search(r"<(?:script|link|img|iframe|object|embed)\b|@import|url\(|\ssrc=|\shref=", page)


def test_every_element_is_closed(page: str) -> None:
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in {"meta", "br"}:
                opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag in EMPTY

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(page)
    assert not opened


def test_the_page_names_every_strategy_every_topic_and_all_that_is_missing(
    made: tuple[Comparison, Standings], page: str
) -> None:
    plan, standings = made
    words = unescape(page)
    assert all(name in words for name in standings.names)
    assert all(topic in words for topic in standings.topics())
    assert all(reason in words for _, reason in plan.skipped)
    assert all(row["failure"] in words for row in plan.failures)
    assert "&lt;examples&gt; &amp; sessions" in page
    assert "targets for nobody" in words


def test_pictures_are_whole(made: tuple[Comparison, Standings]) -> None:
    plan, standings = made
    drawn = looks({entrant.spec: entrant.family for entrant in plan.entrants})
    for svg in (recall_svg(standings, drawn), cost_svg(standings.ranked, drawn), matrix_svg(standings)):
        root = ElementTree.fromstring(svg)
        assert root.get("viewBox")
        assert root.get("aria-label")


def test_more_strategies_than_colours_are_told_apart_by_dashes() -> None:
    families = {f"s{n}": f"family {n % 9}" for n in range(60)}
    found = looks(families)
    assert {look.colour for look in found.values()} == set(COLOURS)
    same = [found[name].dash for name, family in families.items() if family == "family 1"]
    assert len(set(same)) == len(same)


#: How colours look to people without one kind of cones (Machado et al. 2009, the strongest form), in linear light.
VISION = {
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


@pytest.mark.parametrize("vision", VISION)
def test_colours_of_families_are_told_apart_with_any_vision(vision: str) -> None:
    def seen(colour: str) -> tuple[float, ...]:
        linear = [(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
        mixed = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in VISION[vision]]
        return tuple(min(1.0, max(0.0, value)) ** (1 / 2.2) for value in mixed)

    apart = [dist(seen(one), seen(two)) for one, two in combinations(COLOURS, 2)]
    assert min(apart) > 0.09


def test_the_report_tells_how_well_the_rest_was_foretold(made: tuple[Comparison, Standings], page: str) -> None:
    assert "What was still to come" in page
    assert "all strategies" in page
    plan, standings = made
    for row in plan.rows:
        assert "foresight" in row
    older = [{key: value for key, value in row.items() if key != "foresight"} for row in plan.rows]
    assert "What was still to come" not in report_html(plan, Standings(older, standings.fetches))


def test_names_beside_crowded_points_do_not_cover_each_other() -> None:
    names = [f"some_strategy_{n}" for n in range(28)]
    points = [(300 + 6 * (n % 7), 200 + 5 * (n // 7)) for n in range(28)]
    boxes = []
    for part in _labels(names, points):
        if found := re.match(r'<text x="([\d.]+)" y="([\d.]+)".*>(.*)</text>', part):
            left, base = float(found[1]), float(found[2])
            boxes.append(Box(left, base - 9, left + 6 * len(found[3]), base + 2))
    assert len(boxes) == 28
    assert not any(one.meets(two) for n, one in enumerate(boxes) for two in boxes[n + 1 :])


def test_the_same_figures_stand_in_json_and_csv(made: tuple[Comparison, Standings], tmp_path: Path) -> None:
    plan, standings = made
    assert write_report(tmp_path, plan, standings) == tmp_path / "report.html"
    told = json.loads((tmp_path / "report.json").read_text("utf-8"))
    with (tmp_path / "standings.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["strategy"] for row in rows if row["web"] == "all"] == [row["strategy"] for row in told["standings"]]
    assert {row["web"] for row in rows} == {"all", "one", "two"}
    assert [float(row["nauc"]) for row in rows[: len(told["standings"])]] == [row["nauc"] for row in told["standings"]]
    assert told["not_run"][0]["task"] == "one 99: dragons"
    assert told["failed"][0]["failure"] == "it needs <examples> & sessions"
    assert len((tmp_path / "runs.csv").read_text("utf-8").splitlines()) == len(plan.rows) + 1


def test_a_report_is_the_same_each_time_whatever_the_hash_seed() -> None:
    code = (
        "import sys; from tests.lab.made_comparison import compared; from topicrawl.lab.report import report_html;"
        "sys.stdout.buffer.write(report_html(*compared(5, 2)).encode())"
    )
    here = Path(__file__).parents[2]
    pages = [
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=here,
                       capture_output=True, check=True).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert pages[0] == pages[1]
    assert b"Standings" in pages[0]


@pytest.mark.parametrize("ran", [set(), {"oracle"}, {"oracle", "breadth_first"}], ids=len)
def test_a_comparison_in_which_no_strategy_ran_has_a_report_that_says_so(ran: set[str]) -> None:
    plan, _ = compared(3, 1)
    page = report_html(plan, Standings([row for row in plan.rows if row["strategy"] in ran], 1000))
    if "breadth_first" in ran:
        assert "Ahead: <strong>breadth_first" in page
        return
    assert "no strategy" in page
    assert "it needs &lt;examples&gt;" in page
