"""Tests that take many seconds each: `make test-long` runs them, and so do the checks before a change lands."""

from __future__ import annotations

import os

import pytest

WANTED = bool(os.environ.get("TOPICRAWL_LONG"))
LONG = pytest.mark.long  # left out unless wanted
LONGER = pytest.mark.longer  # never left out, and at greater length where it is wanted
