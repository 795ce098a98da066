"""The beginning of a session with a frontier's file: its time goes on, and what a crash left out waits again."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from topicrawl.frontier.clock import Steady
from topicrawl.frontier.contract import Rules
from topicrawl.frontier.known import SET_ASIDE
from topicrawl.frontier.sqlite_file import File
from topicrawl.records import Refusal

_SET_ATTEMPTS = "UPDATE links SET attempts = leased.attempts FROM leased WHERE links.seq = leased.seq"
_SET_ASIDE = "UPDATE links SET state = 3, reason = ? WHERE seq IN (SELECT seq FROM leased WHERE attempts >= ?)"
_DROP_SPENT = """
    UPDATE links SET state = 3, reason = ?
    WHERE state = 0 AND host IN (SELECT number FROM hosts WHERE pages >= ?)
"""
_START = """
    UPDATE crawl SET openings = openings + 1, closed = 0, crashed = ?, dropped = dropped + ?,
    offset = ?, outer = ?, counted = ?
"""


def resumed(file: File, clock: Callable[[], float]) -> Steady:
    """The file's time goes on, also if the clock was set back meanwhile."""
    offset, outer = file.execute("SELECT offset, outer FROM crawl").fetchone()
    return Steady(clock, offset=offset, outer=-inf if outer is None else outer)


def started(file: File, rules: Rules, clock: Steady) -> tuple[int, float]:
    """Begin a session; after a crash, what was out waits again. Returns its number and the last crash."""
    now = clock.now()
    with file.durable():
        row = file.execute("SELECT openings, closed, crashed, counted FROM crawl").fetchone()
        openings, closed, crashed, counted = row
        dropped = 0
        if not closed:
            file.execute(_SET_ATTEMPTS)
            dropped += file.execute(_SET_ASIDE, (SET_ASIDE, rules.attempts)).rowcount
            file.execute("DELETE FROM leased")
            # What the clock showed at the end is not known; no host waits longer than it was told for that.
            file.execute("UPDATE hosts SET last = min(last, ?), hold = min(hold, ? + wait)", (now, now))
            crashed = now
        if rules.host_pages:
            if not counted:
                _recount(file)
            dropped += file.execute(_DROP_SPENT, (Refusal.HOST_BUDGET.value, rules.host_pages)).rowcount
        file.execute(_START, (crashed, dropped, clock.offset, clock.outer, bool(rules.host_pages)))
    return openings + 1, -inf if crashed is None else crashed


def _recount(file: File) -> None:
    """Without a budget the pages of a host are not counted on disk; now they are needed."""
    file.execute("UPDATE hosts SET pages = 0")
    rows = file.execute("SELECT count(*), host FROM links WHERE state = 2 AND attempts > 0 GROUP BY host").fetchall()
    file.executemany("UPDATE hosts SET pages = ? WHERE number = ?", rows)
