"""Tasks from phrases that a user types, on a crawl or on a recorded web with labels.

The targets are the pages with the labels of the topic. A crawl has no labels: its targets are the pages that the user
marked as relevant or, if there are too few of them, the pages that the crawl scored as relevant. The seeds are those of
the user, of the crawl, or pages that `task_builder` selects.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_relevance import PageRelevance, list_seed_pages, load_page_relevance
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError
from topicrawl.lab.oracle import compute_depths
from topicrawl.lab.task_builder import TaskOptions, make_tasks, read_topics
from topicrawl.lab.tasks import LabTask, LinkGraph, PageLabels, find_targets, read_labels
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic
from topicrawl.urls import canonicalize_url

RELEVANT_LABEL = "relevant"  # label of the targets of a crawl
IRRELEVANT_LABEL = "irrelevant"
#: With fewer pages that the user marked as relevant, the scores of the crawl define the targets.
MIN_REVIEWED_TARGETS = 10
_MAX_CRAWL_SEEDS = 20
_DEFAULT_SEED_SETS = 2  # sets of seeds per distance if neither the user nor a crawl provides seeds


class TargetSource(StrEnum):
    """Source of the targets of a crawl."""

    AUTO = "auto"  # `REVIEWED` if enough pages are marked as relevant, else `SCORED`
    REVIEWED = "reviewed"  # pages that the user marked as relevant
    SCORED = "scored"  # pages that the crawl scored as relevant, corrected by annotations


@dataclass(frozen=True)
class PhraseOptions:
    """Options of `build_phrase_tasks`."""

    phrases: Sequence[str] = ()  # empty: the topic of the crawl
    seeds: Sequence[str] = ()  # empty: the seeds of the crawl
    seed_sets: int | None = None  # additional sets of seeds per distance; None: none if there are other seeds
    targets: TargetSource = TargetSource.AUTO


@dataclass(frozen=True)
class PhraseTasks:
    """Tasks of one web with the labels that define their targets."""

    tasks: list[LabTask]
    labels: PageLabels
    skipped: list[str]  # reasons for missing tasks
    note: str  # a sentence about the source of the targets; empty if the web has labels


@dataclass(frozen=True)
class StoredDecisions:
    """Topic, seeds and relevance decisions of a crawl directory."""

    topic: Topic
    seeds: tuple[str, ...]
    relevance: PageRelevance

    @classmethod
    def load(cls, directory: Path) -> StoredDecisions:
        """Load the decisions of a crawl."""
        topic = load_crawl_topic(directory)
        store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
        try:
            seeds = tuple(list_seed_pages(store, _MAX_CRAWL_SEEDS))
            return cls(topic, seeds, load_page_relevance(store, topic.threshold))
        finally:
            store.close()

    @property
    def phrase(self) -> str:
        """Words of the topic as the user typed them, or the words of the topic file if its name has other words."""
        name = self.topic.name
        return name if set(tokenise(name)) == set(self.topic.words) else " ".join(self.topic.words)

    def build_labels(self, source: TargetSource) -> tuple[dict[str, tuple[str, ...]], str]:
        """Return the labels of the pages and a sentence that names the source of the targets."""
        decisions, name = self.relevance, self.topic.name
        reviewed = len(decisions.user_relevant)
        if source is TargetSource.AUTO:
            source = TargetSource.REVIEWED if reviewed >= MIN_REVIEWED_TARGETS else TargetSource.SCORED
        if source is TargetSource.REVIEWED:
            relevant = decisions.user_relevant
            note = f"The targets are {_count(reviewed, 'page')} that you marked as relevant to {name!r}."
        else:
            relevant = decisions.relevant
            corrections = len(decisions.annotated_relevant | decisions.annotated_irrelevant)
            corrected = f", corrected by the annotations of {_count(corrections, 'page')}" if corrections else ""
            note = (
                f"The targets are {_count(len(relevant), 'page')} that the crawl, not a person, found relevant to "
                f"{name!r} (score at least {self.topic.threshold:g}){corrected}. Strategies that use the same "
                "relevance model have an advantage. For independent targets, mark at least "
                f"{MIN_REVIEWED_TARGETS} relevant pages in `topicrawl serve`."
            )
        if not relevant:
            verb = "marked" if source is TargetSource.REVIEWED else "scored"
            raise UsageError(f"no page of the crawl is {verb} as relevant to {name!r}, so that there are no targets")
        labels: dict[str, tuple[str, ...]] = dict.fromkeys(decisions.irrelevant - relevant, (IRRELEVANT_LABEL,))
        labels |= dict.fromkeys(relevant, (RELEVANT_LABEL,))
        return {url: labels[url] for url in sorted(labels)}, note


def is_crawl(directory: Path) -> bool:
    """Return whether a directory contains the database of a crawl."""
    return (directory / "topicrawl.sqlite").is_file()


def build_phrase_tasks(path: Path, options: PhraseOptions, graph: LinkGraph, aliases: Mapping[str, str]) -> PhraseTasks:
    """Build the tasks of a web. `aliases` has the final URLs of its redirects.

    Raise `UsageError` if there are no phrases or no targets, or if a phrase is not a topic of a web with labels.
    """
    crawl = StoredDecisions.load(path) if is_crawl(path) else None
    phrases = list(dict.fromkeys(" ".join(phrase.split()) for phrase in options.phrases))
    if "" in phrases:
        raise UsageError("a phrase is empty: type the topic in words, for example --phrase 'dengue fever'")
    if not phrases and crawl is None:
        raise UsageError(f"{path} is not a crawl: type the topic with --phrase")
    if not phrases and crawl is not None:
        phrases = [crawl.phrase]
    note = ""
    if (path / "labels.tsv").is_file():
        labels: PageLabels = read_labels(path, aliases)
        topics = _find_topics(path, phrases, labels)
    elif crawl is not None:
        crawl_labels, note = crawl.build_labels(options.targets)
        labels = {aliases.get(url, url): names for url, names in crawl_labels.items()}
        topics = {phrase: ((RELEVANT_LABEL,), phrase) for phrase in phrases}
    else:
        raise UsageError(f"{path}: neither a crawl nor a web with labels.tsv, so that its relevant pages are unknown")
    seeds = [_parse_seed(seed) for seed in options.seeds]
    if not seeds and crawl is not None:
        seeds = [seed for seed in crawl.seeds if aliases.get(seed, seed) in graph]
    seeds = [aliases.get(seed, seed) for seed in seeds]
    builder = _TaskListBuilder(path.resolve().name, topics, labels, graph, crawl.topic.languages if crawl else ())
    return builder.build(tuple(dict.fromkeys(seeds)), options.seed_sets, note)


@dataclass(frozen=True)
class _TaskListBuilder:
    """Combine phrases with sets of seeds."""

    web: str
    topics: Mapping[str, tuple[tuple[str, ...], str]]  # phrase → labels and words
    labels: PageLabels
    graph: LinkGraph
    languages: tuple[str, ...]

    def build(self, seeds: tuple[str, ...], seed_sets: int | None, note: str) -> PhraseTasks:
        """Return one task per phrase with the given seeds, and the tasks with selected seeds."""
        tasks, skipped = [], []
        if seeds:
            tasks += [self._build_task(phrase, seeds) for phrase in self.topics]
        if seed_sets is None:
            seed_sets = 0 if seeds else _DEFAULT_SEED_SETS
        if seed_sets:
            options = TaskOptions(tasks_per_topic=seed_sets)
            built = make_tasks(self.web, self.topics, self.labels, self.graph, options)
            tasks += [replace(task, languages=self.languages) for task in built.tasks]
            skipped += built.skipped
        return PhraseTasks(tasks, self.labels, skipped, note)

    def _build_task(self, phrase: str, seeds: tuple[str, ...]) -> LabTask:
        """Build a task. Its distance to the topic is that of the nearest page on the topic, which may be a seed."""
        task_labels, words = self.topics[phrase]
        task = LabTask(self.web, phrase, words, task_labels, (), languages=self.languages)
        on_topic = find_targets(self.labels, task)
        depths = compute_depths(self.graph, [seed for seed in seeds if seed in self.graph])
        back = min((depth for url, depth in depths.items() if url in on_topic), default=0)
        return replace(task, seeds=seeds, back=back)


def _find_topics(path: Path, phrases: Sequence[str], labels: PageLabels) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the labels of each phrase: those of the topic with this name, or the label with this name."""
    topics: dict[str, tuple[str, ...]] = {}
    if (path / "topics.json").is_file():
        topics = {name.casefold(): topic_labels for name, (topic_labels, _) in read_topics(path).items()}
    for name in dict.fromkeys(name for names in labels.values() for name in names):
        topics.setdefault(name.casefold(), (name,))
        topics.setdefault(name.rpartition("/")[2].casefold(), (name,))
    found = {}
    for phrase in phrases:
        if phrase.casefold() not in topics:
            close = difflib.get_close_matches(phrase.casefold(), topics, 3, 0.4)
            hint = f"; similar names: {', '.join(close)}" if close else ""
            raise UsageError(f"{path}: no topic or label is named {phrase!r}{hint}")
        found[phrase] = (topics[phrase.casefold()], phrase)
    return found


def _parse_seed(seed: str) -> str:
    url = canonicalize_url(seed)
    if url is None:
        raise UsageError(f"the seed {seed!r} is not a URL")
    return url


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
