"""`topicrawl search` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.conftest import Run
from tests.search.made import made

from topicrawl import topic as topics
from topicrawl.cli.search_command import command

PAGES = [
    ("http://a.example/1", "Barn owls", "A barn owl hunts mice at night."),
    ("http://a.example/2", "Eulen \x1b[31m", "The snowy owl hunts lemmings by day."),
    ("http://a.example/3", "Trains", "A night train."),
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("cli") / "owls", PAGES)


def called(*words: object) -> Result:
    return CliRunner(catch_exceptions=False).invoke(command, list(map(str, words)), standalone_mode=False)


def test_hits_are_shown_with_their_lines_and_never_steer_the_terminal(crawl: Path) -> None:
    result = called("hunting owl", crawl)
    assert "Barn owls" in result.stdout
    assert "A barn owl hunts mice at night." in result.stdout
    assert "\x1b" not in result.stdout
    assert "2 pages match in 1 of 1 collections" in result.stderr


def test_programs_read_json(crawl: Path) -> None:
    found = json.loads(called("night", crawl, "--json", "--count", 1).stdout)
    assert (found["found"], len(found["hits"]), found["asked"][0]["name"]) == (2, 1, "owls")


def test_pages_like_one_are_found_without_a_query(crawl: Path) -> None:
    found = json.loads(called("--like", "http://a.example/1", crawl, "--json").stdout)
    assert [hit["url"] for hit in found["hits"]] == ["http://a.example/2", "http://a.example/3"]


def test_feedback_is_remembered_and_makes_a_better_topic(tmp_path: Path) -> None:
    directory = made(tmp_path / "owls", PAGES)
    told = ("--irrelevant", "http://a.example/1", "--relevant", "http://a.example/2")
    called("owl", directory, *told, "--topic", tmp_path / "better.toml")
    better = topics.load(tmp_path / "better.toml")
    assert "lemmings" in better.words
    assert better.relevant == ("http://a.example/2",)
    again = json.loads(called("owl", directory, "--json").stdout)
    assert again["hits"][0]["url"] == "http://a.example/2"
    assert again["query"]["weights"]["lemmings"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["owl"], 2, "name the collections"),
        (["owl", "nowhere"], 3, "no crawl here"),
        (["owl", "http://127.0.0.1:9/?x"], 2, "no address of a server"),
        (["owl", "http://127.0.0.1:9/", "--topic", "t.toml"], 2, "--relevant"),
        (["relevance:9", "http://127.0.0.1:9/"], 2, "from 0 to 1"),
        (["--like", "http://a.example/", "http://127.0.0.1:9/"], 2, "none of the collections"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_line(run: Run, arguments: list[str], code: int, words: str) -> None:
    ran = run("search", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
