"""From single visits to sessions: a visit goes on from the page it was reached from, unless that was long ago."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GAP = 30 * 60.0  # seconds without a click after which a session is over


@dataclass(frozen=True, slots=True)
class Step:
    """One visit."""

    key: int
    parent: int | None  # the key of the visit that it was reached from
    at: float  # seconds
    url: str  # canonical
    redirected: bool = False  # its parent only led here


def chained(steps: Iterable[Step], gap: float = GAP) -> list[tuple[str, ...]]:
    """The sessions of visits. Where somebody went back, or to another tab, the page they went on from comes again.

    >>> visits = [Step(1, None, 0, "a"), Step(2, 1, 10, "b"), Step(3, 1, 20, "c"), Step(4, 3, 9999, "d")]
    >>> chained(visits)
    [('a', 'b', 'a', 'c'), ('d',)]
    """
    found: list[list[tuple[int, str]]] = []
    home: dict[int, int] = {}  # visit → its session
    urls: dict[int, str] = {}
    last: list[float] = []  # of each session, when something happened in it
    for step in sorted(steps, key=lambda step: (step.at, step.key)):
        number = home.get(step.parent, -1) if step.parent is not None else -1
        if number < 0 or step.at - last[number] > gap:
            number = len(found)
            found.append([])
            last.append(step.at)
        session = found[number]
        if session and session[-1][0] != step.parent and step.parent is not None:
            _append(session, step.parent, urls[step.parent])
        if session and step.redirected:
            session.pop()
        _append(session, step.key, step.url)
        home[step.key], urls[step.key], last[number] = number, step.url, step.at
    return [tuple(url for _, url in session) for session in found]


def _append(session: list[tuple[int, str]], key: int, url: str) -> None:
    """One page more, unless it was only loaded again."""
    if session and session[-1][1] == url:
        session.pop()
    session.append((key, url))
