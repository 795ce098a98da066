"""Points in time as people write them on a command line."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import click

_AGO = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Moment(click.ParamType[float]):
    """A date, a date with a time (UTC unless it says otherwise), or how long ago: 12h, 7d, 2w."""

    name = "when"

    def convert(self, value: str | float, param: click.Parameter | None, context: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return moment(value, time.time())
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time: write 2026-11-01, 2026-11-01T18:00 or 7d (ago: s, m, h, d, w)", param)


def moment(text: str, now: float) -> float:
    """Seconds since 1970.

    >>> moment("1970-01-02", 0.0), moment("1970-01-01T00:01+01:00", 0.0), moment("2h", 10_000.0)
    (86400.0, -3540.0, 2800.0)
    """
    ago = _AGO.fullmatch(text.strip())
    if ago:
        found = now - float(ago[1]) * _SECONDS[ago[2]]
    else:
        date = datetime.fromisoformat(text.strip())
        found = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    # A time before all calendars could not be written down again.
    datetime.fromtimestamp(found, UTC)
    return found
