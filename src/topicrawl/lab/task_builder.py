"""Build tasks for a recorded web that has labels and topics but no tasks.

Seeds are chosen by a fingerprint of their URLs, so that the same web always gives the same tasks. With `back` 0 the
seeds are pages on the topic. With `back` 2 they are pages off the topic from which the nearest page on the topic is
exactly two links away. Seeds one link away would make the task too easy. Of the candidates, only pages that reach at
least half as many targets as the best candidate become seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.lab.oracle import compute_depths
from topicrawl.lab.tasks import LabTask, LinkGraph, PageLabels, find_targets, load_json, resolve_task
from topicrawl.urls import fingerprint

_CANDIDATES_PER_TASK = 30  # seed candidates examined per task


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """Options of `make_tasks`."""

    backs: tuple[int, ...] = (0, 2)  # link distances from the seeds to the topic
    seeds: int = 3  # per task
    tasks_per_topic: int = 2  # tasks per topic and distance
    within: tuple[str, ...] = ("",)  # extra labels that targets must have, such as a site; separate tasks for each
    min_targets: int = 5  # minimum number of targets; with fewer, a single page changes the result too much


@dataclass(frozen=True, slots=True)
class BuiltTasks:
    """Result of `make_tasks`: the tasks, the number of reachable targets of each, and reasons for missing tasks."""

    tasks: list[LabTask]
    target_counts: list[int]
    skipped: list[str]


def read_topics(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Read the labels and keywords of each topic from a file or from `topics.json` in a recorded web's directory."""
    path = path / "topics.json" if path.is_dir() else path
    table = load_json(path, "topics")
    if not isinstance(table, dict) or not table:
        raise UsageError(f"{path}: expected a JSON object of topics, each with labels and keywords")
    topics = {}
    for name, entry in table.items():
        labels = entry.get("labels") if isinstance(entry, dict) else None
        if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
            raise UsageError(f"{path}: the topic {name!r} has no list of labels")
        words = entry.get("keywords", "")
        if isinstance(words, list):
            words = " ".join(map(str, words))
        if not isinstance(words, str):
            raise UsageError(f"{path}: the keywords of {name!r} must be text")
        topics[name] = (tuple(labels), words)
    return topics


def make_tasks(
    web: str,
    topics: Mapping[str, tuple[tuple[str, ...], str]],
    labels: PageLabels,
    graph: LinkGraph,
    options: TaskOptions,
) -> BuiltTasks:
    """Build tasks for every topic. `skipped` names the topics without keywords, targets or seeds."""
    made = BuiltTasks([], [], [])
    backward = _invert_graph(graph)
    for name, (topic_labels, words) in topics.items():
        if not words.strip():
            made.skipped.append(f"{name}: the topic has no keywords")
            continue
        for within in options.within:
            topic = f"{name} ({within.rpartition('/')[2]})" if within else name
            model = LabTask(web, topic, words, topic_labels, (), within=within)
            labelled = find_targets(labels, model)
            on_topic = frozenset(url for url in labelled if url in graph)
            if len(on_topic) < max(1, options.min_targets):
                made.skipped.append(f"{topic}: {_explain_too_few(model, len(labelled), len(on_topic))}")
                continue
            for back in options.backs:
                _add_tasks(
                    made, model, _find_seed_candidates(graph, backward, on_topic, back), (labels, graph, options, back)
                )
    return made


def _explain_too_few(template: LabTask, labelled: int, recorded: int) -> str:
    if not labelled:
        return f"no page has the label {' or '.join(template.labels)}" + (
            f" and {template.within}" if template.within else ""
        )
    return f"only {recorded} of its pages are recorded" if recorded else "none of its pages is recorded"


def _add_tasks(
    result: BuiltTasks,
    template: LabTask,
    candidates: Sequence[str],
    settings: tuple[PageLabels, LinkGraph, TaskOptions, int],
) -> None:
    """Add the tasks of one topic and one distance to `result`, or the reason why there are too few."""
    labels, graph, wanted, back = settings
    candidates_in_order = sorted(candidates, key=lambda url: (fingerprint(f"{template.topic} {back} {url}"), url))
    candidates_in_order = _filter_far_reaching(
        candidates_in_order[: _CANDIDATES_PER_TASK * wanted.tasks_per_topic], graph, find_targets(labels, template)
    )
    task_count = 0
    for start in range(0, wanted.seeds * wanted.tasks_per_topic, wanted.seeds):
        seeds = tuple(candidates_in_order[start : start + wanted.seeds])
        if len(seeds) < wanted.seeds:
            break
        task = LabTask(template.web, template.topic, template.words, template.labels, seeds, back, template.within)
        result.tasks.append(task)
        result.target_counts.append(len(resolve_task(task, labels, graph).targets))
        task_count += 1
    if task_count < wanted.tasks_per_topic:
        result.skipped.append(
            f"{template.topic}, {back} back: {len(candidates_in_order)} candidate seeds, "
            f"enough for {task_count} of {wanted.tasks_per_topic} tasks with {wanted.seeds} seeds each"
        )


def _filter_far_reaching(candidates: Sequence[str], graph: LinkGraph, target_urls: frozenset[str]) -> list[str]:
    """Return the pages that reach at least one target and at least half as many as the best page."""
    counts = {
        url: sum(page in target_urls for page in compute_depths(graph, [url]) if page != url) for url in candidates
    }
    least = max(1.0, max(counts.values(), default=0) / 2)
    return [url for url in candidates if counts[url] >= least]


def _find_seed_candidates(
    graph: LinkGraph, backward: Mapping[str, Sequence[str]], on_topic: frozenset[str], back: int
) -> Sequence[str]:
    """Return the pages from which the nearest page on the topic is exactly `back` links away."""
    depths = compute_depths(backward, sorted(on_topic))
    return [url for url, depth in depths.items() if depth == back and url in graph]


def _invert_graph(graph: LinkGraph) -> dict[str, list[str]]:
    """Return the pages that link to each page."""
    sources: dict[str, list[str]] = {}
    for source, url in _iter_links(graph):
        sources.setdefault(url, []).append(source)
    return sources


def _iter_links(graph: LinkGraph) -> Iterator[tuple[str, str]]:
    return ((source, url) for source, links in graph.items() for url in links)
