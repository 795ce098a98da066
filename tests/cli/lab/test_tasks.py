"""`topicrawl lab tasks` on a small synthetic web."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.sample_web import write_small_web

from topicrawl.lab.tasks import read_tasks

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("webs") / "sample"
    write_small_web(directory)
    return directory


@pytest.fixture(autouse=True)
def _no_cache_of_mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_tasks_are_built_and_skipped_topics_are_reported(run: Run, web: Path, tmp_path: Path) -> None:
    topics = json.loads((web / "topics.json").read_text("utf-8"))
    few = {name: topics[name] for name in list(topics)[:2]}
    (tmp_path / "few.json").write_text(
        json.dumps({**few, "ghosts": {"labels": ["ghosts"], "keywords": "boo"}}), "utf-8"
    )
    out = tmp_path / "tasks.json"
    asked = ("lab", "tasks", web, "--topics", tmp_path / "few.json", "--sets", 1, "--seeds-per-task", 2)
    ran = run(*asked, "--out", out)
    assert ran.code == 0
    assert "ghosts: no page has the label ghosts" in ran.err
    tasks = read_tasks(out)
    assert {task.topic for task in tasks} <= set(few)
    assert {task.back for task in tasks} == {0, 2}
    assert all(task.web == "sample" and len(task.seeds) == 2 for task in tasks)
    assert run(*asked).out == out.read_text("utf-8")
    phrases = json.loads(run(*asked, "--phrase").out)
    assert [entry["words"] for entry in phrases] == [task.topic for task in tasks]
    assert [tuple(entry["seeds"]) for entry in phrases] == [task.seeds for task in tasks]


@pytest.mark.parametrize(
    ("topics", "said"),
    [('{"ghosts": {"labels": ["ghosts"], "keywords": "boo"}}', "no task could be built"), ("nonsense", "JSON")],
)
def test_a_web_without_a_task_is_an_error(run: Run, web: Path, tmp_path: Path, topics: str, said: str) -> None:
    (tmp_path / "topics.json").write_text(topics, "utf-8")
    ran = run("lab", "tasks", web, "--topics", tmp_path / "topics.json")
    assert ran.code == 2
    assert said in ran.err


def test_a_web_without_labels_is_rejected(run: Run, tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_text('{"a": {"labels": ["a"], "keywords": "a"}}', "utf-8")
    ran = run("lab", "tasks", tmp_path)
    assert ran.code == 2
    assert "labels.tsv" in ran.err
