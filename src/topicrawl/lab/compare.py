"""Strategies against tasks: what is to be run, running it, and what came of it, row by row.

Every strategy starts from the same seeds with the same words, and the same pages count. Strategies that learn from
examples are given some, drawn from the labels; example pages count for nobody. Results are kept as they come, so that
a comparison that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import xxhash

from topicrawl import strategies
from topicrawl.errors import UsageError
from topicrawl.lab import fingerprint
from topicrawl.lab.measures import budget
from topicrawl.lab.results import Results, Row, key_of
from topicrawl.lab.run import ORACLE, Reading, Run
from topicrawl.lab.tasks import Aim, Labels, LabTask, aim, matches, read_aliases, read_labels, read_tasks
from topicrawl.lab.web import ParsedWeb, sessions_beside
from topicrawl.lab.worker import answers
from topicrawl.records import Around
from topicrawl.strategies.strategy import Strategy

BASELINE = "breadth_first"
_MORE = "+examples"  # behind a strategy's name: it is given examples although it can do without
_LARGEST_SHARE = 4  # at most one target in so many becomes an example
_ENGINE = ("topicrawl.lab.run", "topicrawl.lab.simulate")


@dataclass(frozen=True)
class Asked:
    """What is to be compared."""

    webs: Sequence[Path]
    strategies: Sequence[str]
    fetches: int = 1000
    examples: int = 20
    tasks: Path | None = None
    cache: Path | None = None
    cached: bool = True


@dataclass(frozen=True)
class Entrant:
    """A strategy that takes part."""

    spec: str  # as in tables
    strategy: str  # as for `strategies.make`
    kind: type[Strategy]
    given: bool  # whether it is given examples

    @property
    def family(self) -> str:
        return self.kind.family

    @property
    def sessions(self) -> bool:
        return "sessions" in self.kind.inputs


@dataclass(frozen=True)
class Match:
    """One task with what counts in it and what strategies may learn from."""

    number: int  # among the tasks of its web, 1 is the first
    path: Path
    task: LabTask
    targets: tuple[str, ...]
    reachable: int
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]
    fetches: int

    @property
    def name(self) -> str:
        return f"{self.task.web} {self.number}: {self.task.topic}"


@dataclass
class Comparison:
    """All runs that were asked for; those that were made already are in `rows`."""

    asked: Asked
    entrants: list[Entrant]
    matches: list[Match] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # task → why it cannot be run
    rows: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)  # runs that did not come about, with the reason
    parsing: dict[str, float] = field(default_factory=dict)  # web → seconds of CPU to parse a page
    _prints: dict[Path, str] = field(default_factory=dict)

    def requests(self) -> list[tuple[str, Match, str, dict[str, Any]]]:
        """Every run: its key, its task, its strategy as in tables, and the request for it."""
        found = []
        codes = {entrant: _code(entrant) for entrant in (None, *self.entrants)}
        for match in self.matches:
            for entrant, code in codes.items():
                run = _run(match, entrant, self.asked)
                told = {key: value for key, value in asdict(run).items() if key not in ("web", "cache", "cached")}
                of = (self._prints[match.path], _sessions(match.path) if run.sessions else "", code)
                key = key_of({**told, "of": of})
                found.append((key, match, entrant.spec if entrant is not None else ORACLE, asdict(run)))
        return found

    async def run(self, results: Results, jobs: int) -> AsyncIterator[tuple[int, int, str]]:
        """Make the runs that are missing; tells after each how many are done, of how many, and which."""
        requests = self.requests()
        left = [request for request in requests if results.row(request[0]) is None]
        failed: dict[str, Row] = {}
        done = len(requests) - len(left)
        async for number, answer in answers((request[3] for request in left), jobs):
            key, match, spec, _ = left[number]
            row = {**_about(match, spec), **answer}
            # A run that failed is tried again by the next command: what it lacked may be there by then.
            if "failure" in answer:
                failed[key] = row
            else:
                results.add(key, row)
            done += 1
            yield done, len(requests), f"{spec} on {match.name}"
        kept = (results.row(key) for key, *_ in requests)
        self.rows = [row for row in kept if row is not None]
        self.failures = [failed[key] for key, *_ in requests if key in failed]

    async def read(self, jobs: int) -> AsyncIterator[tuple[int, int, str]]:
        """Parse what the strategies will fetch, so that no run pays for it and all are timed alike."""
        wanted = dict.fromkeys([(False, False), *((it.kind.context, it.kind.styles) for it in self.entrants)])
        cache = str(self.asked.cache) if self.asked.cache is not None else None
        readings = [Reading(str(path), *how, cache) for path in self.asked.webs for how in wanted]
        left = [reading for reading in readings if self._seconds(reading) is None] if self.asked.cached else []
        done = 0
        async for number, answer in answers(map(asdict, left), jobs):
            if "failure" in answer:
                raise UsageError(answer["failure"])
            self._timed(left[number], answer["seconds"])
            done += 1
            yield done, len(left), left[number].web

    def _seconds(self, reading: Reading) -> float | None:
        """How long parsing takes, if all was parsed in an earlier run."""
        web = ParsedWeb(Path(reading.web), cache=self.asked.cache)
        known = web.seconds(context=Around(reading.context), styles=reading.styles)
        web.close()
        if known is not None:
            self._timed(reading, known)
        return known

    def _timed(self, reading: Reading, seconds: float) -> None:
        name = Path(reading.web).name
        self.parsing[name] = max(self.parsing.get(name, 0.0), seconds)

    def plan(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """Which tasks can be run. One that cannot is named, with the reason, and left out."""
        asked = self.asked
        tasks = read_tasks(asked.tasks) if asked.tasks is not None else None
        for path in asked.webs:
            tell(f"reading the links of {path}")
            web = ParsedWeb(path, cache=asked.cache, cached=asked.cached)
            table = Table(read_labels(path), read_aliases(path), web.graph())
            self._prints[path] = web.fingerprint
            web.close()
            own = tasks if tasks is not None else read_tasks(path)
            here = [task for task in own if len(asked.webs) == 1 or tasks is None or task.web == path.resolve().name]
            for number, task in enumerate(here, 1):
                try:
                    self.matches.append(matched(number, path, task, table, asked))
                except UsageError as error:
                    self.skipped.append((f"{task.web} {number}: {task.topic}", str(error)))
        if not self.matches:
            reason = self.skipped[0][1] if self.skipped else "no task names one of the webs"
            raise UsageError(f"there is nothing to compare on: {reason}")


def entrants(specs: Iterable[str]) -> list[Entrant]:
    """The strategies by their names; breadth-first is always among them, because the others are measured against it."""
    found = {}
    for spec in (BASELINE, *specs):
        strategy, given = spec.removesuffix(_MORE), spec.endswith(_MORE)
        kind = type(strategies.make(strategy))
        found[spec] = Entrant(spec, strategy, kind, given or "examples" in kind.inputs)
    return list(found.values())


def planned(asked: Asked) -> Comparison:
    """What is to be run on which task."""
    comparison = Comparison(asked, entrants(asked.strategies))
    comparison.plan()
    return comparison


@dataclass(frozen=True)
class Table:
    """What is known of a web: labels, redirects, links."""

    labels: Labels
    aliases: Mapping[str, str]
    graph: Mapping[str, Sequence[str]]

    @cached_property
    def linked(self) -> frozenset[str]:
        """The pages that another page links to."""
        return frozenset(url for links in self.graph.values() for url in links)


def matched(number: int, path: Path, task: LabTask, table: Table, asked: Asked) -> Match:
    """The task with its examples, and without them among its targets."""
    found = aim(task, table.labels, table.graph, table.aliases)
    relevant, irrelevant = drawn(found, table, asked.examples)
    targets = tuple(sorted(found.targets - set(relevant)))
    if not targets:
        raise UsageError(f"{task.name}: all its targets are examples")
    fetches = budget(len(found.depths), asked.fetches)
    return Match(number, path, task, targets, len(found.depths), relevant, irrelevant, fetches)


def drawn(aim: Aim, table: Table, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Example pages on the topic and off it, the same for everybody who draws as many.

    Those on the topic are pages that are no targets of this task, as far as there are any: those of other sites where
    a task is limited to one; then targets, at most a quarter of them. Seeds, pages that redirect and pages that nothing
    links to are not drawn: many strategies learn from the links that lead to an example.
    """
    task = aim.task
    if task.relevant or task.irrelevant:
        return task.relevant, task.irrelevant
    begun = {table.aliases.get(url, url) for url in task.seeds}
    known = [url for url in table.labels if url in table.linked and url not in begun]
    on = {url for url in known if any(matches(label, task.labels) for label in table.labels[url])}
    relevant = _shuffled(on - aim.targets, task)[:count]
    most = min(count - len(relevant), len(aim.targets) // _LARGEST_SHARE)
    relevant += _shuffled(aim.targets & table.linked, task)[:most]
    return tuple(relevant), tuple(_shuffled(set(known) - on, task)[:count])


def _shuffled(urls: Iterable[str], task: LabTask) -> list[str]:
    """An order that looks like chance and depends on the topic and the URLs alone."""
    return sorted(urls, key=lambda url: (xxhash.xxh3_64_intdigest(f"{task.topic}\0{url}".encode()), url))


def _run(match: Match, entrant: Entrant | None, asked: Asked) -> Run:
    run = Run(
        web=str(match.path), words=match.task.words, seeds=match.task.seeds, strategy=ORACLE, fetches=match.fetches,
        targets=match.targets, cache=str(asked.cache) if asked.cache is not None else None, cached=asked.cached,
    )  # fmt: skip
    if entrant is None:
        return run
    run = replace(run, strategy=entrant.strategy, sessions=entrant.sessions)
    return replace(run, relevant=match.relevant, irrelevant=match.irrelevant) if entrant.given else run


def _code(entrant: Entrant | None) -> str:
    """The code that a run depends on, one's own strategies included."""
    if entrant is None:
        return fingerprint.of_code(_ENGINE)
    module = entrant.kind.__module__
    own = sys.modules[module].__file__
    outside = own is not None and not module.startswith(f"{__name__.partition('.')[0]}.")
    return fingerprint.of_code((*_ENGINE, module)) + (fingerprint.of_contents([Path(own)]) if outside and own else "")


def _sessions(path: Path) -> str:
    files = sessions_beside(path)
    return fingerprint.of_files([files]) if files is not None else ""


def _about(match: Match, spec: str) -> Row:
    """What a row says of its task."""
    return {
        "web": match.task.web,
        "task": match.name,
        "topic": match.task.topic,
        "back": match.task.back,
        "strategy": spec,
        "budget": match.fetches,
        "targets": len(match.targets),
        "reachable": match.reachable,
    }
