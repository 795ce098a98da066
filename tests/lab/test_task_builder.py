"""Tasks built from topics and labels: deterministic, with suitable seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.lab.oracle import compute_depths
from topicrawl.lab.task_builder import TaskOptions, make_tasks, read_topics
from topicrawl.lab.tasks import resolve_task

BIRDS = {"birds": (("Birds",), "bird nest feather")}


def zoo(size: int = 40) -> tuple[dict[str, list[str]], dict[str, tuple[str, ...]]]:
    """Return the graph and labels of a ring of pages in which every fourth page is about birds."""
    url = [f"http://zoo.org/{number}" for number in range(size)]
    graph = {url[number]: [url[(number + 1) % size]] for number in range(size)}
    return graph, {url[number]: ("Birds",) for number in range(0, size, 4)}


def test_seeds_are_on_the_topic_or_exactly_so_far_away_and_never_used_twice() -> None:
    graph, labels = zoo()
    made = make_tasks("zoo", BIRDS, labels, graph, TaskOptions(backs=(0, 2), seeds=2, tasks_per_topic=3))
    assert [task.back for task in made.tasks] == [0, 0, 0, 2, 2, 2]
    for task in made.tasks:
        for seed in task.seeds:
            depths = compute_depths(graph, [seed])
            nearest = min(depth for url, depth in depths.items() if url in labels)
            assert nearest == task.back
    used = [seed for task in made.tasks for seed in task.seeds]
    assert len(set(used)) == len(used)
    assert made.target_counts == [len(resolve_task(task, labels, graph).targets) for task in made.tasks]
    assert not made.skipped


def test_the_same_web_in_another_order_gives_the_same_tasks() -> None:
    graph, labels = zoo()
    reordered = dict(reversed(graph.items())), dict(reversed(labels.items()))
    assert make_tasks("zoo", BIRDS, labels, graph, TaskOptions()) == make_tasks(
        "zoo", BIRDS, reordered[1], reordered[0], TaskOptions()
    )


def test_pages_that_reach_few_targets_are_not_seeds() -> None:
    graph, labels = zoo()
    # Pages on the topic without outgoing links, and one that reaches a single target.
    for number in range(8):
        graph[f"http://end.org/{number}"] = []
        labels[f"http://end.org/{number}"] = ("Birds",)
    graph["http://poor.org/"], labels["http://poor.org/"] = ["http://end.org/0"], ("Birds",)
    made = make_tasks("zoo", BIRDS, labels, graph, TaskOptions(backs=(0,), seeds=3, tasks_per_topic=3))
    assert all(seed.startswith("http://zoo.org/") for task in made.tasks for seed in task.seeds)


def test_each_label_in_within_has_separate_tasks() -> None:
    graph, labels = zoo()
    sites = {url: (*names, f"site/{'ab'[number % 2]}") for number, (url, names) in enumerate(labels.items())}
    made = make_tasks(
        "zoo", BIRDS, sites, graph, TaskOptions(backs=(0,), seeds=1, tasks_per_topic=1, within=("site/a", "site/b"))
    )
    assert [(task.topic, task.within) for task in made.tasks] == [("birds (a)", "site/a"), ("birds (b)", "site/b")]


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        ({"mute": (("Birds",), " ")}, "mute: the topic has no keywords"),
        ({"fish": (("Fish",), "fin")}, "fish: no page has the label Fish"),
        ({"ghosts": (("Ghosts",), "boo")}, "ghosts: none of its pages is recorded"),
        ({"lone": (("Lone",), "alone")}, "lone, 0 back: 0 candidate seeds, enough for 0 of 2 tasks"),
    ],
)
def test_skipped_topics_are_reported(topics: dict[str, tuple[tuple[str, ...], str]], said: str) -> None:
    graph, labels = zoo()
    labels["http://nowhere.org/"] = ("Ghosts",)
    labels["http://lone.org/"] = ("Lone",)
    graph["http://lone.org/"] = []
    made = make_tasks("zoo", {**topics, **BIRDS}, labels, graph, TaskOptions(min_targets=1))
    assert any(line.startswith(said) for line in made.skipped)
    assert {task.topic for task in made.tasks} == {"birds"}


def test_a_topic_with_few_targets_is_left_out() -> None:
    graph, labels = zoo()
    made = make_tasks("zoo", BIRDS, labels, graph, TaskOptions(min_targets=11))
    assert (made.tasks, made.skipped) == ([], ["birds: only 10 of its pages are recorded"])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "expected a JSON object of topics"),
        ({}, "expected a JSON object of topics"),
        ({"birds": {"keywords": "x"}}, "'birds' has no list of labels"),
        ({"birds": {"labels": [], "keywords": "x"}}, "'birds' has no list of labels"),
        ({"birds": {"labels": ["b"], "keywords": 3}}, "keywords of 'birds' must be text"),
    ],
)
def test_an_error_in_a_topics_file_is_one_line(tmp_path: Path, table: object, said: str) -> None:
    (tmp_path / "topics.json").write_text(json.dumps(table), "utf-8")
    with pytest.raises(UsageError, match=said):
        read_topics(tmp_path)


def test_keywords_may_be_a_list_or_missing(tmp_path: Path) -> None:
    table = {"birds": {"labels": ["b"], "keywords": ["nest", "egg"]}, "fish": {"labels": ["f"]}}
    (tmp_path / "topics.json").write_text(json.dumps(table), "utf-8")
    assert read_topics(tmp_path) == {"birds": (("b",), "nest egg"), "fish": (("f",), "")}
