"""`topicrawl export` as it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.collection.made_collection import HOST, made


@pytest.fixture
def dengue(tmp_path: Path) -> Path:
    return made(tmp_path / "dengue")


def test_the_file_is_named_by_the_directory_and_what_was_done_is_told(run: Run, dengue: Path) -> None:
    ran = run("export", dengue, "--to", "jsonl", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == {
        "path": "dengue.jsonl", "card": "dengue.jsonl.card.md", "pages": 5, "unreadable": 0,
    }  # fmt: skip
    assert len(Path("dengue.jsonl").read_text("utf-8").splitlines()) == 5


def test_lines_go_to_standard_output(run: Run, dengue: Path) -> None:
    ran = run("export", dengue, "--to", "jsonl", "--out", "-", "--relevance", "0.75", "--text", "none")
    assert [json.loads(line)["url"] for line in ran.out.splitlines()] == [f"{HOST}/1", f"{HOST}/2"]
    assert "2 pages" in ran.err
    assert [path.name for path in Path().iterdir()] == ["dengue"]


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
def test_options_choose(run: Run, dengue: Path, options: list[str], pages: int) -> None:
    ran = run("export", dengue, "--to", "csv", "--json", "--no-card", *options)
    assert json.loads(ran.out) == {"path": "dengue.csv", "card": "", "pages": pages, "unreadable": 0}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere", "--to", "csv"], 3, "nowhere"),
        (["dengue", "--to", "xml"], 2, "xml"),
        (["dengue", "--to", "warc", "--compress", "gz"], 2, "its own compression"),
        (["dengue", "--to", "parquet", "--out", "-"], 2, "standard output"),
        (["dengue", "--to", "csv", "--out", "no/such/x.csv"], 2, "no directory"),
        (["dengue", "--to", "csv", "--out", "dengue"], 2, "name another"),
        (["dengue", "--to", "csv", "--since", "yesterday"], 2, "7d"),
    ],
)
def test_mistakes_are_one_line(run: Run, dengue: Path, arguments: list[str], code: int, words: str) -> None:
    ran = run("export", *arguments)
    assert ran.code == code
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert [path.name for path in Path().iterdir()] == ["dengue"]
