"""Start of a session with a frontier file: restore the clock, and requeue links that a crash left leased."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf

from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.clock import MonotonicClock
from topicrawl.frontier.entry import SET_ASIDE
from topicrawl.frontier.sqlite.file import FrontierDatabase
from topicrawl.models import Refusal

_SET_ATTEMPTS = "UPDATE links SET attempts = leased.attempts FROM leased WHERE links.seq = leased.seq"
_SET_ASIDE = "UPDATE links SET state = 3, reason = ? WHERE seq IN (SELECT seq FROM leased WHERE attempts >= ?)"
_DROP_SPENT = """
    UPDATE links SET state = 3, reason = ?
    WHERE state = 0 AND host IN (
        SELECT number FROM hosts WHERE pages >= ? AND name NOT IN (SELECT value FROM json_each(?))
    )
"""
_DROP_SPENT_HOST = """
    UPDATE links SET state = 3, reason = ?
    WHERE state = 0 AND host = (SELECT number FROM hosts WHERE name = ? AND pages >= ?)
"""
_START_SESSION = """
    UPDATE crawl SET openings = openings + 1, closed = 0, crashed = ?, dropped = dropped + ?,
    offset = ?, outer = ?, counted = ?
"""


def restore_clock(database: FrontierDatabase, clock: Callable[[], float]) -> MonotonicClock:
    """Return the clock of the file, which continues even if the wall clock was set back between two sessions."""
    offset, outer = database.execute("SELECT offset, outer FROM crawl").fetchone()
    return MonotonicClock(clock, offset=offset, last_external=-inf if outer is None else outer)


def start_session(database: FrontierDatabase, rules: FrontierRules, clock: MonotonicClock) -> tuple[int, float]:
    """Start a session. Return its number, and the time of the first opening after the last crash (−∞ if none).

    If the last session was not closed, its leased links wait again with a counted attempt, or are dropped as
    `set_aside` if they have no attempts left, and no host waits longer than requested. Links of hosts whose page budget
    is used up are dropped.
    """
    now = clock.now()
    with database.durable_transaction():
        row = database.execute("SELECT openings, closed, crashed, counted FROM crawl").fetchone()
        openings, closed, crashed, counted = row
        dropped = 0
        if not closed:
            database.execute(_SET_ATTEMPTS)
            dropped += database.execute(_SET_ASIDE, (SET_ASIDE, rules.attempts)).rowcount
            database.execute("DELETE FROM leased")
            # The last reading of the clock is unknown. The minimum ensures that no host waits longer than requested.
            database.execute("UPDATE hosts SET last = min(last, ?), hold = min(hold, ? + wait)", (now, now))
            crashed = now
        if rules.limits_pages:
            if not counted:
                _recount_pages(database)
            dropped += _drop_spent_hosts(database, rules)
        database.execute(_START_SESSION, (crashed, dropped, clock.offset, clock.last_external, rules.limits_pages))
    return openings + 1, -inf if crashed is None else crashed


def _drop_spent_hosts(database: FrontierDatabase, rules: FrontierRules) -> int:
    """Drop the waiting links of hosts whose page budget is used up. Return their number."""
    reason, limits, dropped = Refusal.HOST_BUDGET.value, rules.host_page_limits, 0
    if rules.host_pages:
        dropped += database.execute(_DROP_SPENT, (reason, rules.host_pages, json.dumps(list(limits)))).rowcount
    for name, pages in limits.items():
        if pages:
            dropped += database.execute(_DROP_SPENT_HOST, (reason, name, pages)).rowcount
    return dropped


def _recount_pages(database: FrontierDatabase) -> None:
    """Write the number of completed pages per host, which is not counted on disk without a host budget."""
    database.execute("UPDATE hosts SET pages = 0")
    rows = database.execute(
        "SELECT count(*), host FROM links WHERE state = 2 AND attempts > 0 GROUP BY host"
    ).fetchall()
    database.executemany("UPDATE hosts SET pages = ? WHERE number = ?", rows)
