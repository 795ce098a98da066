"""`topicrawl lab rank`: rankings of pages by VSM and by their summaries against the ranking of a reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.cheating_pages import PAGES, html
from tests.helpers.review_site import crawl_review_site


def write_pages(folder: Path) -> None:
    folder.mkdir()
    for rank in range(1, PAGES + 1):
        (folder / f"{rank}.html").write_text(html(rank), "utf-8")


def test_summaries_are_closer_to_the_reader_than_vsm(run) -> None:  # type: ignore[no-untyped-def]
    write_pages(Path("pages"))
    Path("human.tsv").write_text("".join(f"{rank}.html\n" for rank in range(1, PAGES + 1)), "utf-8")
    asked = ("lab", "rank", "pages", "--order", "human.tsv", "--words", "dengue fever mosquito")
    ran = run(*asked, "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    summary, vsm = (report["methods"][name] for name in ("summary", "vsm"))
    assert summary["rho"] > 0.85 > vsm["rho"]
    assert summary["tau"] > vsm["tau"]
    assert [page["page"] for page in report["pages"]] == [f"{rank}.html" for rank in range(1, PAGES + 1)]
    text = run(*asked).out
    assert "exact ranks" in text
    assert f"{summary['rho']:.3f}" in text


def test_given_ranks_are_used_instead_of_the_order_of_the_lines(run) -> None:  # type: ignore[no-untyped-def]
    write_pages(Path("pages"))
    lines = [f"{rank}.html\t{PAGES + 1 - rank}\n" for rank in range(1, PAGES + 1)]
    Path("human.tsv").write_text("".join(lines), "utf-8")
    ran = run("lab", "rank", "pages", "--order", "human.tsv", "--words", "dengue fever mosquito", "--json")
    assert json.loads(ran.out)["methods"]["summary"]["rho"] < -0.85, "the reader has the opposite order"


def test_the_pages_of_a_crawl_are_ranked_for_its_topic(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    address = crawl_review_site(tmp_path / "crawl")
    Path("human.tsv").write_text(f"{address}/clinic/1\n{address}/ponds/1\n{address}/trains/1\n", "utf-8")
    ran = run("lab", "rank", tmp_path / "crawl", "--order", "human.tsv", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["methods"]["vsm"]["exact"] == 3


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("1.html\n", "at least two pages"),
        ("1.html\n1.html\n", "human.tsv:2: 1.html has two ranks"),
        ("1.html\tbest\n2.html\t2\n", "human.tsv:1: 'best' is not a rank"),
        ("1.html\nnone.html\n", "none.html is not a page of pages"),
    ],
)
def test_an_invalid_order_is_reported_in_one_line(run, order: str, words: str) -> None:  # type: ignore[no-untyped-def]
    write_pages(Path("pages"))
    Path("human.tsv").write_text(order, "utf-8")
    ran = run("lab", "rank", "pages", "--order", "human.tsv", "--words", "dengue fever")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
