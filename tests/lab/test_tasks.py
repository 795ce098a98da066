"""Tasks and labels of a recorded web, and what is refused in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.lab.tasks import LabTask, aim, matches, read_aliases, read_labels, read_tasks, targets, written

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


def test_a_task_is_read_and_a_written_one_reads_back(tmp_path: Path) -> None:
    task = LabTask("zoo", "birds", "bird nest", ("Birds",), ("http://zoo.org/",), 2, "night", ("http://zoo.org/owl",))
    (tmp_path / "tasks.json").write_text(written([task, TASK], [1, 2]), "utf-8")
    assert read_tasks(tmp_path) == [task, TASK]
    assert [row["targets"] for row in json.loads((tmp_path / "tasks.json").read_text("utf-8"))] == [1, 2]


def test_a_task_without_a_web_is_of_the_directory_it_lies_in(tmp_path: Path) -> None:
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
        (json.dumps([GOOD, {**GOOD, "words": " "}]), r"task 2 \(birds\): words are missing"),
        (json.dumps([{**GOOD, "words": ["bird"]}]), "words must be text"),
        (json.dumps([{**GOOD, "topic": ""}]), "its topic is missing"),
        (json.dumps([{**GOOD, "labels": []}]), "it has no labels"),
        (json.dumps([{**GOOD, "labels": "Birds"}]), "labels must be a list of texts"),
        (json.dumps([{**GOOD, "seeds": []}]), "it has no seeds"),
        (json.dumps([{**GOOD, "seeds": ["zoo"]}]), "seeds: 'zoo' is not a web address"),
        (json.dumps([{**GOOD, "back": -1}]), "back must be 0 or more"),
        (json.dumps([{**GOOD, "back": "2"}]), "back must be 0 or more"),
    ],
)
def test_a_mistake_in_a_task_file_is_one_line_that_says_where(tmp_path: Path, text: str, said: str) -> None:
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


def test_labels_of_an_address_that_redirects_are_credited_to_where_it_ends(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text("http://a.org/old\tx;y\nHTTP://A.org/new\ty; z\n\n# no\n", "utf-8")
    aliases = "http://a.org/old\thttp://a.org/mid\nhttp://a.org/mid\thttp://a.org/new\n"
    (tmp_path / "aliases.tsv").write_text(aliases, "utf-8")
    assert read_labels(tmp_path) == {"http://a.org/new": ("x", "y", "z")}
    assert read_labels(tmp_path / "labels.tsv") == read_labels(tmp_path)
    assert read_aliases(tmp_path)["http://a.org/old"] == "http://a.org/new"


def test_redirects_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "aliases.tsv").write_text("http://a.org/1\thttp://a.org/2\nhttp://a.org/2\thttp://a.org/1\n", "utf-8")
    assert set(read_aliases(tmp_path)) == {"http://a.org/1", "http://a.org/2"}


@pytest.mark.parametrize("text", ["http://a.org/ x\n", "a.org\tx\n", "", "# nothing\n"])
def test_a_table_of_labels_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.tsv").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"labels\.tsv"):
        read_labels(tmp_path)


def test_a_label_that_only_begins_alike_is_another_label() -> None:
    assert not matches("Birdsong", ["Birds"])


def test_targets_have_a_label_of_the_topic_and_the_one_within_and_are_no_seeds() -> None:
    birds = targets(LABELS, TASK)
    assert birds == {"http://zoo.org/owl", "http://zoo.org/wren", "http://zoo.org/far"}
    begun = LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/w",))
    assert targets(LABELS, begun, {"http://zoo.org/w": "http://zoo.org/wren"}) == birds - {"http://zoo.org/wren"}
    within = LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/",), within="night")
    assert targets(LABELS, within) == {"http://zoo.org/owl"}


def test_an_aim_holds_what_can_be_reached_in_breadth_first_order() -> None:
    aimed = aim(TASK, LABELS, GRAPH)
    assert aimed.targets == {"http://zoo.org/owl", "http://zoo.org/wren"}
    assert aimed.labelled == 3
    assert [url[-3:] for url in aimed.depths] == ["rg/", "fox", "owl", "ren"]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/no",)), "seed http://zoo.org/no is not a page"),
        (LabTask("zoo", "fish", "fin", ("Fish",), ("http://zoo.org/",)), "no page has the label Fish"),
        (
            LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/",), within="day"),
            "no page has the label Birds together with day",
        ),
        (LabTask("zoo", "birds", "bird", ("Birds",), ("http://zoo.org/owl",)), "none of the 2 targets can be reached"),
    ],
)
def test_a_task_that_could_only_score_0_is_refused_by_name(task: LabTask, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        aim(task, LABELS, GRAPH)
    assert str(caught.value).startswith(task.name)
