"""Tasks of a recorded web: a topic, seeds, and the labels that define the target pages.

The files are next to the pages: `tasks.json` (a list of tasks), `labels.tsv` (URL ⇥ label;label…) and `aliases.tsv`
(redirecting URL ⇥ final URL). A label matches a topic if it equals one of the topic's labels or is below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topicrawl.errors import UsageError
from topicrawl.fetch.aliases import read_aliases, read_url_table
from topicrawl.lab.oracle import compute_depths
from topicrawl.urls import canonicalize_url

PageLabels = Mapping[str, tuple[str, ...]]
LinkGraph = Mapping[str, Sequence[str]]
#: Files of the two kinds of tasks of a recorded web. They differ only in the words: chosen words, or the short phrase
#: that a user types.
TASK_FILES = {"words": "tasks.json", "phrase": "tasks-phrase.json"}


@dataclass(frozen=True, slots=True)
class LabTask:
    """A topic with its seeds and labels, as stored in `tasks.json`."""

    web: str
    topic: str
    words: str
    labels: tuple[str, ...]
    seeds: tuple[str, ...]
    back: int = 0  # link distance from the seeds to the topic; 0 if the seeds are on the topic
    within: str = ""  # an additional label that targets must have
    relevant: tuple[str, ...] = ()  # example pages for strategies that learn from examples
    irrelevant: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # languages of the words; empty: English

    @property
    def name(self) -> str:
        """Name of the task in messages. Tasks that differ only in their seeds have the same name.

        >>> LabTask("webs", "birds", "bird nest", ("Birds",), ("http://a/",), back=2).name
        'webs: birds, 2 back'
        """
        return f"{self.web}: {self.topic}" + (f", {self.back} back" if self.back else "")


@dataclass(frozen=True, slots=True)
class ResolvedTask:
    """A task with its reachable targets and the depths of all reachable pages."""

    task: LabTask
    targets: frozenset[str]  # reachable targets without seeds
    target_count: int  # number of targets in the whole web without seeds
    depths: Mapping[str, int]  # page → link distance from the nearest seed, in breadth-first order


def read_tasks(path: Path) -> list[LabTask]:
    """Read the tasks from a file or from `tasks.json` in a recorded web's directory."""
    path = path / "tasks.json" if path.is_dir() else path
    table = load_json(path, "tasks")
    if not isinstance(table, list) or not table:
        raise UsageError(f"{path}: expected a list of tasks; `topicrawl lab tasks` writes one")
    return [_parse_task(entry, f"{path}: task {number}", path) for number, entry in enumerate(table, 1)]


def format_tasks(tasks: Iterable[LabTask], target_counts: Iterable[int]) -> str:
    """Return the contents of a `tasks.json`. `target_counts` has the number of reachable targets of each task."""
    rows = []
    for task, count in zip(tasks, target_counts, strict=True):
        row = {key: value for key, value in asdict(task).items() if value not in ("", ())}
        rows.append({**row, "back": task.back, "targets": count})
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def load_json(path: Path, what: str) -> Any:
    """Load a JSON file. An error is raised as a `UsageError` with the path. `what` names the contents."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: the {what} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from error


def _parse_task(entry: object, location: str, path: Path) -> LabTask:
    if not isinstance(entry, dict):
        raise UsageError(f"{location}: expected an object with topic, words, labels and seeds")
    texts = {key: entry.get(key, "") for key in ("web", "topic", "words", "within")}
    lists = {key: entry.get(key, []) for key in ("labels", "seeds", "relevant", "irrelevant", "languages")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"{location}: {key} must be a string, not {value!r}")
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{location}: {key} must be a list of strings")
    location = f"{location} ({texts['topic'] or 'without a name'})"
    for key in ("topic", "words"):
        if not texts[key].strip():
            raise UsageError(f"{location}: {key} is missing or empty")
    for key in ("labels", "seeds"):
        if not lists[key]:
            raise UsageError(f"{location}: {key} is missing or empty")
    back = entry.get("back", 0)
    if not isinstance(back, int) or isinstance(back, bool) or back < 0:
        raise UsageError(f"{location}: back must be 0 or more, not {back!r}")
    urls = {key: _parse_urls(lists[key], f"{location}: {key}") for key in ("seeds", "relevant", "irrelevant")}
    web = texts["web"] or path.resolve().parent.name
    return LabTask(
        web,
        texts["topic"],
        texts["words"],
        tuple(lists["labels"]),
        back=back,
        within=texts["within"],
        languages=tuple(lists["languages"]),
        **urls,
    )


def _parse_urls(texts: Sequence[str], location: str) -> tuple[str, ...]:
    urls = []
    for text in texts:
        url = canonicalize_url(text)
        if url is None:
            raise UsageError(f"{location}: {text!r} is not a URL")
        urls.append(url)
    return tuple(dict.fromkeys(urls))


def read_labels(path: Path, redirects: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """Read the labels of each page from a file or from `labels.tsv` in a recorded web's directory.

    Labels of a redirecting URL count for its final URL. `redirects` has the final URLs of further URLs, which may be
    targets of aliases.
    """
    path = path / "labels.tsv" if path.is_dir() else path
    aliases_file = path.with_name("aliases.tsv")
    aliases, redirects = read_aliases(aliases_file), redirects or {}
    labels: dict[str, dict[str, None]] = {}
    for url, text in read_url_table(path, "labels"):
        names = [name.strip() for name in text.split(";")]
        url = aliases.get(url, url)
        labels.setdefault(redirects.get(url, url), {}).update(dict.fromkeys(name for name in names if name))
    if not labels:
        raise UsageError(f"{path}: the file contains no labels: each line is a URL, a tab and labels separated by ;")
    return {url: tuple(names) for url, names in labels.items()}


def label_matches(label: str, topic_labels: Iterable[str]) -> bool:
    """Return whether a label equals one of the topic's labels or is below one.

    >>> [label_matches(label, ["Science/Biology"]) for label in ("Science/Biology/Birds", "Science/Biology", "Science")]
    [True, True, False]
    """
    return any(label == wanted or label.startswith(f"{wanted}/") for wanted in topic_labels)


def find_targets(labels: PageLabels, task: LabTask, aliases: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return all target pages of a task, reachable or not, without its seeds.

    >>> labels = {"http://owl/": ("Birds/Owls",), "http://fox/": ("Mammals",), "http://wren/": ("Birds",)}
    >>> sorted(find_targets(labels, LabTask("web", "birds", "bird", ("Birds",), ("http://wren/",))))
    ['http://owl/']
    """
    final_urls = aliases or {}
    seeds = {final_urls.get(url, url) for url in task.seeds}
    return frozenset(
        url
        for url, names in labels.items()
        if url not in seeds
        and any(label_matches(name, task.labels) for name in names)
        and (not task.within or any(label_matches(name, [task.within]) for name in names))
    )


def resolve_task(
    task: LabTask, labels: PageLabels, graph: LinkGraph, aliases: Mapping[str, str] | None = None
) -> ResolvedTask:
    """Compute the reachable targets of a task on its web.

    The function raises a `UsageError` if a seed is not in the web or if no target is reachable, because the recall of
    every strategy would be 0.
    """
    final_urls = aliases or {}
    seeds = [final_urls.get(url, url) for url in task.seeds]
    if missing := [url for url in seeds if url not in graph]:
        raise UsageError(f"{task.name}: the seed {missing[0]} is not a page of the recorded web")
    all_targets = find_targets(labels, task, aliases)
    if not all_targets:
        within = f" together with {task.within}" if task.within else ""
        raise UsageError(f"{task.name}: no page has the label {' or '.join(task.labels)}{within}")
    depths = compute_depths(graph, seeds)
    reached = frozenset(url for url in all_targets if url in depths)
    if not reached:
        raise UsageError(f"{task.name}: none of the {len(all_targets)} targets is reachable from the seeds")
    return ResolvedTask(task, reached, len(all_targets), depths)
