"""`topicrawl export` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.collection import HOST, create_collection


@pytest.fixture
def dengue(tmp_path: Path) -> Path:
    return create_collection(tmp_path / "dengue")


def test_the_file_has_the_name_of_the_directory_and_a_summary_is_printed(run: Run, dengue: Path) -> None:
    ran = run("export", dengue, "--to", "jsonl", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == {
        "path": "dengue.jsonl",
        "card": "dengue.jsonl.card.md",
        "pages": 5,
        "unreadable": 0,
    }
    assert len(Path("dengue.jsonl").read_text("utf-8").splitlines()) == 5


def test_an_export_to_standard_output(run: Run, dengue: Path) -> None:
    ran = run("export", dengue, "--to", "jsonl", "--out", "-", "--relevance", "0.75", "--text", "none")
    assert [json.loads(line)["url"] for line in ran.out.splitlines()] == [f"{HOST}/1", f"{HOST}/2"]
    assert "2 pages" in ran.err
    assert [path.name for path in Path().iterdir()] == ["dengue"]


def test_the_exit_code_is_3_if_most_pages_are_damaged(run: Run, dengue: Path) -> None:
    (warc,) = (dengue / "warc").iterdir()
    whole = warc.read_bytes()
    warc.write_bytes(whole[:20] + bytes(len(whole) - 20))
    ran = run("export", dengue, "--to", "csv", "--no-card")
    assert ran.code == 3
    assert "0 pages in dengue.csv; 5 more are damaged in the archive, see `topicrawl doctor" in ran.err
    assert json.loads(run("export", dengue, "--to", "csv", "--json", "--force").out)["unreadable"] == 5


@pytest.mark.parametrize(
    ("options", "pages"),
    [
        (["--all"], 6),
        (["--language", "DE"], 1),
        (["--host", "other.example"], 0),
        (["--since", "2023-11-18"], 2),
        (["--until", "2023-11-16T00:00"], 1),
    ],
    ids=["all", "language", "host", "since", "until"],
)
def test_options_select_pages(run: Run, dengue: Path, options: list[str], pages: int) -> None:
    ran = run("export", dengue, "--to", "csv", "--json", "--no-card", *options)
    assert json.loads(ran.out) == {"path": "dengue.csv", "card": "", "pages": pages, "unreadable": 0}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere", "--to", "csv"], 3, "nowhere"),
        (["dengue", "--to", "xml"], 2, "xml"),
        (["dengue", "--to", "warc", "--compress", "gz"], 2, "its own compression"),
        (["dengue", "--to", "parquet", "--out", "-"], 2, "standard output"),
        (["dengue", "--to", "csv", "--out", "no/such/x.csv"], 2, "not a directory"),
        (["dengue", "--to", "csv", "--out", "dengue"], 2, "choose another"),
        (["dengue", "--to", "csv", "--since", "yesterday"], 2, "7d"),
        (["dengue", "--to", "csv", "--since", "999999w"], 2, "7d"),
        (["dengue", "--to", "csv", "--since", "1d", "--until", "2d"], 2, "earlier than"),
        (["dengue", "--to", "csv", "--host", "https://a.example/"], 2, "such as example.org"),
        (["dengue", "--to", "csv", "--language", "english"], 2, "such as en"),
        (["dengue", "--to", "csv", "--out", "."], 2, "is a directory"),
        (["dengue", "--to", "csv", "--out", ""], 2, "is a directory"),
        (["dengue", "--to", "markdown", "--out", "..", "--force"], 2, "is a directory"),
        (["dengue", "--to", "csv", "--out", "x" * 300], 3, "too long"),
        (["x" * 300, "--to", "csv"], 3, "too long"),
        (["dengue", "--to", "csv", "--out", "/dev/null", "--force"], 2, "not a regular file"),
        (["dengue", "--to", "csv", "--out", "dengue/topicrawl.sqlite", "--force"], 2, "part of the crawl"),
        (["dengue", "--to", "warc", "--out", "dengue/warc/00001.warc.gz", "--force"], 2, "part of the crawl"),
        (["dengue", "--to", "markdown", "--out", "dengue/warc", "--force"], 2, "choose another"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(
    run: Run, dengue: Path, arguments: list[str], code: int, words: str
) -> None:
    ran = run("export", *arguments)
    assert ran.code == code
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert [path.name for path in Path().iterdir()] == ["dengue"]
    assert run("export", "dengue", "--to", "csv", "--out", "-").code == 0


def test_an_export_into_the_directory_of_the_crawl_can_be_repeated(run: Run, dengue: Path) -> None:
    for number in range(2):
        ran = run("export", "dengue", "--to", "jsonl", "--out", "dengue/all.jsonl", *["--force"] * number)
        assert ran.code == 0, ran.err


def test_a_file_does_not_replace_a_folder(run: Run, dengue: Path) -> None:
    assert run("export", "dengue", "--to", "markdown", "--out", "pages").code == 0
    ran = run("export", "dengue", "--to", "csv", "--out", "pages", "--force")
    assert (ran.code, "is a directory" in ran.err) == (2, True)
    assert Path("pages/README.md").exists()


def test_an_empty_export_is_reported(run: Run, dengue: Path) -> None:
    ran = run("export", "dengue", "--to", "csv", "--type", "video")
    assert (ran.code, "no page matches" in ran.err) == (0, True)
