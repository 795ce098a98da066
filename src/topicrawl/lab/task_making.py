"""Tasks for a recorded web that has labels and topics, but no tasks.

Seeds are drawn by a fingerprint of their addresses: same web, same tasks. For `back` 0 they are pages on the topic; for
`back` 2 they are pages off the topic from which the nearest page on it is exactly two links away. Seeds one link away
would give every crawler half of the answer. A page that leads to few targets makes a poor start, so that among the
pages drawn those are kept that reach at least half of what the best of them reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.lab.oracle import reachable
from topicrawl.lab.tasks import Graph, Labels, LabTask, aim, json_file, targets
from topicrawl.urls import fingerprint

_LOOKED_AT = 30  # pages drawn for every set of seeds


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks to make."""

    backs: tuple[int, ...] = (0, 2)
    seeds: int = 3  # a task
    sets: int = 2  # tasks for each topic and distance
    within: tuple[str, ...] = ("",)  # an extra label for targets, such as a site; one set of tasks for each
    fewest: int = 5  # targets; with fewer, one page more or less decides everything


@dataclass(frozen=True, slots=True)
class Made:
    """The tasks, with the number of targets each can reach; and what could not be made, in words."""

    tasks: list[LabTask]
    reached: list[int]
    skipped: list[str]


def read_topics(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Topic → labels and keywords, from a file or a recorded web's `topics.json`."""
    path = path / "topics.json" if path.is_dir() else path
    table = json_file(path, "topics")
    if not isinstance(table, dict) or not table:
        raise UsageError(f"{path}: expected an object of topics, each with labels and keywords")
    found = {}
    for name, entry in table.items():
        labels = entry.get("labels") if isinstance(entry, dict) else None
        if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
            raise UsageError(f"{path}: the topic {name!r} has no list of labels")
        words = entry.get("keywords", "")
        if isinstance(words, list):
            words = " ".join(map(str, words))
        if not isinstance(words, str):
            raise UsageError(f"{path}: the keywords of {name!r} must be text")
        found[name] = (tuple(labels), words)
    return found


def make_tasks(
    web: str, topics: Mapping[str, tuple[tuple[str, ...], str]], labels: Labels, graph: Graph, wanted: Wanted
) -> Made:
    """Tasks for every topic; a topic without keywords, targets or seeds is named in `skipped`."""
    made = Made([], [], [])
    backward = _backward(graph)
    for name, (topic_labels, words) in topics.items():
        if not words.strip():
            made.skipped.append(f"{name}: it has no keywords")
            continue
        for within in wanted.within:
            topic = f"{name} ({within.rpartition('/')[2]})" if within else name
            model = LabTask(web, topic, words, topic_labels, (), within=within)
            pool = targets(labels, model)
            on_topic = frozenset(url for url in pool if url in graph)
            if len(on_topic) < max(1, wanted.fewest):
                made.skipped.append(f"{topic}: {_too_few(model, len(pool), len(on_topic))}")
                continue
            for back in wanted.backs:
                _add(made, model, _candidates(graph, backward, on_topic, back), (labels, graph, wanted, back))
    return made


def _too_few(model: LabTask, labelled: int, recorded: int) -> str:
    if not labelled:
        return f"no page has the label {' or '.join(model.labels)}" + (f" and {model.within}" if model.within else "")
    return f"only {recorded} pages on it are recorded" if recorded else "none of its pages is recorded"


def _add(made: Made, model: LabTask, candidates: Sequence[str], settings: tuple[Labels, Graph, Wanted, int]) -> None:
    """Make the sets of seeds for one topic and one distance."""
    labels, graph, wanted, back = settings
    drawn = sorted(candidates, key=lambda url: (fingerprint(f"{model.topic} {back} {url}"), url))
    drawn = _far_reaching(drawn[: _LOOKED_AT * wanted.sets], graph, targets(labels, model))
    done = 0
    for start in range(0, wanted.seeds * wanted.sets, wanted.seeds):
        seeds = tuple(drawn[start : start + wanted.seeds])
        if len(seeds) < wanted.seeds:
            break
        task = LabTask(model.web, model.topic, model.words, model.labels, seeds, back, model.within)
        made.tasks.append(task)
        made.reached.append(len(aim(task, labels, graph).targets))
        done += 1
    if done < wanted.sets:
        made.skipped.append(
            f"{model.topic}, {back} back: {len(drawn)} pages could be seeds, "
            f"enough for {done} of {wanted.sets} tasks with {wanted.seeds} seeds each"
        )


def _far_reaching(drawn: Sequence[str], graph: Graph, wanted: frozenset[str]) -> list[str]:
    """Those that reach at least half as many targets as the best of them; all of them must reach one."""
    counts = {url: sum(page in wanted for page in reachable(graph, [url]) if page != url) for url in drawn}
    least = max(1.0, max(counts.values(), default=0) / 2)
    return [url for url in drawn if counts[url] >= least]


def _candidates(
    graph: Graph, backward: Mapping[str, Sequence[str]], on_topic: frozenset[str], back: int
) -> Sequence[str]:
    """The pages from which the nearest page on the topic is so many links away."""
    depths = reachable(backward, sorted(on_topic))
    return [url for url, depth in depths.items() if depth == back and url in graph]


def _backward(graph: Graph) -> dict[str, list[str]]:
    """Page → the pages that link to it."""
    found: dict[str, list[str]] = {}
    for source, url in _links(graph):
        found.setdefault(url, []).append(source)
    return found


def _links(graph: Graph) -> Iterator[tuple[str, str]]:
    return ((source, url) for source, links in graph.items() for url in links)
