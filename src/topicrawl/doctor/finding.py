"""Findings of the checks: one line with a state, a message and advice."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class FindingState(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    NOTE = "note"  # for information
    WARNING = "warning"  # works with restrictions, or may fail soon
    PROBLEM = "problem"  # does not work until it is fixed


class Finding(NamedTuple):
    """Result of one check."""

    area: str
    name: str
    state: FindingState
    says: str
    fix: str = ""
    repair: Callable[[], None] | None = None  # safe repair, called by `topicrawl doctor --repair`

    def mark_repaired(self) -> Finding:
        """Return the finding after a successful repair."""
        return self._replace(state=FindingState.OK, says=f"repaired; it was: {self.says}", fix="", repair=None)

    def to_dict(self) -> dict[str, str]:
        """Return the finding as a JSON object."""
        return {"area": self.area, "name": self.name, "state": self.state.value, "says": self.says, "fix": self.fix}


@dataclass(frozen=True)
class CheckArea:
    """Create the findings of one area: installation, machine or collection.

    >>> CheckArea("machine").problem("disk", "is full", "make space").to_dict()["state"]
    'problem'
    """

    name: str

    def ok(self, name: str, says: str) -> Finding:
        """Return a finding without a fault."""
        return Finding(self.name, name, FindingState.OK, says)

    def note(self, name: str, says: str, fix: str = "") -> Finding:
        """Return a finding for information."""
        return Finding(self.name, name, FindingState.NOTE, says, fix)

    def warning(self, name: str, says: str, fix: str) -> Finding:
        """Return a finding that restricts crawls."""
        return Finding(self.name, name, FindingState.WARNING, says, fix)

    def problem(self, name: str, says: str, fix: str) -> Finding:
        """Return a finding that must be fixed."""
        return Finding(self.name, name, FindingState.PROBLEM, says, fix)


@dataclass
class CheckLimits:
    """Sample size and time limit of the checks of a collection."""

    sample: int = 1000  # archived pages to read; 0: all
    seconds: float = 60.0  # 0: no limit
    progress: Callable[[str], None] = field(default=lambda text: None)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._deadline = self.clock() + self.seconds if self.seconds else float("inf")

    def is_exhausted(self) -> bool:
        """Return whether the time limit is reached."""
        return self.clock() > self._deadline

    @property
    def timeout_message(self) -> str:
        """Message for a check that the time limit has stopped."""
        return f"not finished within {self.seconds:g} s: raise the time limit with --seconds (0: no limit)"
