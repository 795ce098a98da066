"""What was looked at, how it is, and what to do about it; one line each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """How something is."""

    OK = "ok"
    NOTE = "note"  # good to know; nothing is wrong
    WARNING = "warning"  # it works, but not as it should, or not for long
    PROBLEM = "problem"  # it does not work until it is fixed


class Finding(NamedTuple):
    """One line of the report."""

    area: str
    name: str
    state: State
    says: str
    fix: str = ""
    repair: Callable[[], None] | None = None  # what may safely be done about it without asking anybody

    def repaired(self) -> Finding:
        """The same after the repair."""
        return self._replace(state=State.OK, says=f"repaired; it was: {self.says}", fix="", repair=None)

    def table(self) -> dict[str, str]:
        """For programs."""
        return {"area": self.area, "name": self.name, "state": self.state.value, "says": self.says, "fix": self.fix}


@dataclass(frozen=True)
class Area:
    """Makes the findings of one part of the examination.

    >>> Area("machine").problem("disk", "is full", "make space").table()["state"]
    'problem'
    """

    name: str

    def ok(self, name: str, says: str) -> Finding:
        return Finding(self.name, name, State.OK, says)

    def note(self, name: str, says: str, fix: str = "") -> Finding:
        return Finding(self.name, name, State.NOTE, says, fix)

    def warning(self, name: str, says: str, fix: str) -> Finding:
        return Finding(self.name, name, State.WARNING, says, fix)

    def problem(self, name: str, says: str, fix: str) -> Finding:
        return Finding(self.name, name, State.PROBLEM, says, fix)


@dataclass
class Limits:
    """How much of a collection is looked at, and for how long."""

    sample: int = 1000  # pages that are read back; 0: all
    seconds: float = 60.0  # 0: as long as it takes
    progress: Callable[[str], None] = field(default=lambda text: None)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds if self.seconds else float("inf")

    def over(self) -> bool:
        return self.clock() > self._end

    @property
    def longer(self) -> str:
        """What to do when the time was too short."""
        return f"not finished within {self.seconds:g} s: give it longer with --seconds (0: no limit)"
