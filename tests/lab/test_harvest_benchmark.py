"""`bench/harvest.py`: tables by web and kind of tasks, tuning topics, leads with intervals, stored results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.helpers.markers import LONG
from tests.helpers.sample_web import write_small_web
from tests.helpers.scripts import load_script

from topicrawl import strategies
from topicrawl.lab.compare import resolve_strategies
from topicrawl.lab.run import ORACLE


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_script("harvest", "bench")


def build_rows(steps: dict[str, float], topics: tuple[str, ...], web: str = "zoo") -> list[dict[str, Any]]:
    """Return one run per topic. `steps` has the fetch at which a strategy finds all targets, plus the topic number."""
    every = {ORACLE: 10.0, "breadth_first": 90.0, **steps}
    return [
        {
            "web": web,
            "task": f"{web} {number}: {topic}",
            "topic": topic,
            "strategy": name,
            "budget": 100,
            "targets": 4,
            "found": [int(first) + (number if name not in (ORACLE, "breadth_first") else 0)] * 4,
            "fetches": 100,
            "cpu": 1.5,
            "training": 0.25,
            "memory": 80.0,
        }
        for name, first in every.items()
        for number, topic in enumerate(topics)
    ]


TOPICS = ("owls", "Ants", "bees", "cats", "dogs")


def test_tuning_topics_are_every_other_topic_in_alphabetical_order(bench: ModuleType) -> None:
    table = bench.HarvestTable("words", build_rows({"apprentice": 20}, TOPICS))
    assert {topic for _, topic in table.tuning_topics} == {"Ants", "cats", "owls"}
    # The AUC of a run is (101 - first find) / 100. Ants, cats and owls have the numbers 1, 3 and 0.
    mean = (81 + 80 + 78) / 300
    assert table.compute_nauc("apprentice", is_tuning=True) == pytest.approx((mean - 0.11) / 0.8)
    others = (79 + 77) / 200
    assert table.compute_nauc("apprentice", is_tuning=False) == pytest.approx((others - 0.11) / 0.8)


def test_the_report_has_all_tables_for_each_web_and_kind(bench: ModuleType) -> None:
    steps = {"apprentice": 20.0, "best_first": 40.0, **dict.fromkeys(bench.NEIGHBOURS, 24.0)}
    rows = [*build_rows(steps, TOPICS), *build_rows(steps, TOPICS, "farm")]
    report = bench.HarvestReport([bench.HarvestTable(kind, rows) for kind in ("words", "phrase")], "make it", 100)
    text = report.render()
    columns = "zoo, words | zoo, phrase | farm, words | farm, phrase | all, words | all, phrase"
    assert f"| strategy | {columns} | CPU s | training s | MB |" in text
    assert f"| `apprentice` | {' | '.join(['.85'] * 6)} | 1.5 | 0.2 | 80 |" in text
    assert "`make it`" in text
    assert "words: 5 tasks of zoo, 5 tasks of farm; phrase: 5 tasks of zoo" in text
    assert "| `best_first` | .25 | .25 … .25 | yes | .25 | .25 … .25 | yes |" in text
    assert "With the phrase tasks, `apprentice` is ahead of every other strategy" in text
    assert f"| `{bench.NEIGHBOURS[0]}` | .80 |" in text
    assert "| lowest | .80 |" in text
    assert "| highest | .85 |" in text
    assert not any(f"ahead of `{name}`" in text for name in bench.NEIGHBOURS)


def test_a_strategy_that_is_better_or_not_significantly_worse_is_named(bench: ModuleType) -> None:
    rows = build_rows({"apprentice": 40, "best_first": 20}, TOPICS)
    text = bench.HarvestReport([bench.HarvestTable("words", rows)], "make it", 100).render_leads()
    assert "`apprentice` is not significantly ahead of `best_first`." in text
    assert "| `best_first` | −.25 | −.25 … −.25 | yes |" in text
    few = bench.HarvestReport([bench.HarvestTable("words", build_rows({"apprentice": 20}, TOPICS[:2]))], "x", 100)
    assert "Intervals need at least 5 topics" in few.render_leads()


def test_the_neighbouring_settings_are_valid_strategies(bench: ModuleType) -> None:
    assert len(bench.NEIGHBOURS) == 5
    assert [entry.spec for entry in resolve_strategies(bench.NEIGHBOURS)][1:] == list(bench.NEIGHBOURS)
    assert set(bench.QUICK) <= set(strategies.list_strategies())


@LONG
def test_the_benchmark_runs_and_reuses_its_results(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    web = tmp_path / "webs" / "sample"
    write_small_web(web)
    for name in ("tasks.json", "tasks-phrase.json"):
        (web / name).write_text(json.dumps(json.loads((web / name).read_text("utf-8"))[:1]), "utf-8")
    monkeypatch.setattr(bench, "WEBS", tmp_path / "webs")
    options = ["--quick", "--budget", "20", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["harvest.py", *options])
    bench.main()
    first = capsys.readouterr()
    assert first.err.startswith("This takes less than an hour on 2 cores the first time: 10 runs on sample.")
    assert "10 runs have no stored result" in first.err
    assert (tmp_path / "out" / "harvest.md").read_text("utf-8") == first.out
    assert "| strategy | sample, words | sample, phrase | CPU s" in first.out
    bench.main()
    again = capsys.readouterr()
    assert "\n0 runs have no stored result\n" in again.err
    assert again.out == first.out


def test_a_missing_web_is_reported_in_one_line(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "WEBS", tmp_path)
    with pytest.raises(SystemExit):
        bench.parse_options([])
    assert "set TOPICRAWL_WEBS" in capsys.readouterr().err


def test_a_long_benchmark_says_so(bench: ModuleType, tmp_path: Path) -> None:
    task = {"topic": "owls", "words": "owl", "labels": ["Owls"], "seeds": ["http://a.example/"]}
    for name in ("tasks.json", "tasks-phrase.json"):
        (tmp_path / name).write_text(json.dumps([task] * 100), "utf-8")
    options = bench.HarvestOptions(False, "both", [tmp_path], 1000, 2, tmp_path, False)
    runs = 200 * (len(strategies.list_strategies()) + len(bench.NEIGHBOURS) + 1)
    hours = runs * bench.SECONDS_PER_RUN / 2 / 3600
    assert options.describe_duration().startswith(f"This takes about {hours:.1f} hours on 2 cores")
    assert f"{runs:,} runs" in options.describe_duration()
