"""Markers for tests that take many seconds each. `make test-long` and the checks before a merge run them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

import pytest
from _pytest.mark.structures import ParameterSet

RUN_LONG_TESTS = bool(os.environ.get("TOPICRAWL_LONG"))
LONG = pytest.mark.long  # skipped unless TOPICRAWL_LONG is set
LONGER = pytest.mark.longer  # always run, with more examples if TOPICRAWL_LONG is set


def mark_long(values: Iterable[object], *, except_for: Collection[object]) -> list[ParameterSet]:
    """Return parameters of a test: those in `except_for` run always, the others only in `make test-long`."""
    return [pytest.param(value, marks=() if value in except_for else LONG) for value in values]
