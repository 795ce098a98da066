"""No strategy finds less on the built-in web than it did before: floors only rise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.longer import LONG
from tests.tooling import loaded

from topicrawl import strategies


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return loaded("raise_floors")


@pytest.fixture(scope="module")
def field(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = tool.Field.made(tmp_path_factory.mktemp("floors"))
    yield made
    made.web.close()


@LONG
@pytest.mark.parametrize("name", strategies.available())
def test_a_strategy_finds_no_less_than_its_floor(tool: ModuleType, field: Any, name: str) -> None:
    floors = tool.floors()
    assert name in floors, f"{name} has no floor yet: `python tools/raise_floors.py {name}` measures it"
    assert field.harvest(name) >= floors[name]


def test_every_floor_is_that_of_a_strategy(tool: ModuleType) -> None:
    assert set(tool.floors()) <= set(strategies.available())


def test_a_floor_never_sinks(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        web = type("Web", (), {"close": lambda self: None})()

        @staticmethod
        def harvest(name: str) -> int:
            return 50

    monkeypatch.setattr(tool, "FLOORS", tmp_path / "floors.json")
    monkeypatch.setattr(tool.Field, "made", lambda folder: Half())
    monkeypatch.setattr(sys, "argv", ["raise_floors.py", "best_first", "breadth_first"])
    (tmp_path / "floors.json").write_text('{"best_first": 90, "random": 7}')
    tool.main()
    assert tool.floors() == {"best_first": 90, "breadth_first": 45, "random": 7}
