"""`topicrawl lab report`: Tables 4 to 8 of Kluev 2000 for a crawl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.review_site import SECTIONS, crawl_review_site, is_on_topic


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("report") / "crawl"
    return directory, crawl_review_site(directory)


def list_pages(address: str, share: int) -> list[str]:
    """Return the URLs of every n-th page of each section."""
    return [f"{address}/{name}/{n}" for name, (count, _) in SECTIONS.items() for n in range(0, count, share)]


def write_judged(path: Path, urls: list[str]) -> Path:
    path.write_text("".join(f"{url}\t{'relevant' if is_on_topic(url) else 'irrelevant'}\n" for url in urls))
    return path


def test_tables_of_a_crawl_of_which_all_pages_are_judged(run: Run, crawl: tuple[Path, str], tmp_path: Path) -> None:
    directory, address = crawl
    judged = write_judged(tmp_path / "judged.tsv", list_pages(address, 1))
    tables = json.loads(run("lab", "report", directory, "--judged", judged, "--json").out)
    groups = {group["name"]: (group["pages"], group["relevant"], group["precision"]) for group in tables["groups"]}
    assert groups == {"undoubted": (6, 6.0, 1.0), "vsm": (40, 20.0, 0.5)}
    assert (tables["evaluated"], tables["recommended"]) == (57, 46)
    assert (tables["pooled"]["relevant"], tables["pooled"]["precision"]) == (26.0, round(26 / 46, 4))
    assert (tables["doubtful"], tables["doubtful_judged"], tables["effort"]) == (40, 40, round(40 / 46, 4))
    assert tables["recall"][0] == 1.0
    assert tables["rejected_by_host"] == 0


def test_a_judged_sample_estimates_the_tables(run: Run, crawl: tuple[Path, str], tmp_path: Path) -> None:
    directory, address = crawl
    judged = write_judged(tmp_path / "judged.tsv", list_pages(address, 5))
    ran = run("lab", "report", directory, "--judged", judged)
    assert ran.code == 0
    assert "Table 6: recommended pages, with the errors of Table 5" in ran.out
    assert "all                 46      10        26       0.57" in ran.out
    assert "judged               8  (17.4% of the recommended pages)" in ran.out
    assert "recall: 1.00" in ran.out


def test_reviewed_pages_are_the_default(run: Run, crawl: tuple[Path, str]) -> None:
    directory, _ = crawl
    ran = run("lab", "report", directory)
    assert "recall: not estimated" in ran.out
    assert run("lab", "report", directory.parent).code == 3
