"""The public surface is a list, and the list is kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

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
    assert loaded("import topicrawl.cli", heavy) == "[]"


def test_no_command_needs_the_heavy_parts_for_its_help() -> None:
    every = "from importlib import import_module as load; from topicrawl import cli"
    asked = f'{every}; [load(f"topicrawl.cli.{{name}}_command") for name in cli.COMMANDS]'
    assert loaded(asked, ("aiohttp", "numpy", "rich", "starlette", "redis")) == "[]"


def loaded(code: str, names: Sequence[str]) -> str:
    """Which of the modules a piece of code loads."""
    asked = f"{code}; import sys; print([name for name in sys.argv[1:] if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", asked, *names], capture_output=True, text=True, check=True)
    return out.stdout.strip()
