"""`topicrawl review`: a crawl with several metrics is reviewed by samples, and the export follows the verdicts."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.helpers.review_site import SECTIONS, crawl_review_site, is_on_topic


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a crawl that the tests copy, and the address of its site."""
    directory = tmp_path_factory.mktemp("review") / "crawl"
    return directory, crawl_review_site(directory)


@pytest.fixture
def crawl(stored: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    shutil.copytree(stored[0], tmp_path / "crawl")
    return tmp_path / "crawl", stored[1]


def load_report(run: Run, directory: Path, *options: object) -> dict[str, Any]:
    ran = run("review", directory, "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    report: dict[str, Any] = json.loads(ran.out)
    return report


def list_exported(run: Run, directory: Path, *options: str) -> list[dict[str, Any]]:
    ran = run("export", directory, "--to", "jsonl", "--out", "-", "--text", "none", *options)
    return [json.loads(line) for line in ran.out.splitlines()]


def list_section(address: str, *names: str) -> set[str]:
    return {f"{address}/{name}/{number}" for name in names for number in range(SECTIONS[name][0])}


def test_groups_come_from_the_metrics_of_each_page(run: Run, crawl: tuple[Path, str]) -> None:
    directory, address = crawl
    report = load_report(run, directory)
    assert {group["name"]: (group["pages"], group["sample"]) for group in report["groups"]} == {
        f"vsm {address}/ponds/": (20, 4),
        f"vsm {address}/planes/": (20, 4),
        "undoubted": (6, 1),
        "rejected": (11, 1),
    }
    # Kluev, section 5: 13 to 17 % of the documents of a collection were inspected.
    assert report["effort"] == pytest.approx(9 / 46, abs=1e-4)
    assert {tuple(page["metrics"]) for page in report["queue"]} == {("vsm",), ("terms", "vsm"), ()}
    text = run("review", directory).out
    assert "46 of 57 pages are judged relevant, 6 undoubtedly; the samples have 9 pages (20%)" in text


def test_export_contains_what_the_verdicts_say(run: Run, crawl: tuple[Path, str]) -> None:
    directory, address = crawl
    queue = load_report(run, directory)["queue"]
    verdicts: list[str] = []
    for page in queue:
        if "/ponds/" in page["url"]:
            verdicts += ["--relevant", page["url"]]
        elif "/planes/" in page["url"]:
            verdicts += ["--irrelevant", page["url"]]
    done = load_report(run, directory, *verdicts, "--accept", "undoubted")["done"]
    assert done == [
        "8 verdicts added",
        f"accepted: 16 other pages of the group vsm {address}/ponds/",
        f"rejected: 16 other pages of the group vsm {address}/planes/",
        "accepted: 6 other pages of the group undoubted",
    ]
    rows = list_exported(run, directory)
    assert {row["url"] for row in rows} == list_section(address, "clinic", "ponds")
    assert {(row["relevant"], row["label"], row["labelled_by"]) for row in rows} == {(True, "relevant", "user")}
    rejected = list_exported(run, directory, "--verdict", "irrelevant")
    assert {row["url"] for row in rejected} == list_section(address, "planes")
    assert {row["relevant"] for row in rejected} == {False}
    unlabelled = {row["url"] for row in list_exported(run, directory, "--verdict", "none")}
    assert unlabelled == {*list_section(address, "trains"), f"{address}/"}
    assert len(list_exported(run, directory, "--all")) == 57
    status = json.loads(run("status", directory, "--json").out)
    assert (status["pages"], status["relevant"]) == (57, 26)
    feed = run("refresh", directory, "--since", "1d", "--json").out
    assert "/ponds/3" in feed
    assert "/planes/3" not in feed


def test_groups_accepted_or_rejected_without_a_sample_show_their_decision(run: Run, crawl: tuple[Path, str]) -> None:
    directory, address = crawl
    options = ("--accept", "undoubted", "--reject", f"vsm {address}/planes/")
    groups = load_report(run, directory, *options)["groups"]
    assert {group["name"]: (group["decision"], group["undecided"]) for group in groups} == {
        f"vsm {address}/ponds/": ("", 20),
        f"vsm {address}/planes/": ("irrelevant", 0),
        "undoubted": ("relevant", 0),
        "rejected": ("", 11),
    }
    groups = load_report(run, directory, "--undo")["groups"]
    assert [group["decision"] for group in groups if group["name"] != "undoubted"] == ["", "", ""]


def test_page_that_was_ruled_relevant_is_exported(run: Run, crawl: tuple[Path, str]) -> None:
    directory, address = crawl
    url = f"{address}/trains/1"
    assert run("review", directory, "--relevant", url).code == 0
    (row,) = [row for row in list_exported(run, directory) if row["url"] == url]
    assert (row["relevant"], row["label"]) == (True, "relevant")
    assert row["relevance"] < 0.5


def test_sheet_is_written_filled_in_and_read_back(run: Run, crawl: tuple[Path, str]) -> None:
    directory, address = crawl
    assert run("review", directory, "--write-sheet", "sheet.csv").code == 0
    assert run("review", directory, "--write-sheet", "sheet.csv").code == 2  # an existing file may have verdicts
    with Path("sheet.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    for row in rows:
        row["verdict"] = "relevant" if is_on_topic(row["url"]) else "irrelevant"
    with Path("filled.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = load_report(run, directory, "--read-sheet", "filled.csv")["done"]
    assert done[0] == "10 verdicts added"
    assert len(done) == 3
    assert load_report(run, directory, "--read-sheet", "filled.csv")["done"] == ["no verdict has changed"]
    exported = {row["url"] for row in list_exported(run, directory)}
    assert exported == list_section(address, "clinic", "ponds")
    sheet = run("review", directory, "--write-sheet", "-").out
    assert sheet.splitlines()[0] == "verdict,url,title,relevance,group"
    assert sheet.count("\nirrelevant,") == 5


def test_undo_goes_back_action_by_action(run: Run, crawl: tuple[Path, str]) -> None:
    directory, address = crawl
    group = f"vsm {address}/planes/"
    load_report(run, directory, "--reject", group)
    assert len(list_exported(run, directory)) == 26
    done = load_report(run, directory, "--undo")["done"]
    assert done == ["undone: 20 pages have their earlier verdicts"]
    assert len(list_exported(run, directory)) == 46
    assert load_report(run, directory, "--undo")["done"] == ["nothing to undo"]


def test_another_judge_reviews_the_samples(run: Run, crawl: tuple[Path, str]) -> None:
    directory, _ = crawl
    user_page = next(page["url"] for page in load_report(run, directory)["queue"] if "/planes/" in page["url"])
    run("review", directory, "--relevant", user_page)
    report = load_report(run, directory, "--reviewer-judge", "topic")
    assert "the judge topic finds " in report["done"][0]
    assert report["queue"] == []
    row = next(row for row in list_exported(run, directory, "--all") if row["url"] == user_page)
    assert row["label"] == "relevant", "a verdict of the user stays"
    assert load_report(run, directory, "--undo")["done"] != ["nothing to undo"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--relevant", "http://unknown.example/"], "http://unknown.example/ is not in crawl"),
        (["--accept", "undoubted", "--reject", "unknown"], "there is no review group 'unknown'"),
        (["--accept", "undoubted", "--reviewer-judge", "multi_metric"], "the judge multi_metric judged this crawl"),
        (["--reviewer-judge", "os:system"], "the judge 'os:system' cannot review"),
        (["--read-sheet", "missing.csv"], "missing.csv cannot be read: No such file or directory\n"),
        (["--undo", "--accept", "undoubted"], "--undo cannot be combined"),
    ],
)
def test_invalid_input_is_a_usage_error_and_changes_nothing(
    run: Run, crawl: tuple[Path, str], options: list[str], message: str
) -> None:
    ran = run("review", crawl[0], *options)
    assert ran.code == 2
    assert message in ran.err
    assert load_report(run, crawl[0], "--undo")["done"] == ["nothing to undo"]


def test_directory_without_a_crawl_has_exit_code_3(run: Run, tmp_path: Path) -> None:
    ran = run("review", tmp_path / "nothing")
    assert (ran.code, ran.out) == (3, "")
    assert "contains no crawl" in ran.err
