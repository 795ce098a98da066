"""The harvest of each strategy on the sample web does not fall below its recorded floor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.helpers.markers import LONG
from tests.helpers.scripts import load_script

from topicrawl import strategies


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_script("raise_floors")


@pytest.fixture(scope="module")
def benchmark(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    built = tool.FloorBenchmark.build(tmp_path_factory.mktemp("floors"))
    yield built
    built.web.close()


@LONG
@pytest.mark.parametrize("name", strategies.list_strategies())
def test_a_strategy_finds_no_less_than_its_floor(tool: ModuleType, benchmark: Any, name: str) -> None:
    floors = tool.read_floors()
    assert name in floors, f"{name} has no floor yet: run `python tools/raise_floors.py {name}`"
    assert benchmark.harvest(name) >= floors[name]


def test_every_floor_belongs_to_a_strategy(tool: ModuleType) -> None:
    assert set(tool.read_floors()) <= set(strategies.list_strategies())


def test_a_floor_is_never_lowered(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FixedHarvest:
        web = type("Web", (), {"close": lambda self: None})()

        @staticmethod
        def harvest(name: str) -> int:
            return 50

    monkeypatch.setattr(tool, "FLOORS", tmp_path / "floors.json")
    monkeypatch.setattr(tool.FloorBenchmark, "build", lambda folder: FixedHarvest())
    monkeypatch.setattr(sys, "argv", ["raise_floors.py", "best_first", "breadth_first"])
    (tmp_path / "floors.json").write_text('{"best_first": 90, "random": 7}')
    tool.main()
    assert tool.read_floors() == {"best_first": 90, "breadth_first": 45, "random": 7}
