"""Group visits into sessions: a visit continues the session of its referring visit, unless a timeout has passed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SESSION_TIMEOUT = 30 * 60.0  # seconds without a click after which a session ends


@dataclass(frozen=True, slots=True)
class SessionVisit:
    """Visit of one page."""

    key: int
    parent: int | None  # key of the referring visit
    timestamp: float  # seconds
    url: str  # canonical
    is_redirect: bool = False  # the parent is a redirect to this page


def build_sessions(steps: Iterable[SessionVisit], timeout: float = SESSION_TIMEOUT) -> list[tuple[str, ...]]:
    """Group visits into sessions. If the user went back or to another tab, the referring page is repeated.

    >>> visits = [
    ...     SessionVisit(1, None, 0, "a"),
    ...     SessionVisit(2, 1, 10, "b"),
    ...     SessionVisit(3, 1, 20, "c"),
    ...     SessionVisit(4, 3, 9999, "d"),
    ... ]
    >>> build_sessions(visits)
    [('a', 'b', 'a', 'c'), ('d',)]
    """
    sessions: list[list[tuple[int, str]]] = []
    session_numbers: dict[int, int] = {}  # key of a visit → number of its session
    urls: dict[int, str] = {}
    last: list[float] = []  # time of the last visit of each session
    for step in sorted(steps, key=lambda step: (step.timestamp, step.key)):
        number = session_numbers.get(step.parent, -1) if step.parent is not None else -1
        if number < 0 or step.timestamp - last[number] > timeout:
            number = len(sessions)
            sessions.append([])
            last.append(step.timestamp)
        session = sessions[number]
        if session and session[-1][0] != step.parent and step.parent is not None:
            _append_page(session, step.parent, urls[step.parent])
        if session and step.is_redirect:
            session.pop()
        _append_page(session, step.key, step.url)
        session_numbers[step.key], urls[step.key], last[number] = number, step.url, step.timestamp
    return [tuple(url for _, url in session) for session in sessions]


def _append_page(session: list[tuple[int, str]], key: int, url: str) -> None:
    """Append a page; a reload replaces the last visit of the page."""
    if session and session[-1][1] == url:
        session.pop()
    session.append((key, url))
