"""Log of a crawl: text lines, or one JSON object per line.

With `--log-format json`, standard error contains only JSON lines too, including the final error.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from topicrawl.database import translate_errors
from topicrawl.errors import TopicrawlError, mask_secrets

log = logging.getLogger("topicrawl")
# Optional fields of a JSON line; each event has some of them.
_EVENT_FIELDS = ("failure", "detail", "attempt", "pages", "relevant", "waiting", "failed", "speed", "reason", "code")


class TextLogFormatter(logging.Formatter):
    """Log formatter for text lines: local time, level, message. Secrets in URLs are masked."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format a record without secrets."""
        return mask_secrets(super().format(record))


class JsonLogFormatter(logging.Formatter):
    """Log formatter for JSON lines: time, level, event, url, worker, message, and the optional fields of the event."""

    worker = ""  # set when the process has joined a shared crawl

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one JSON object without secrets."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "note"),
            "url": getattr(record, "url", None),
            "worker": self.worker,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in _EVENT_FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return mask_secrets(json.dumps(line, ensure_ascii=False, default=str))


class LoggingSession:
    """Context manager that selects the log format of a command.

    With the style "json", it also logs to standard error, and turns exceptions into a log line and an exit code.
    """

    def __init__(self, style: str) -> None:
        self.formatter: TextLogFormatter | JsonLogFormatter = (
            JsonLogFormatter() if style == "json" else TextLogFormatter()
        )
        self._stream_handler = logging.StreamHandler() if style == "json" else None

    @property
    def is_json(self) -> bool:
        """Whether the log format is JSON."""
        return self._stream_handler is not None

    def set_worker(self, worker: str) -> None:
        """Set the worker name that all further JSON lines contain."""
        if isinstance(self.formatter, JsonLogFormatter):
            self.formatter.worker = worker

    def __enter__(self) -> LoggingSession:
        if self._stream_handler is not None:
            self._stream_handler.setFormatter(self.formatter)
            _add_log_handler(self._stream_handler)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._stream_handler is None:
            return
        try:
            if isinstance(error, TopicrawlError):
                log.error("%s", error, extra={"event": "error", "code": error.exit_code})
                sys.exit(error.exit_code)
            # `main` handles the exceptions that end a command normally.
            if isinstance(error, Exception) and not isinstance(error, click.ClickException | _EXPECTED_EXITS):
                log.critical("%s", error, exc_info=error, extra={"event": "defect", "code": 1})
                sys.exit(1)
        finally:
            log.removeHandler(self._stream_handler)


_EXPECTED_EXITS = click.exceptions.Exit | click.exceptions.Abort | BrokenPipeError


@contextmanager
def log_to_file(path: Path, formatter: logging.Formatter) -> Iterator[None]:
    """Append log records to a file while the block runs."""
    with translate_errors(path):
        file = logging.FileHandler(path, encoding="utf-8", errors="replace")
    file.setFormatter(formatter)
    _add_log_handler(file)
    try:
        yield
    finally:
        log.removeHandler(file)
        file.close()


def _add_log_handler(handler: logging.Handler) -> None:
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
