"""Strategies against tasks: fair, the same each time, resumed where it was stopped, and nothing that is silently 0."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.longer import LONG

from topicrawl.errors import StrategyError, UsageError
from topicrawl.lab.compare import Asked, Comparison, Table, drawn, entrants, planned
from topicrawl.lab.measures import auc as auc_of_urls
from topicrawl.lab.results import Results
from topicrawl.lab.run import ORACLE
from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.standings import Standings, auc, figures
from topicrawl.lab.tasks import aim, read_aliases, read_labels, read_tasks
from topicrawl.lab.web import ParsedWeb

COSTS = ("cpu", "training", "memory")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small recorded web with three tasks, one of which cannot be run."""
    folder = tmp_path_factory.mktemp("web") / "sample"
    SampleWeb(pages=400, hosts=20).write(folder)
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))[:3]
    tasks[2]["labels"] = ["dragons"]
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder


def compared(asked: Asked, out: Path, jobs: int = 2) -> Comparison:
    async def run() -> Comparison:
        plan = Comparison(asked, entrants(asked.strategies))
        async for _ in plan.read(jobs):
            pass
        plan.plan()
        results = Results(out / "results.jsonl")
        async for _ in plan.run(results, jobs):
            pass
        results.close()
        return plan

    return asyncio.run(run())


def quality(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in COSTS} for row in rows]


@pytest.fixture(scope="module")
def asked(web: Path, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    cache = tmp_path_factory.mktemp("cache")
    return Asked([web], ["best_first", "nb4", "best_first+examples"], fetches=60, examples=6, cache=cache)


@pytest.fixture(scope="module")
def done(asked: Asked, tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    out = tmp_path_factory.mktemp("out")
    return compared(asked, out), out


def test_every_strategy_runs_on_every_task_with_the_oracle_and_breadth_first(done: tuple[Comparison, Path]) -> None:
    plan, _ = done
    names = {row["strategy"] for row in plan.rows}
    assert names == {ORACLE, "breadth_first", "best_first", "nb4", "best_first+examples"}
    assert len(plan.rows) == 2 * len(names)
    assert all(row["memory"] > 10 and row["cpu"] > 0 for row in plan.rows)
    assert plan.failures == []


def test_a_task_that_cannot_be_run_is_named_with_the_reason(done: tuple[Comparison, Path]) -> None:
    ((name, reason),) = done[0].skipped
    assert name.startswith("sample 3: ")
    assert "dragons" in reason


def test_every_run_was_asked_on_its_way_what_it_would_still_find(done: tuple[Comparison, Path]) -> None:
    for row in done[0].rows:
        if row["strategy"] != ORACLE:
            assert row["foresight"]["labels"]["found"] == len(row["found"])
            assert [answer[0] for answer in row["foresight"]["judged"]["answers"]] == [18, 30, 42]


def test_example_pages_count_for_nobody(done: tuple[Comparison, Path]) -> None:
    for match in done[0].matches:
        assert match.relevant
        assert not set(match.relevant) & set(match.targets)
        assert not set(match.irrelevant) & set(match.targets)
        assert not set(match.relevant) & set(match.task.seeds)
    assert {row["targets"] for row in done[0].rows} == {len(match.targets) for match in done[0].matches}


def test_examples_are_drawn_without_chance_and_leave_most_targets(web: Path) -> None:
    graph, labels, aliases = ParsedWeb(web, cached=False).graph(), read_labels(web), read_aliases(web)
    table = Table(labels, aliases, graph)
    found = aim(read_tasks(web)[0], labels, graph, aliases)
    relevant, irrelevant = drawn(found, table, 10_000)
    assert (relevant, irrelevant) == drawn(found, Table(dict(reversed(labels.items())), aliases, graph), 10_000)
    assert len(set(relevant) & found.targets) == len(found.targets) // 4
    assert drawn(found, table, 3)[0] == relevant[:3]
    assert drawn(found, table, 0) == ((), ())


@LONG
def test_the_table_is_the_same_whatever_the_hash_seed_and_however_many_jobs(
    asked: Asked, done: tuple[Comparison, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")  # the runs before had one that nobody chose
    assert quality(compared(asked, tmp_path, jobs=1).rows) == quality(done[0].rows)


def test_a_comparison_goes_on_where_it_was_stopped(asked: Asked, done: tuple[Comparison, Path], tmp_path: Path) -> None:
    lines = (done[1] / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    # As after a kill: half of the lines, and the last one cut off.
    (tmp_path / "results.jsonl").write_text("".join(lines[:5]) + lines[5][:40], "utf-8")
    again = compared(asked, tmp_path)
    assert quality(again.rows) == quality(done[0].rows)
    after = (tmp_path / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    assert after[:5] == lines[:5]
    assert len(after) == len(lines) + 1


def test_what_is_asked_again_is_not_run_again(asked: Asked, done: tuple[Comparison, Path]) -> None:
    before = (done[1] / "results.jsonl").read_bytes()
    again = compared(asked, done[1])
    assert again.rows == done[0].rows
    assert (done[1] / "results.jsonl").read_bytes() == before


def test_a_change_of_the_question_is_another_question(asked: Asked) -> None:
    def keys(question: Asked, *names: str) -> set[str]:
        return {key for key, _, spec, _ in planned(question).requests() if not names or spec in names}

    before = keys(asked)
    assert before == keys(replace(asked, cached=False))
    assert not before & keys(replace(asked, fetches=50))
    assert not before & keys(replace(asked, examples=5), "nb4", "best_first+examples")


@LONG
def test_a_strategy_that_lacks_its_input_or_breaks_is_named_with_the_reason(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (
        "import os, signal\n"
        "from topicrawl.strategies.breadth_first import BreadthFirst\n"
        "class Divides(BreadthFirst):\n    name = 'divides'\n    def place(self, links, visit): return 1 / 0\n"
        "class Dies(BreadthFirst):\n    name = 'dies'\n"
        "    def place(self, links, visit): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "faulty.py").write_text(broken, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    asked = Asked([web], ["nb4", "faulty:Divides", "faulty:Dies"], fetches=10, examples=0, cache=tmp_path / "cache")
    plan = compared(asked, tmp_path / "out")
    reasons = {row["strategy"]: row["failure"] for row in plan.failures}
    assert set(reasons) == {"nb4", "faulty:Divides", "faulty:Dies"}
    assert "examples" in reasons["nb4"]
    assert "ZeroDivisionError" in reasons["faulty:Divides"]
    assert "signal 9" in reasons["faulty:Dies"]
    assert Standings(plan.rows, 10).names == ["breadth_first"]


def test_breadth_first_is_0_and_the_oracle_1_by_construction(done: tuple[Comparison, Path]) -> None:
    standings = Standings(done[0].rows, 60)
    named = {row["strategy"]: row for row in figures(standings)}
    assert named["breadth_first"]["nauc"] == named["breadth_first"]["nauc_low"] == 0
    assert named[ORACLE]["nauc"] == named[ORACLE]["nauc_high"] == 1
    assert all(row["nauc"] < 1 for row in named.values() if row["strategy"] != ORACLE)


def test_areas_are_those_of_the_measures() -> None:
    row = {"found": [2, 5], "targets": 4, "budget": 8}
    assert auc(row) == auc_of_urls(["s", "a", "x", "x", "b"], {"a", "b", "c", "d"}, 8)


def test_duels_are_fair_and_antisymmetric(done: tuple[Comparison, Path]) -> None:
    duels = Standings(done[0].rows, 60).duels
    lead, back = duels["best_first", "breadth_first"], duels["breadth_first", "best_first"]
    assert (lead.value, lead.low, lead.high) == (-back.value, -back.high, -back.low)


def test_unknown_strategies_and_webs_without_tasks_are_refused(web: Path, tmp_path: Path) -> None:
    with pytest.raises(StrategyError, match="did you mean"):
        entrants(["best_frist"])
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("pages.warc.gz", "labels.tsv"):
        (bare / name).write_bytes((web / name).read_bytes())
    with pytest.raises(UsageError, match=r"tasks\.json"):
        planned(Asked([bare], ["best_first"], cache=tmp_path))


@LONG
def test_an_interrupted_command_loses_nothing(web: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "topicrawl", "lab", "compare", str(web), "--strategies", "best_first"]
    command += ["--budget", "60", "--jobs", "1", "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    file = tmp_path / "out" / "results.jsonl"
    while process.poll() is None and not (file.exists() and file.read_bytes().count(b"\n")):
        os.sched_yield()
    process.send_signal(2)
    _, said = process.communicate(timeout=60)
    assert b"Traceback" not in said
    kept = file.read_bytes()
    assert kept.endswith(b"\n")
    if process.returncode:
        assert process.returncode == 130
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert file.read_bytes().startswith(kept)
    assert b"best_first" in again.stdout
