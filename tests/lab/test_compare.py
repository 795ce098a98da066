"""Comparison of strategies: fair, deterministic, resumable, with a reason for every missing result."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.comparison import build_comparison
from tests.helpers.markers import LONG
from tests.helpers.sample_web import write_small_web

from topicrawl.errors import StrategyError, UsageError
from topicrawl.lab.compare import (
    Comparison,
    ComparisonConfig,
    WebMetadata,
    draw_examples,
    plan_comparison,
    resolve_strategies,
)
from topicrawl.lab.leaderboard import Leaderboard, leaderboard_to_rows, row_auc
from topicrawl.lab.measures import auc as auc_of_urls
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.report.files import write_report
from topicrawl.lab.results import ResultsFile
from topicrawl.lab.run import ORACLE
from topicrawl.lab.tasks import read_labels, read_tasks, resolve_task
from topicrawl.sample_web.recording import RecordedTask, build_response, write_pages, write_tables

COSTS = ("cpu", "training", "memory")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small recorded web with three tasks. The third has no targets and cannot be run."""
    folder = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(folder)
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))[:3]
    tasks[2]["labels"] = ["dragons"]
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder


def test_topics_limits_a_comparison_to_the_first_task_of_each_topic(web: Path, tmp_path: Path) -> None:
    folder = tmp_path / "web"
    shutil.copytree(web, folder)
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))[:2]
    (folder / "tasks.json").write_text(json.dumps([tasks[0], tasks[0], tasks[1], tasks[1]]), "utf-8")
    for topics, numbers in ((None, [1, 2, 3, 4]), (1, [1]), (2, [1, 3]), (9, [1, 3])):
        comparison = plan_comparison(ComparisonConfig([folder], ["best_first"], cache=tmp_path, topics=topics))
        assert [task.number for task in comparison.tasks] == numbers


def run_comparison(asked: ComparisonConfig, out: Path, jobs: int = 2) -> Comparison:
    async def run() -> Comparison:
        """Parse the webs, load the tasks and execute the runs."""
        plan = Comparison(asked, resolve_strategies(asked.strategies))
        async for _ in plan.parse_webs(jobs):
            pass
        plan.load_tasks()
        results = ResultsFile(out / "results.jsonl")
        async for _ in plan.run(results, jobs):
            pass
        results.close()
        return plan

    return asyncio.run(run())


def drop_costs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in COSTS} for row in rows]


@pytest.fixture(scope="module")
def asked(web: Path, tmp_path_factory: pytest.TempPathFactory) -> ComparisonConfig:
    cache = tmp_path_factory.mktemp("cache")
    return ComparisonConfig([web], ["best_first", "nb4", "best_first+examples"], fetches=60, examples=6, cache=cache)


@pytest.fixture(scope="module")
def done(asked: ComparisonConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    out = tmp_path_factory.mktemp("out")
    return run_comparison(asked, out), out


def test_every_strategy_runs_on_every_task_with_the_oracle_and_breadth_first(done: tuple[Comparison, Path]) -> None:
    plan, _ = done
    names = {row["strategy"] for row in plan.rows}
    assert names == {ORACLE, "breadth_first", "best_first", "nb4", "best_first+examples"}
    assert len(plan.rows) == 2 * len(names)
    assert all(row["memory"] > 10 and row["cpu"] > 0 for row in plan.rows)
    assert plan.failures == []


def test_a_task_that_cannot_be_run_is_reported_with_the_reason(done: tuple[Comparison, Path]) -> None:
    ((name, reason),) = done[0].skipped
    assert name.startswith("sample 3: ")
    assert "dragons" in reason


def test_every_run_has_recall_forecasts(done: tuple[Comparison, Path]) -> None:
    for row in done[0].rows:
        if row["strategy"] != ORACLE:
            assert row["foresight"]["labels"]["found"] == len(row["found"])
            assert [answer[0] for answer in row["foresight"]["judged"]["answers"]] == [18, 30, 42]


def test_example_pages_are_not_targets_for_any_strategy(done: tuple[Comparison, Path]) -> None:
    for match in done[0].tasks:
        assert match.relevant
        assert not set(match.relevant) & set(match.targets)
        assert not set(match.irrelevant) & set(match.targets)
        assert not set(match.relevant) & set(match.task.seeds)
    assert {row["targets"] for row in done[0].rows} == {len(match.targets) for match in done[0].tasks}


def test_examples_are_deterministic_and_leave_most_targets(web: Path) -> None:
    parsed = ParsedWeb(web, cached=False)
    graph, labels, aliases = parsed.build_graph(), read_labels(web), parsed.find_redirects()
    table = WebMetadata(labels, aliases, graph)
    resolved = resolve_task(read_tasks(web)[0], labels, graph, aliases)
    relevant, irrelevant = draw_examples(resolved, table, 10_000)
    assert (relevant, irrelevant) == draw_examples(
        resolved, WebMetadata(dict(reversed(labels.items())), aliases, graph), 10_000
    )
    assert len(set(relevant) & resolved.targets) == len(resolved.targets) // 4
    assert draw_examples(resolved, table, 3)[0] == relevant[:3]
    assert draw_examples(resolved, table, 0) == ((), ())


def test_seeds_and_targets_may_be_pages_that_redirect(tmp_path: Path) -> None:
    seed, hub, old, page = (f"http://{name}.example/" for name in ("seed", "hub", "old", "page"))
    refresh = '<meta http-equiv="refresh" content="0; url={}">'
    bodies = {seed: refresh.format(hub), hub: f'<a href="{old}">old</a>', old: refresh.format(page), page: "dengue"}
    responses = [build_response(url, 200, {"content-type": "text/html"}, body.encode()) for url, body in bodies.items()]
    write_pages(tmp_path, responses, description="meta refreshes")
    task = RecordedTask("web", "dengue", "dengue", ["Dengue"], ["http://alias.example/"], 0, 1)
    write_tables(tmp_path, {old: ["Dengue"]}, {}, [task], {"http://alias.example/": seed})
    comparison = plan_comparison(ComparisonConfig([tmp_path], ["breadth_first"], cached=False))
    assert [match.targets for match in comparison.tasks] == [(page,)]
    assert comparison.skipped == []


@LONG
def test_the_table_is_the_same_whatever_the_hash_seed_and_however_many_jobs(
    asked: ComparisonConfig, done: tuple[Comparison, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")  # the earlier runs used a random hash seed
    assert drop_costs(run_comparison(asked, tmp_path, jobs=1).rows) == drop_costs(done[0].rows)


@LONG
def test_an_interrupted_comparison_resumes(
    asked: ComparisonConfig, done: tuple[Comparison, Path], tmp_path: Path
) -> None:
    lines = (done[1] / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    # As after a kill: half of the lines, the last one truncated.
    (tmp_path / "results.jsonl").write_text("".join(lines[:5]) + lines[5][:40], "utf-8")
    again = run_comparison(asked, tmp_path)
    assert drop_costs(again.rows) == drop_costs(done[0].rows)
    after = (tmp_path / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    assert after[:5] == lines[:5]
    assert len(after) == len(lines) + 1


def test_a_repeated_comparison_runs_nothing_again(asked: ComparisonConfig, done: tuple[Comparison, Path]) -> None:
    before = (done[1] / "results.jsonl").read_bytes()
    again = run_comparison(asked, done[1])
    assert again.rows == done[0].rows
    assert (done[1] / "results.jsonl").read_bytes() == before


def test_result_keys_depend_on_the_configuration(asked: ComparisonConfig) -> None:
    def keys(config: ComparisonConfig, *names: str) -> set[str]:
        return {key for key, _, spec, _ in plan_comparison(config).build_requests() if not names or spec in names}

    before = keys(asked)
    assert before == keys(replace(asked, cached=False))
    assert not before & keys(replace(asked, fetches=50))
    assert not before & keys(replace(asked, examples=5), "nb4", "best_first+examples")


@LONG
def test_a_failed_strategy_is_reported_with_the_reason(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (
        "import os, signal\n"
        "from topicrawl.strategies.breadth_first import BreadthFirst\n"
        "class Divides(BreadthFirst):\n    name = 'divides'\n    def score_links(self, links, visit): return 1 / 0\n"
        "class Dies(BreadthFirst):\n    name = 'dies'\n"
        "    def score_links(self, links, visit): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "faulty.py").write_text(broken, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    asked = ComparisonConfig(
        [web], ["nb4", "faulty:Divides", "faulty:Dies"], fetches=10, examples=0, cache=tmp_path / "cache"
    )
    plan = run_comparison(asked, tmp_path / "out")
    reasons = {row["strategy"]: row["failure"] for row in plan.failures}
    assert set(reasons) == {"nb4", "faulty:Divides", "faulty:Dies"}
    assert "examples" in reasons["nb4"]
    assert "ZeroDivisionError" in reasons["faulty:Divides"]
    assert "signal 9" in reasons["faulty:Dies"]
    assert Leaderboard(plan.rows, 10).names == ["breadth_first"]


def test_breadth_first_is_0_and_the_oracle_1_by_construction(done: tuple[Comparison, Path]) -> None:
    standings = Leaderboard(done[0].rows, 60)
    named = {row["strategy"]: row for row in leaderboard_to_rows(standings)}
    assert named["breadth_first"]["nauc"] == 0
    assert named[ORACLE]["nauc"] == 1
    assert all(row["nauc"] < 1 for row in named.values() if row["strategy"] != ORACLE)


def test_the_auc_of_a_row_equals_the_auc_of_the_urls() -> None:
    row = {"found": [2, 5], "targets": 4, "budget": 8}
    assert row_auc(row) == auc_of_urls(["s", "a", "x", "x", "b"], {"a", "b", "c", "d"}, 8)


def test_two_topics_have_no_interval(done: tuple[Comparison, Path], tmp_path: Path) -> None:
    standings = Leaderboard(done[0].rows, 60)
    assert not standings.has_intervals
    assert standings.missing_interval_reason == "2 tasks: no interval, which needs at least 5 tasks"
    assert all(row["nauc_low"] is row["auc_high"] is None for row in leaderboard_to_rows(standings))
    assert not any(difference.excludes_zero for difference in standings.pairwise_differences.values())
    write_report(tmp_path, done[0], standings)
    assert "nan" not in (tmp_path / "report.json").read_text("utf-8").lower()
    assert "NaN" not in (report := (tmp_path / "report.html").read_text("utf-8"))
    assert "2 tasks: no interval" in report
    assert not re.search(r'[" (]nan\b', report)


def test_pairwise_differences_are_antisymmetric() -> None:
    duels = build_comparison(3, 5)[1].pairwise_differences
    lead, back = duels["strategy_ab1", "breadth_first"], duels["breadth_first", "strategy_ab1"]
    assert lead.has_limits
    assert (lead.value, lead.low, lead.high) == (-back.value, -back.high, -back.low)


def test_stored_rows_get_the_names_of_the_current_comparison(
    asked: ComparisonConfig, done: tuple[Comparison, Path], web: Path, tmp_path: Path
) -> None:
    tasks = json.loads((web / "tasks.json").read_text("utf-8"))
    (tmp_path / "second.json").write_text(json.dumps(tasks[1:2]), "utf-8")
    before = (done[1] / "results.jsonl").read_bytes()
    again = run_comparison(replace(asked, tasks_file=tmp_path / "second.json"), done[1])
    assert (done[1] / "results.jsonl").read_bytes() == before
    assert {row["task"] for row in again.rows} == {f"sample 1: {tasks[1]['topic']}"}


def test_the_kind_of_tasks_is_a_file_of_each_web(asked: ComparisonConfig, web: Path) -> None:
    plan = plan_comparison(replace(asked, tasks_name="tasks-phrase.json"))
    assert [task.task.words for task in plan.tasks][:2] == [task.task.topic for task in plan.tasks][:2]
    with pytest.raises(UsageError, match=r"nix\.json: the tasks cannot be read"):
        plan_comparison(replace(asked, tasks_name="nix.json"))


def test_unknown_strategies_and_webs_without_tasks_are_rejected(web: Path, tmp_path: Path) -> None:
    with pytest.raises(StrategyError, match="did you mean"):
        resolve_strategies(["best_frist"])
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("pages.warc.gz", "labels.tsv"):
        (bare / name).write_bytes((web / name).read_bytes())
    with pytest.raises(UsageError, match=r"tasks\.json"):
        plan_comparison(ComparisonConfig([bare], ["best_first"], cache=tmp_path))


@LONG
def test_an_interrupted_command_loses_nothing(web: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "topicrawl", "lab", "compare", str(web), "--strategies", "best_first"]
    command += ["--budget", "60", "--jobs", "1", "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    file = tmp_path / "out" / "results.jsonl"
    while process.poll() is None and not (file.exists() and file.read_bytes().count(b"\n")):
        os.sched_yield()
    process.send_signal(2)
    _, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors
    written = file.read_bytes()
    assert written.endswith(b"\n")
    if process.returncode:
        assert process.returncode == 130
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert file.read_bytes().startswith(written)
    assert b"best_first" in again.stdout
