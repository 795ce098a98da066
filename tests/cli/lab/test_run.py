"""`topicrawl lab run` writes the same lines with and without its cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.sample_web import write_small_web


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(folder)
    return folder


def test_output_is_the_same_byte_for_byte_with_and_without_a_cache(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    task = json.loads((sample / "tasks.json").read_text("utf-8"))[0]
    asked = ("lab", "run", sample, "--words", task["words"], "--seed", task["seeds"][0], "--pages", 50)
    plain = run(*asked, "--no-cache")
    assert plain.code == 0
    assert plain.out.count("\n") == 50
    for _ in range(2):
        assert run(*asked, "--cache", "kept").out == plain.out
    assert len(list(Path("kept", "webs").glob("sample-*.sqlite"))) == 1


def test_an_unusable_cache_is_only_a_warning(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    task = json.loads((sample / "tasks.json").read_text("utf-8"))[0]
    Path("file").write_text("in the way")
    asked = ("lab", "run", sample, "--words", task["words"], "--seed", task["seeds"][0], "--pages", 5)
    ran = run(*asked, "--cache", "file")
    assert ran.code == 0
    assert "no cache" in ran.err
    assert ran.out == run(*asked, "--no-cache").out
