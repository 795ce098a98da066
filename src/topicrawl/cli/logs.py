"""What a crawl writes down as it goes: lines for people, or one JSON object a line for programs.

With `--log-format json` all that the command says on standard error is such an object too, also its last words.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from topicrawl.database import errors_of
from topicrawl.errors import TopicrawlError

log = logging.getLogger("topicrawl")
# Beyond what every line has, events may have these.
_FIELDS = ("failure", "detail", "attempt", "pages", "relevant", "waiting", "failed", "speed", "reason", "code")
_USER = re.compile(r"""(//[^/\s:@"']*):[^/\s@"']+@""")
# Sites hand such things out in links; whoever has the address has what it opens.
_KEY = re.compile(r"""([?&](?:[\w-]*[_-])?(?:token|api_?key|password|passwd|secret|signature)=)[^&#\s"']+""", re.I)


def masked(line: str) -> str:
    """A line without the passwords and tokens of the addresses in it.

    >>> masked("no answer from http://me:secret@proxy.example:3128/ and redis://:x@r/0")
    'no answer from http://me:***@proxy.example:3128/ and redis://:***@r/0'
    >>> masked("failed http://a.example/?page=2&access_token=f81d4fae#top: not_found")
    'failed http://a.example/?page=2&access_token=***#top: not_found'
    """
    return _KEY.sub(r"\1***", _USER.sub(r"\1:***@", line))


class Text(logging.Formatter):
    """Lines for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


class Json(logging.Formatter):
    """One JSON object a line: time, level, event, url, worker, message, and what else belongs to the event."""

    worker = ""  # known when a crawl was joined

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "note"),
            "url": getattr(record, "url", None),
            "worker": self.worker,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return masked(json.dumps(line, ensure_ascii=False, default=str))


class Spoken:
    """How everything is said for as long as the block lasts; with "json" on standard error too, errors included."""

    def __init__(self, style: str) -> None:
        self.formatter: Text | Json = Json() if style == "json" else Text()
        self._stream = logging.StreamHandler() if style == "json" else None

    @property
    def is_json(self) -> bool:
        return self._stream is not None

    def call(self, worker: str) -> None:
        """From now on every line says who writes it."""
        if isinstance(self.formatter, Json):
            self.formatter.worker = worker

    def __enter__(self) -> Spoken:
        if self._stream is not None:
            self._stream.setFormatter(self.formatter)
            _listen(self._stream)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._stream is None:
            return
        try:
            if isinstance(error, TopicrawlError):
                log.error("%s", error, extra={"event": "error", "code": error.exit_code})
                sys.exit(error.exit_code)
            # What ends a command as it should is for `main` to deal with.
            if isinstance(error, Exception) and not isinstance(error, click.ClickException | _LEAVING):
                log.critical("%s", error, exc_info=error, extra={"event": "defect", "code": 1})
                sys.exit(1)
        finally:
            log.removeHandler(self._stream)


_LEAVING = click.exceptions.Exit | click.exceptions.Abort | BrokenPipeError


@contextmanager
def written(path: Path, formatter: logging.Formatter) -> Iterator[None]:
    """The crawl's log file, for as long as the crawl runs."""
    with errors_of(path):
        file = logging.FileHandler(path, encoding="utf-8", errors="replace")
    file.setFormatter(formatter)
    _listen(file)
    try:
        yield
    finally:
        log.removeHandler(file)
        file.close()


def _listen(handler: logging.Handler) -> None:
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
