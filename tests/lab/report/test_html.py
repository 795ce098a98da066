"""The HTML report is self-contained and shows all results and all missing tasks and runs."""

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
from tests.helpers.comparison import build_comparison
from tests.helpers.markers import LONG

from topicrawl.lab.compare import Comparison
from topicrawl.lab.leaderboard import Leaderboard
from topicrawl.lab.report.chart import COLOURS, BoundingBox, assign_styles
from topicrawl.lab.report.files import write_report
from topicrawl.lab.report.html import render_report
from topicrawl.lab.report.point_charts import _draw_labels, draw_cost_chart, draw_difference_matrix, draw_recall_chart

EMPTY = {"meta", "br", "circle", "path", "rect", "polyline", "polygon"}


@pytest.fixture(scope="module")
def made() -> tuple[Comparison, Leaderboard]:
    return build_comparison(strategies=9, topics=3)


@pytest.fixture(scope="module")
def page(made: tuple[Comparison, Leaderboard]) -> str:
    return render_report(*made)


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
    made: tuple[Comparison, Leaderboard], page: str
) -> None:
    plan, standings = made
    words = unescape(page)
    assert all(name in words for name in standings.names)
    assert all(topic in words for topic in standings.group_tasks_by_topic())
    assert all(reason in words for _, reason in plan.skipped)
    assert all(row["failure"] in words for row in plan.failures)
    assert "&lt;examples&gt; &amp; sessions" in page
    assert "not targets for any strategy" in words


def test_charts_are_valid_xml(made: tuple[Comparison, Leaderboard]) -> None:
    plan, standings = made
    drawn = assign_styles({entrant.spec: entrant.family for entrant in plan.strategies})
    for svg in (
        draw_recall_chart(standings, drawn),
        draw_cost_chart(standings.ranking, drawn),
        draw_difference_matrix(standings),
    ):
        root = ElementTree.fromstring(svg)
        assert root.get("viewBox")
        assert root.get("aria-label")


def test_dashes_distinguish_strategies_of_the_same_colour() -> None:
    families = {f"s{n}": f"family {n % 9}" for n in range(60)}
    found = assign_styles(families)
    assert {look.colour for look in found.values()} == set(COLOURS)
    same = [found[name].dash for name, family in families.items() if family == "family 1"]
    assert len(set(same)) == len(same)


#: Simulation matrices of colour vision deficiencies at full severity (Machado et al. 2009), in linear RGB.
VISION = {
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


@pytest.mark.parametrize("vision", VISION)
def test_family_colours_are_distinguishable_with_any_colour_vision(vision: str) -> None:
    def perceive(colour: str) -> tuple[float, ...]:
        linear = [(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
        simulated = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in VISION[vision]]
        return tuple(min(1.0, max(0.0, value)) ** (1 / 2.2) for value in simulated)

    distances = [dist(perceive(one), perceive(two)) for one, two in combinations(COLOURS, 2)]
    assert min(distances) > 0.09


def test_the_report_shows_the_accuracy_of_recall_forecasts(made: tuple[Comparison, Leaderboard], page: str) -> None:
    assert "Recall forecasts" in page
    assert "all strategies" in page
    plan, standings = made
    for row in plan.rows:
        assert "foresight" in row
    older = [{key: value for key, value in row.items() if key != "foresight"} for row in plan.rows]
    assert "Recall forecasts" not in render_report(plan, Leaderboard(older, standings.fetches))


def test_names_of_crowded_points_do_not_overlap() -> None:
    names = [f"some_strategy_{n}" for n in range(28)]
    points = [(300 + 6 * (n % 7), 200 + 5 * (n // 7)) for n in range(28)]
    boxes = []
    for part in _draw_labels(names, points):
        if found := re.match(r'<text x="([\d.]+)" y="([\d.]+)".*>(.*)</text>', part):
            left, base = float(found[1]), float(found[2])
            boxes.append(BoundingBox(left, base - 9, left + 6 * len(found[3]), base + 2))
    assert len(boxes) == 28
    assert not any(one.overlaps(two) for n, one in enumerate(boxes) for two in boxes[n + 1 :])


def test_json_and_csv_contain_the_same_figures(made: tuple[Comparison, Leaderboard], tmp_path: Path) -> None:
    plan, standings = made
    assert write_report(tmp_path, plan, standings) == tmp_path / "report.html"
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    with (tmp_path / "standings.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["strategy"] for row in rows if row["web"] == "all"] == [row["strategy"] for row in report["standings"]]
    assert {row["web"] for row in rows} == {"all", "one", "two"}
    assert [float(row["nauc"]) for row in rows[: len(report["standings"])]] == [
        row["nauc"] for row in report["standings"]
    ]
    assert report["not_run"][0]["task"] == "one 99: dragons"
    assert report["failed"][0]["failure"] == "it needs <examples> & sessions"
    assert len((tmp_path / "runs.csv").read_text("utf-8").splitlines()) == len(plan.rows) + 1


@LONG
def test_a_report_does_not_depend_on_the_hash_seed() -> None:
    code = "from tests.helpers.comparison import print_report; print_report()"
    here = Path(__file__).parents[3]
    pages = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=here,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert pages[0] == pages[1]
    assert b"Leaderboard" in pages[0]


@pytest.mark.parametrize("ran", [set(), {"oracle"}, {"oracle", "breadth_first"}], ids=len)
def test_a_report_without_runs_says_so(ran: set[str]) -> None:
    plan, _ = build_comparison(3, 1)
    page = render_report(plan, Leaderboard([row for row in plan.rows if row["strategy"] in ran], 1000))
    if "breadth_first" in ran:
        assert "<strong>Only breadth_first ran on all tasks" in page
        return
    assert "<strong>No strategy could be measured" in page
    assert "it needs &lt;examples&gt;" in page
