"""Fixture that runs the command line in the test process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from topicrawl.cli import main


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs `topicrawl` with arguments, in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["topicrawl", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else 1
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command
