"""Markers for tests that take many seconds each. `make test-long` and the checks before a merge run them."""

from __future__ import annotations

import os

import pytest

RUN_LONG_TESTS = bool(os.environ.get("TOPICRAWL_LONG"))
LONG = pytest.mark.long  # skipped unless TOPICRAWL_LONG is set
LONGER = pytest.mark.longer  # always run, with more examples if TOPICRAWL_LONG is set
