"""Compare strategies on the tasks of recorded webs: plan the runs, execute them and collect one row per run.

All strategies start from the same seeds with the same topic words and are measured against the same targets.
Strategies that learn from examples receive example pages drawn from the labels. Example pages are not targets for any
strategy. Each result is written to a file as soon as its run completes, so that an interrupted comparison can resume.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import xxhash

from topicrawl import strategies
from topicrawl.errors import UsageError
from topicrawl.fetch.aliases import read_aliases
from topicrawl.lab import fingerprint
from topicrawl.lab.measures import evaluation_budget
from topicrawl.lab.parsed_web import ParsedWeb, find_sessions_file
from topicrawl.lab.phrase_tasks import PhraseOptions, build_phrase_tasks, is_crawl
from topicrawl.lab.results import ResultRow, ResultsFile, result_key
from topicrawl.lab.run import ORACLE, ParseSpec, RunSpec
from topicrawl.lab.tasks import (
    TASK_FILES,
    LabTask,
    PageLabels,
    ResolvedTask,
    find_targets,
    label_matches,
    read_labels,
    read_tasks,
    resolve_task,
)
from topicrawl.lab.worker import run_requests
from topicrawl.models import LinkContextLevel
from topicrawl.strategies.base import Strategy
from topicrawl.text.embedding import BUILT_IN, MODEL2VEC_FILES, MODEL2VEC_PREFIX, check_embedding, parse_model2vec_spec

BASELINE = "breadth_first"
_EXAMPLES_SUFFIX = "+examples"  # suffix of a strategy's name: give it examples although it does not require them
_TARGETS_PER_EXAMPLE = 4  # at most one in this many targets becomes an example
_DEFAULT_TASKS = TASK_FILES["words"]
_ENGINE_MODULES = ("topicrawl.lab.run", "topicrawl.lab.simulate")


@dataclass(frozen=True)
class ComparisonConfig:
    """Configuration of a comparison."""

    webs: Sequence[Path]
    strategies: Sequence[str]
    fetches: int = 1000
    examples: int = 20
    tasks_file: Path | None = None
    cache: Path | None = None
    cached: bool = True
    tasks_name: str = _DEFAULT_TASKS  # name of the file with tasks in each web, if there is no `tasks_file`
    phrases: PhraseOptions | None = None  # build the tasks from phrases instead of reading a file
    embedding: str = BUILT_IN  # word vectors of all strategies
    judged: int = 0  # pages judged relevant per task, for the harvest ratio and the average similarity; 0: neither
    judge: str = ""  # relevance model of all runs; "" for the default model
    judgements: bool = False  # whether the rows have the review group of each page
    has_oracle: bool = True  # whether the oracle runs too
    topics: int | None = None  # only the first task of each of the first topics of a web; None: all tasks


@dataclass(frozen=True)
class ComparedStrategy:
    """A strategy that takes part in a comparison."""

    spec: str  # name in tables, with the suffix `+examples` if given
    strategy: str  # name for `strategies.create_strategy`
    strategy_class: type[Strategy]
    has_examples: bool  # whether the strategy receives examples

    @property
    def family(self) -> str:
        """Family of the strategy."""
        return self.strategy_class.family

    @property
    def needs_sessions(self) -> bool:
        """Whether the strategy learns from browsing sessions."""
        return "sessions" in self.strategy_class.required_inputs


@dataclass(frozen=True)
class ComparisonTask:
    """One task with its targets and its example pages."""

    number: int  # position among the tasks of its web, from 1
    web_path: Path
    task: LabTask
    targets: tuple[str, ...]
    reachable: int
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]
    fetches: int
    judged: tuple[str, ...] = ()  # pages judged relevant, for the measures of the papers
    is_own_group: bool = False  # whether the bootstrap draws the task independently of other tasks of its topic

    @property
    def name(self) -> str:
        """Name of the task in tables."""
        return f"{self.task.web} {self.number}: {self.task.topic}"

    @property
    def group(self) -> str:
        """Name of the group of tasks that the bootstrap draws together."""
        return self.name if self.is_own_group else f"{self.task.web}: {self.task.topic}"


@dataclass
class Comparison:
    """A comparison of strategies: `load_tasks` selects the tasks, `run` executes the runs and fills `rows`."""

    config: ComparisonConfig
    strategies: list[ComparedStrategy]
    tasks: list[ComparisonTask] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # (task name, reason why it cannot be run)
    rows: list[ResultRow] = field(default_factory=list)
    failures: list[ResultRow] = field(default_factory=list)  # failed runs, each with its reason in `failure`
    parse_seconds: dict[str, float] = field(default_factory=dict)  # web → CPU seconds to parse a page
    notes: list[str] = field(default_factory=list)  # sentences about the targets of crawls without labels
    _web_fingerprints: dict[Path, str] = field(default_factory=dict)

    def build_requests(self) -> list[tuple[str, ComparisonTask, str, dict[str, Any]]]:
        """Return all runs as (result key, task, name of the strategy in tables, request for the worker)."""
        requests = []
        oracle = (None,) if self.config.has_oracle else ()
        codes = {entrant: _hash_strategy_code(entrant) for entrant in (*oracle, *self.strategies)}
        data_files = fingerprint.hash_data_files()
        embedding = _hash_embedding(self.config.embedding)
        for task in self.tasks:
            for entrant, code in codes.items():
                run = _build_run_spec(task, entrant, self.config)
                inputs = {key: value for key, value in asdict(run).items() if key not in ("web", "cache", "cached")}
                dependencies = (
                    self._web_fingerprints[task.web_path],
                    _hash_sessions_file(task.web_path) if run.sessions else "",
                    code,
                    data_files,
                    embedding,
                )
                key = result_key({**inputs, "of": dependencies})
                requests.append((key, task, entrant.spec if entrant is not None else ORACLE, asdict(run)))
        return requests

    async def run(self, results: ResultsFile, jobs: int) -> AsyncIterator[tuple[int, int, str]]:
        """Execute the runs without a stored result. Yield (runs done, all runs, name of the run) after each.

        Each result is stored at once. Afterwards, `rows` has the results and `failures` the failed runs, which are not
        stored.
        """
        requests = self.build_requests()
        pending = [request for request in requests if results.get_row(request[0]) is None]
        failed_rows: dict[str, ResultRow] = {}
        done = len(requests) - len(pending)
        async for number, answer in run_requests((request[3] for request in pending), jobs):
            key, task, spec, _ = pending[number]
            row = {**_describe_task(task, spec), **answer}
            # Failures are not stored, so that the next command tries the run again.
            if "failure" in answer:
                failed_rows[key] = row
            else:
                results.add(key, row)
            done += 1
            yield done, len(requests), f"{spec} on {task.name}"
        # A stored row may come from a comparison that used other numbers for its tasks.
        self.rows = [
            {**stored, **_describe_task(task, spec)}
            for key, task, spec, _ in requests
            if (stored := results.get_row(key)) is not None
        ]
        self.failures = [failed_rows[key] for key, *_ in requests if key in failed_rows]

    async def parse_webs(self, jobs: int) -> AsyncIterator[tuple[int, int, str]]:
        """Parse the webs into the cache before the runs, so that parsing does not count in their CPU time.

        Yield (webs done, all webs to parse, name of the web) after each. Webs that are parsed already are skipped, and
        nothing is done without a cache. Raise `UsageError` if a web cannot be read.
        """
        modes = dict.fromkeys(
            [
                (False, False),
                *(
                    (strategy.strategy_class.link_context, strategy.strategy_class.needs_styles)
                    for strategy in self.strategies
                ),
            ]
        )
        cache = str(self.config.cache) if self.config.cache is not None else None
        readings = [ParseSpec(str(path), *mode, cache) for path in self.config.webs for mode in modes]
        pending = (
            [reading for reading in readings if self._load_parse_seconds(reading) is None] if self.config.cached else []
        )
        done = 0
        async for number, answer in run_requests(map(asdict, pending), jobs):
            if "failure" in answer:
                raise UsageError(answer["failure"])
            self._record_parse_seconds(pending[number], answer["seconds"])
            done += 1
            yield done, len(pending), pending[number].web

    def _load_parse_seconds(self, spec: ParseSpec) -> float | None:
        """Return the CPU seconds per page from the cache, or None if the web is not parsed yet."""
        web = ParsedWeb(Path(spec.web), cache=self.config.cache)
        known = web.get_parse_seconds(context=LinkContextLevel(spec.context), styles=spec.styles)
        web.close()
        if known is not None:
            self._record_parse_seconds(spec, known)
        return known

    def _record_parse_seconds(self, spec: ParseSpec, seconds: float) -> None:
        name = Path(spec.web).name
        self.parse_seconds[name] = max(self.parse_seconds.get(name, 0.0), seconds)

    def load_tasks(self, on_progress: Callable[[str], None] = lambda text: None) -> None:
        """Read or build the tasks of the webs. Tasks that cannot be run go to `skipped` with the reason."""
        asked = self.config
        shared_tasks = read_tasks(asked.tasks_file) if asked.tasks_file is not None else None
        for path in asked.webs:
            on_progress(f"reading the links of {path}")
            web = ParsedWeb(path, cache=asked.cache, cached=asked.cached)
            self._web_fingerprints[path] = web.fingerprint
            phrases = asked.phrases
            if phrases is None and shared_tasks is None and self._lacks_tasks(path):
                phrases = PhraseOptions()
            # An alias may lead to a page that redirects itself, so the redirects of the recording come last.
            aliases = {**read_aliases(path), **web.find_redirects()}
            if phrases is not None:
                labels, web_tasks = self._build_phrase_tasks(web, phrases, aliases)
            else:
                web_tasks = self._select_tasks(path, shared_tasks)
                labels = read_labels(path, aliases)
            # The bootstrap draws topics or, if all tasks are about one topic, their seeds and wordings.
            is_own_group = phrases is not None and len({task.labels for task in web_tasks}) == 1
            metadata = WebMetadata(labels, aliases, web.build_graph())
            web.close()
            for number, task in _limit_topics(web_tasks, asked.topics):
                try:
                    comparison_task = build_comparison_task(number, path, task, metadata, asked)
                    self.tasks.append(replace(comparison_task, is_own_group=is_own_group))
                except UsageError as error:
                    self.skipped.append((f"{task.web} {number}: {task.topic}", str(error)))
        if not self.tasks:
            reason = self.skipped[0][1] if self.skipped else "no task names one of the webs"
            raise UsageError(f"there is no task to compare strategies on: {reason}")

    def _lacks_tasks(self, path: Path) -> bool:
        """Return whether a web is a crawl without tasks, and no other file is configured."""
        return is_crawl(path) and self.config.tasks_name == _DEFAULT_TASKS and not (path / _DEFAULT_TASKS).exists()

    def _build_phrase_tasks(
        self, web: ParsedWeb, options: PhraseOptions, aliases: Mapping[str, str]
    ) -> tuple[PageLabels, Sequence[LabTask]]:
        """Return the labels and tasks of a web for phrases. Add the source of the targets to `notes`."""
        built = build_phrase_tasks(web.path, options, web.build_graph(), aliases)
        self.skipped += ((web.path.name, reason) for reason in built.skipped)
        if built.note:
            self.notes.append(f"{web.path.name}: {built.note}" if len(self.config.webs) > 1 else built.note)
        return built.labels, built.tasks

    def _select_tasks(self, path: Path, shared_tasks: Sequence[LabTask] | None) -> Sequence[LabTask]:
        """Return the tasks of a web, from its own file or from the file for all webs."""
        if shared_tasks is None:
            return read_tasks(path / self.config.tasks_name)
        if len(self.config.webs) == 1:
            return shared_tasks
        return [task for task in shared_tasks if task.web == path.resolve().name]


def _limit_topics(tasks: Sequence[LabTask], topics: int | None) -> Iterator[tuple[int, LabTask]]:
    """Yield the tasks of a web with their numbers: all, or the first one of each of the first `topics` topics."""
    known: set[str] = set()
    for number, task in enumerate(tasks, 1):
        if topics is None or (task.topic not in known and len(known) < topics):
            known.add(task.topic)
            yield number, task


def resolve_strategies(specs: Iterable[str]) -> list[ComparedStrategy]:
    """Return the strategies to compare without duplicates, breadth-first (the baseline of nAUC) first.

    The suffix `+examples` of a name gives the strategy examples that it does not require.
    """
    resolved = {}
    for spec in (BASELINE, *specs):
        strategy, has_examples = spec.removesuffix(_EXAMPLES_SUFFIX), spec.endswith(_EXAMPLES_SUFFIX)
        kind = type(strategies.create_strategy(strategy))
        resolved[spec] = ComparedStrategy(spec, strategy, kind, has_examples or "examples" in kind.required_inputs)
    return list(resolved.values())


def plan_comparison(config: ComparisonConfig) -> Comparison:
    """Return a comparison with its strategies and tasks loaded, ready to run."""
    comparison = Comparison(config, resolve_strategies(config.strategies))
    comparison.load_tasks()
    return comparison


@dataclass(frozen=True)
class WebMetadata:
    """Labels, redirects and link graph of a recorded web."""

    labels: PageLabels
    aliases: Mapping[str, str]
    graph: Mapping[str, Sequence[str]]

    @cached_property
    def linked_pages(self) -> frozenset[str]:
        """Pages with at least one incoming link."""
        return frozenset(url for links in self.graph.values() for url in links)


def build_comparison_task(
    number: int, path: Path, task: LabTask, metadata: WebMetadata, config: ComparisonConfig
) -> ComparisonTask:
    """Resolve a task, draw its examples and remove them from its targets. Raise `UsageError` if no target is left."""
    resolved = resolve_task(task, metadata.labels, metadata.graph, metadata.aliases)
    relevant, irrelevant = draw_examples(resolved, metadata, config.examples)
    targets = tuple(sorted(resolved.targets - set(relevant)))
    if not targets:
        raise UsageError(f"{task.name}: all targets are examples, so that no target is left to find")
    fetches = evaluation_budget(len(resolved.depths), config.fetches)
    judged = draw_judged_pages(resolved, metadata, relevant, config.judged) if config.judged else ()
    return ComparisonTask(number, path, task, targets, len(resolved.depths), relevant, irrelevant, fetches, judged)


def draw_judged_pages(
    resolved: ResolvedTask, metadata: WebMetadata, examples: Iterable[str], count: int
) -> tuple[str, ...]:
    """Return the pages judged relevant: the seeds on the topic, the examples, and targets up to `count` pages."""
    on_topic = find_targets(metadata.labels, replace(resolved.task, seeds=(), within=""))
    seeds = [url for seed in resolved.task.seeds if (url := metadata.aliases.get(seed, seed)) in on_topic]
    known = dict.fromkeys((*seeds, *examples))
    others = [url for url in _hash_order(resolved.targets, resolved.task) if url not in known]
    return (*known, *others[: max(0, count - len(known))])


def draw_examples(resolved: ResolvedTask, metadata: WebMetadata, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return up to `count` example pages on the topic and as many off it. The result is deterministic.

    A task with its own examples keeps them. Otherwise, examples on the topic are first taken from pages that are not
    targets of this task, for example pages of other sites if the task is limited to one site. The rest are targets, at
    most a quarter of them. Seeds, redirecting pages and pages without incoming links are never examples, because many
    strategies learn from the links to an example.
    """
    task = resolved.task
    if task.relevant or task.irrelevant:
        return task.relevant, task.irrelevant
    seeds = {metadata.aliases.get(url, url) for url in task.seeds}
    candidates = [url for url in metadata.labels if url in metadata.linked_pages and url not in seeds]
    on_topic = {url for url in candidates if any(label_matches(label, task.labels) for label in metadata.labels[url])}
    relevant = _hash_order(on_topic - resolved.targets, task)[:count]
    limit = min(count - len(relevant), len(resolved.targets) // _TARGETS_PER_EXAMPLE)
    relevant += _hash_order(resolved.targets & metadata.linked_pages, task)[:limit]
    return tuple(relevant), tuple(_hash_order(set(candidates) - on_topic, task)[:count])


def _hash_order(urls: Iterable[str], task: LabTask) -> list[str]:
    """Sort URLs in a pseudo-random order that depends only on the topic and the URLs."""
    return sorted(urls, key=lambda url: (xxhash.xxh3_64_intdigest(f"{task.topic}\0{url}".encode()), url))


def _build_run_spec(task: ComparisonTask, strategy: ComparedStrategy | None, config: ComparisonConfig) -> RunSpec:
    run = RunSpec(
        web=str(task.web_path),
        words=task.task.words,
        seeds=task.task.seeds,
        strategy=ORACLE,
        fetches=task.fetches,
        targets=task.targets,
        cache=str(config.cache) if config.cache is not None else None,
        cached=config.cached,
        languages=task.task.languages,
        embedding=config.embedding,
    )
    if strategy is None:
        return run
    run = replace(run, judge=config.judge, judged=task.judged, judgements=config.judgements)
    run = replace(run, strategy=strategy.strategy, sessions=strategy.needs_sessions)
    return replace(run, relevant=task.relevant, irrelevant=task.irrelevant) if strategy.has_examples else run


def _hash_strategy_code(strategy: ComparedStrategy | None) -> str:
    """Return the fingerprint of the code that a run depends on, including a strategy outside this package."""
    if strategy is None:
        return fingerprint.hash_code(_ENGINE_MODULES)
    module = strategy.strategy_class.__module__
    source_file = sys.modules[module].__file__
    is_external = source_file is not None and not module.startswith(f"{__name__.partition('.')[0]}.")
    return fingerprint.hash_code((*_ENGINE_MODULES, module)) + (
        fingerprint.hash_contents([Path(source_file)]) if is_external and source_file else ""
    )


def _hash_embedding(spec: str) -> str:
    """Return the fingerprint of the files of an embedding outside this package: its model, or the module of its class.

    Other files that a class of the user reads are not included.
    """
    check_embedding(spec)  # imports the module of a class
    if spec.startswith(MODEL2VEC_PREFIX):
        directory = parse_model2vec_spec(spec).directory
        return fingerprint.hash_file_stats([directory / name for name in MODEL2VEC_FILES])
    module = sys.modules.get(spec.partition(":")[0])
    return fingerprint.hash_contents([Path(module.__file__)]) if module is not None and module.__file__ else ""


def _hash_sessions_file(path: Path) -> str:
    files = find_sessions_file(path)
    return fingerprint.hash_file_stats([files]) if files is not None else ""


def _describe_task(task: ComparisonTask, spec: str) -> ResultRow:
    """Return the fields of a result row that describe its task."""
    return {
        "web": task.task.web,
        "task": task.name,
        "topic": task.task.topic,
        "group": task.group,
        "back": task.task.back,
        "strategy": spec,
        "budget": task.fetches,
        "targets": len(task.targets),
        "judged_pages": len(task.judged),
        "reachable": task.reachable,
    }
