"""Tasks of a recorded web: a topic to look for from some seeds, and the labels that say what was to be found.

Files beside the pages: `tasks.json` (a list of tasks), `labels.tsv` (url ⇥ label;label…), `aliases.tsv` (redirecting
url ⇥ where it ends). A label matches a topic when it equals one of the topic's labels or lies below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topicrawl.errors import UsageError
from topicrawl.lab.oracle import reachable
from topicrawl.urls import canonical

Labels = Mapping[str, tuple[str, ...]]
Graph = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class LabTask:
    """One topic and the pages to start from."""

    web: str
    topic: str
    words: str
    labels: tuple[str, ...]
    seeds: tuple[str, ...]
    back: int = 0  # links from the seeds to the topic; 0: the seeds are on it
    within: str = ""  # a label that a target must have besides
    relevant: tuple[str, ...] = ()  # example pages, for strategies that learn from them
    irrelevant: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the task is called in tables; tasks that differ in their seeds only are told apart by number.

        >>> LabTask("webs", "birds", "bird nest", ("Birds",), ("http://a/",), back=2).name
        'webs: birds, 2 back'
        """
        return f"{self.web}: {self.topic}" + (f", {self.back} back" if self.back else "")


@dataclass(frozen=True, slots=True)
class Aim:
    """A task that can be run: what can be found from its seeds, and how far away every page is."""

    task: LabTask
    targets: frozenset[str]  # that can be reached, seeds excluded
    labelled: int  # targets of the whole web, seeds excluded
    depths: Mapping[str, int]  # page → links from the nearest seed, in breadth-first order


def read_tasks(path: Path) -> list[LabTask]:
    """The tasks of a file, or of the `tasks.json` in a recorded web's directory."""
    path = path / "tasks.json" if path.is_dir() else path
    table = json_file(path, "tasks")
    if not isinstance(table, list) or not table:
        raise UsageError(f"{path}: expected a list of tasks; `topicrawl lab tasks` makes one")
    return [_task(entry, f"{path}: task {number}", path) for number, entry in enumerate(table, 1)]


def written(tasks: Iterable[LabTask], found: Iterable[int]) -> str:
    """The text of a `tasks.json`; `found` says how many targets each task can reach."""
    rows = []
    for task, count in zip(tasks, found, strict=True):
        row = {key: value for key, value in asdict(task).items() if value not in ("", ())}
        rows.append({**row, "back": task.back, "targets": count})
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def json_file(path: Path, what: str) -> Any:
    """What a JSON file says; that it cannot be read, or is none, is one line."""
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: no {what} can be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from error


def _task(entry: object, place: str, path: Path) -> LabTask:
    if not isinstance(entry, dict):
        raise UsageError(f"{place}: expected an object with topic, words, labels and seeds")
    texts = {key: entry.get(key, "") for key in ("web", "topic", "words", "within")}
    lists = {key: entry.get(key, []) for key in ("labels", "seeds", "relevant", "irrelevant")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"{place}: {key} must be text, not {value!r}")
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{place}: {key} must be a list of texts")
    place = f"{place} ({texts['topic'] or 'without a name'})"
    for key in ("topic", "words"):
        if not texts[key].strip():
            raise UsageError(f"{place}: {key} are missing" if key == "words" else f"{place}: its {key} is missing")
    for key in ("labels", "seeds"):
        if not lists[key]:
            raise UsageError(f"{place}: it has no {key}")
    back = entry.get("back", 0)
    if not isinstance(back, int) or isinstance(back, bool) or back < 0:
        raise UsageError(f"{place}: back must be 0 or more, not {back!r}")
    urls = {key: _urls(lists[key], f"{place}: {key}") for key in ("seeds", "relevant", "irrelevant")}
    web = texts["web"] or path.resolve().parent.name
    return LabTask(
        web, texts["topic"], texts["words"], tuple(lists["labels"]), back=back, within=texts["within"], **urls
    )


def _urls(texts: Sequence[str], place: str) -> tuple[str, ...]:
    found = []
    for text in texts:
        url = canonical(text)
        if url is None:
            raise UsageError(f"{place}: {text!r} is not a web address")
        found.append(url)
    return tuple(dict.fromkeys(found))


def read_labels(path: Path) -> dict[str, tuple[str, ...]]:
    """URL → labels, from a file or a recorded web's `labels.tsv`; what redirects is credited to where it ends."""
    path = path / "labels.tsv" if path.is_dir() else path
    beside = path.with_name("aliases.tsv")
    ends = read_aliases(beside) if beside.exists() else {}
    found: dict[str, dict[str, None]] = {}
    for url, text in _columns(path, "labels"):
        names = [name.strip() for name in text.split(";")]
        found.setdefault(ends.get(url, url), {}).update(dict.fromkeys(name for name in names if name))
    if not found:
        raise UsageError(f"{path}: no labels in it: one line is a URL, a tab and labels with ; between them")
    return {url: tuple(names) for url, names in found.items()}


def read_aliases(path: Path) -> dict[str, str]:
    """Redirecting URL → where it ends, from a file or a recorded web's `aliases.tsv`; nothing when there is none."""
    path = path / "aliases.tsv" if path.is_dir() else path
    if not path.exists():
        return {}
    moved = {url: canonical(target.strip()) or target.strip() for url, target in _columns(path, "aliases")}
    return {url: _end(url, moved) for url in moved}


def _end(url: str, moved: Mapping[str, str]) -> str:
    """Where a chain of redirects ends; a circle ends where it is first left."""
    seen = {url}
    while (after := moved.get(url, url)) not in seen:
        seen.add(after)
        url = after
    return url


def _columns(path: Path, what: str) -> Iterable[tuple[str, str]]:
    """The two columns of a table, the first one a canonical URL."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no {what} can be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        address, tab, rest = line.rstrip("\r").partition("\t")
        url = canonical(address.strip())
        if url is None or not tab:
            raise UsageError(f"{path}:{number}: expected a URL, a tab and {what}, found {line[:80]!r}")
        yield url, rest


def matches(label: str, topic_labels: Iterable[str]) -> bool:
    """Is a page's label one of a topic's labels, or below one?

    >>> [matches(label, ["Science/Biology"]) for label in ("Science/Biology/Birds", "Science/Biology", "Science")]
    [True, True, False]
    """
    return any(label == wanted or label.startswith(f"{wanted}/") for wanted in topic_labels)


def targets(labels: Labels, task: LabTask, aliases: Mapping[str, str] | None = None) -> frozenset[str]:
    """The pages that a task wants found, wherever they are; its seeds are not among them.

    >>> labels = {"http://owl/": ("Birds/Owls",), "http://fox/": ("Mammals",), "http://wren/": ("Birds",)}
    >>> sorted(targets(labels, LabTask("web", "birds", "bird", ("Birds",), ("http://wren/",))))
    ['http://owl/']
    """
    ends = aliases or {}
    begun = {ends.get(url, url) for url in task.seeds}
    return frozenset(
        url
        for url, names in labels.items()
        if url not in begun
        and any(matches(name, task.labels) for name in names)
        and (not task.within or any(matches(name, [task.within]) for name in names))
    )


def aim(task: LabTask, labels: Labels, graph: Graph, aliases: Mapping[str, str] | None = None) -> Aim:
    """The task against the web it is for; what would make every figure 0 is refused in one line instead."""
    ends = aliases or {}
    seeds = [ends.get(url, url) for url in task.seeds]
    if outside := [url for url in seeds if url not in graph]:
        raise UsageError(f"{task.name}: the seed {outside[0]} is not a page of the recorded web")
    wanted = targets(labels, task, aliases)
    if not wanted:
        within = f" together with {task.within}" if task.within else ""
        raise UsageError(f"{task.name}: no page has the label {' or '.join(task.labels)}{within}")
    depths = reachable(graph, seeds)
    found = frozenset(url for url in wanted if url in depths)
    if not found:
        raise UsageError(f"{task.name}: none of the {len(wanted)} targets can be reached from the seeds")
    return Aim(task, found, len(wanted), depths)
