"""The public API: its names, and the modules that importing it loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

import topicrawl


def test_every_public_name_is_there() -> None:
    assert all(getattr(topicrawl, name) is not None for name in topicrawl.__all__)
    assert sorted(topicrawl.__all__) == sorted([*topicrawl._MODULES_BY_NAME, "__version__"])


def test_there_are_at_most_twenty() -> None:
    assert len(topicrawl.__all__) <= 20


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Crawler"):
        _ = topicrawl.Crawler


def test_the_command_starts_without_the_heavy_parts() -> None:
    heavy = ("aiohttp", "numpy", "selectolax", "rich", "fastwarc", "asyncio")
    assert list_loaded_modules("import topicrawl.cli", heavy) == "[]"


def test_no_command_needs_the_heavy_parts_for_its_help() -> None:
    imports = "from importlib import import_module; from topicrawl import cli; from topicrawl.cli import cluster, lab"
    load_all = "[import_module(module) for group in (cli, cluster, lab) for module, _ in group.COMMANDS.values()]"
    assert list_loaded_modules(f"{imports}; {load_all}", ("aiohttp", "numpy", "rich", "starlette", "redis")) == "[]"


def list_loaded_modules(code: str, names: Sequence[str]) -> str:
    """Return which of the modules the code imports, as a printed list."""
    program = f"{code}; import sys; print([name for name in sys.argv[1:] if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True)
    return out.stdout.strip()
