"""Tasks and labels of a recorded web, and errors in their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.fetch.aliases import read_aliases
from topicrawl.lab.tasks import (
    LabTask,
    find_targets,
    format_tasks,
    label_matches,
    read_labels,
    read_tasks,
    resolve_task,
)

GOOD = {"web": "zoo", "topic": "birds", "words": "bird nest", "labels": ["Birds"], "seeds": ["http://zoo.org/"]}
TASK = LabTask("zoo", "birds", "bird nest", ("Birds",), ("http://zoo.org/",))
LABELS = {
    "http://zoo.org/owl": ("Birds/Owls", "night"),
    "http://zoo.org/wren": ("Birds",),
    "http://zoo.org/fox": ("Mammals",),
    "http://zoo.org/far": ("Birds",),
}
GRAPH = {
    "http://zoo.org/": ["http://zoo.org/fox", "http://zoo.org/owl"],
    "http://zoo.org/fox": ["http://zoo.org/wren"],
    "http://zoo.org/owl": [],
    "http://zoo.org/wren": [],
    "http://zoo.org/far": [],
}


def test_written_tasks_read_back_unchanged(tmp_path: Path) -> None:
    task = LabTask("zoo", "birds", "bird nest", ("Birds",), ("http://zoo.org/",), 2, "night", ("http://zoo.org/owl",))
    (tmp_path / "tasks.json").write_text(format_tasks([task, TASK], [1, 2]), "utf-8")
    assert read_tasks(tmp_path) == [task, TASK]
    assert [row["targets"] for row in json.loads((tmp_path / "tasks.json").read_text("utf-8"))] == [1, 2]


def test_the_web_of_a_task_defaults_to_its_directory(tmp_path: Path) -> None:
    row = {key: value for key, value in GOOD.items() if key != "web"}
    (tmp_path / "tasks.json").write_text(json.dumps([row]), "utf-8")
    assert read_tasks(tmp_path / "tasks.json")[0].web == tmp_path.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("{}", "expected a list of tasks"),
        ("[]", "expected a list of tasks"),
        ("[1]", "task 1: expected an object"),
        (json.dumps([GOOD, {**GOOD, "words": " "}]), r"task 2 \(birds\): words is missing or empty"),
        (json.dumps([{**GOOD, "words": ["bird"]}]), "words must be a string"),
        (json.dumps([{**GOOD, "topic": ""}]), "topic is missing or empty"),
        (json.dumps([{**GOOD, "labels": []}]), "labels is missing or empty"),
        (json.dumps([{**GOOD, "labels": "Birds"}]), "labels must be a list of strings"),
        (json.dumps([{**GOOD, "seeds": []}]), "seeds is missing or empty"),
        (json.dumps([{**GOOD, "seeds": ["zoo"]}]), "seeds: 'zoo' is not a URL"),
        (json.dumps([{**GOOD, "back": -1}]), "back must be 0 or more"),
        (json.dumps([{**GOOD, "back": "2"}]), "back must be 0 or more"),
    ],
)
def test_an_error_in_a_task_file_names_the_place_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=said) as caught:
        read_tasks(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_named(tmp_path: Path) -> None:
    for read in (read_tasks, read_labels):
        with pytest.raises(UsageError, match=str(tmp_path)):
            read(tmp_path)
    assert read_aliases(tmp_path) == {}


def test_labels_of_a_redirecting_url_count_for_the_final_url(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text("http://a.org/old\tx;y\nHTTP://A.org/new\ty; z\n\n# no\n", "utf-8")
    aliases = "http://a.org/old\thttp://a.org/mid\nhttp://a.org/mid\thttp://a.org/new\n"
    (tmp_path / "aliases.tsv").write_text(aliases, "utf-8")
    assert read_labels(tmp_path) == {"http://a.org/new": ("x", "y", "z")}
    assert read_labels(tmp_path / "labels.tsv") == read_labels(tmp_path)
    assert read_aliases(tmp_path)["http://a.org/old"] == "http://a.org/new"
    redirects = {"http://a.org/new": "http://a.org/newest"}
    assert read_labels(tmp_path, redirects) == {"http://a.org/newest": ("x", "y", "z")}


def test_redirect_loops_end(tmp_path: Path) -> None:
    (tmp_path / "aliases.tsv").write_text("http://a.org/1\thttp://a.org/2\nhttp://a.org/2\thttp://a.org/1\n", "utf-8")
    assert set(read_aliases(tmp_path)) == {"http://a.org/1", "http://a.org/2"}


@pytest.mark.parametrize("text", ["http://a.org/ x\n", "a.org\tx\n", "", "# nothing\n"])
def test_an_invalid_label_table_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.tsv").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"labels\.tsv"):
        read_labels(tmp_path)


def test_a_common_prefix_does_not_match_a_label() -> None:
    assert not label_matches("Birdsong", ["Birds"])


def test_targets_have_the_topic_label_and_the_within_label_and_are_not_seeds() -> None:
    birds = find_targets(LABELS, TASK)
    assert birds == {"http://zoo.org/owl", "http://zoo.org/wren", "http://zoo.org/far"}
    redirected_seed = LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/w",))
    assert find_targets(LABELS, redirected_seed, {"http://zoo.org/w": "http://zoo.org/wren"}) == birds - {
        "http://zoo.org/wren"
    }
    within = LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/",), within="night")
    assert find_targets(LABELS, within) == {"http://zoo.org/owl"}


def test_a_resolved_task_contains_reachable_pages_in_breadth_first_order() -> None:
    resolved = resolve_task(TASK, LABELS, GRAPH)
    assert resolved.targets == {"http://zoo.org/owl", "http://zoo.org/wren"}
    assert resolved.target_count == 3
    assert [url[-3:] for url in resolved.depths] == ["rg/", "fox", "owl", "ren"]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/no",)), "seed http://zoo.org/no is not a page"),
        (LabTask("zoo", "fish", "fin", ("Fish",), ("http://zoo.org/",)), "no page has the label Fish"),
        (
            LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/",), within="day"),
            "no page has the label Birds together with day",
        ),
        (LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/owl",)), "none of the 2 targets is reachable"),
    ],
)
def test_a_task_without_reachable_targets_is_rejected(task: LabTask, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        resolve_task(task, LABELS, GRAPH)
    assert str(caught.value).startswith(task.name)
