"""The public surface is a list, and the list is kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

import topicrawl


def test_every_public_name_is_there() -> None:
    assert all(getattr(topicrawl, name) is not None for name in topicrawl.__all__)
    assert sorted(topicrawl.__all__) == sorted([*topicrawl._HOMES, "__version__"])


def test_there_are_at_most_twenty() -> None:
    assert len(topicrawl.__all__) <= 20


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Crawler"):
        _ = topicrawl.Crawler


def test_the_command_starts_without_the_heavy_parts() -> None:
    heavy = ("aiohttp", "numpy", "selectolax", "rich", "fastwarc", "asyncio")
    code = "import sys, topicrawl.cli; print([name for name in sys.argv[1:] if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
