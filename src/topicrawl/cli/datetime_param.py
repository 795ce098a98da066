"""Click parameter type for a date, a date with a time, or an age such as 7d."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import click

_RELATIVE_TIME = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*([smhdw])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class DateTimeParam(click.ParamType[float]):
    """Date, date and time (UTC if it has no offset), or age: 12h, 7d, 2w. Converts to seconds since 1970."""

    name = "when"

    def convert(self, value: str | float, param: click.Parameter | None, context: click.Context | None) -> float:
        """Return the time as seconds since 1970, or fail with a usage error."""
        if isinstance(value, float):
            return value
        try:
            return parse_datetime(value, time.time())
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is not a valid time: write 2026-11-01, 2026-11-01T18:00 or an age: 7d (s, m, h, d, w)",
                param,
            )


def parse_datetime(text: str, now: float) -> float:
    """Parse a date, a date with a time, or an age relative to `now`; return seconds since 1970.

    >>> parse_datetime("1970-01-02", 0.0), parse_datetime("1970-01-01T00:01+01:00", 0.0), parse_datetime("2h", 10_000.0)
    (86400.0, -3540.0, 2800.0)
    """
    ago = _RELATIVE_TIME.fullmatch(text.strip())
    if ago:
        timestamp = now - float(ago[1]) * _UNIT_SECONDS[ago[2]]
    else:
        date = datetime.fromisoformat(text.strip())
        timestamp = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    # Raises an error if the time is out of the range of `datetime`, because it could not be printed.
    datetime.fromtimestamp(timestamp, UTC)
    return timestamp
