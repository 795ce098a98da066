"""`topicrawl search` on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.conftest import Run
from tests.helpers.search_collections import create_collection, create_wide_collection

from topicrawl import topic as topics
from topicrawl.cli.search import search_command

PAGES = [
    ("http://a.example/1", "Barn owls", "A barn owl hunts mice at night."),
    ("http://a.example/2", "Eulen \x1b[31m", "The snowy owl hunts lemmings by day."),
    ("http://a.example/3", "Trains", "A night train."),
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_collection(tmp_path_factory.mktemp("cli") / "owls", PAGES)


def called(*words: object) -> Result:
    return CliRunner(catch_exceptions=False).invoke(search_command, list(map(str, words)), standalone_mode=False)


def test_hits_are_shown_with_snippets_and_without_control_characters(crawl: Path) -> None:
    result = called("hunting owl", crawl)
    assert "Barn owls" in result.stdout
    assert "A barn owl hunts mice at night." in result.stdout
    assert "\x1b" not in result.stdout
    assert "2 pages match in 1 of 1 collections" in result.stderr


def test_results_are_printed_as_json(crawl: Path) -> None:
    found = json.loads(called("night", crawl, "--json", "--count", 1).stdout)
    assert (found["found"], len(found["hits"]), found["asked"][0]["name"]) == (2, 1, "owls")


def test_an_expensive_query_is_reported(tmp_path: Path) -> None:
    directory = create_wide_collection(tmp_path / "wide")
    cheap, expensive = "title:baa* title:bab*", " ".join(f"title:ba{letter}*" for letter in "abcdef")
    assert "2 pages match" in called(cheap, directory).stderr
    assert (
        "match 3000 words, and the maximum is 2000: use longer or fewer prefixes" in called(expensive, directory).stderr
    )


def test_similar_pages_are_found_without_a_query(crawl: Path) -> None:
    found = json.loads(called("--like", "http://a.example/1", crawl, "--json").stdout)
    assert [hit["url"] for hit in found["hits"]] == ["http://a.example/2", "http://a.example/3"]


def test_feedback_is_stored_and_improves_the_topic(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "owls", PAGES)
    feedback = ("--irrelevant", "http://a.example/1", "--relevant", "http://a.example/2")
    called("owl", directory, *feedback, "--topic", tmp_path / "better.toml")
    better = topics.load_topic(tmp_path / "better.toml")
    assert "lemmings" in better.words
    assert better.relevant == ("http://a.example/2",)
    again = json.loads(called("owl", directory, "--json").stdout)
    assert again["hits"][0]["url"] == "http://a.example/2"
    assert again["query"]["weights"]["lemmings"] > 0


#: Runs the command without the capabilities of root that ignore file permissions (CAP_DAC_OVERRIDE and others).
UNPRIVILEGED = """
import ctypes, os, sys
for capability in (1, 2, 3):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; fails for other users, which have none
os.execv(sys.executable, [sys.executable, "-m", "topicrawl", *sys.argv[1:]])
"""


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_read_only_directory_is_searched(tmp_path: Path, is_indexed: bool) -> None:
    directory = create_collection(tmp_path / "owls", PAGES)
    if is_indexed:
        called("owl", directory)
    files = {path.name for path in directory.iterdir()}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    directory.chmod(0o555)
    for path in directory.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, "search", "owl", directory, "--json"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
    finally:
        directory.chmod(0o755)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [hit["url"] for hit in json.loads(ran.stdout)["hits"]] == ["http://a.example/1", "http://a.example/2"]
    assert {path.name for path in directory.iterdir()} == files
    assert not list(temporary.iterdir()), "the temporary index is removed"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["owl"], 2, "give the collections"),
        (["owl", "nowhere"], 3, "does not contain a crawl"),
        (["owl", "http://127.0.0.1:9/?x"], 2, "is not the address of a server"),
        (["owl", "http://127.0.0.1:9/", "--topic", "t.toml"], 2, "--relevant"),
        (["relevance:9", "http://127.0.0.1:9/"], 2, "from 0 to 1"),
        (["--like", "http://a.example/", "http://127.0.0.1:9/"], 2, "none of the collections"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_invalid_arguments_are_reported_in_one_line(run: Run, arguments: list[str], code: int, words: str) -> None:
    ran = run("search", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
