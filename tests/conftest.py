"""Configuration and fixtures of all tests."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from tests.helpers.markers import RUN_LONG_TESTS

# No deadline: the duration of an example depends on the load of the machine.
settings.register_profile(
    "laws", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100 if RUN_LONG_TESTS else 25
)
settings.load_profile("laws")

# Crawls wait for the disk at every commit. In memory, a small crawl takes half the time.
_MEMORY_DISK = Path("/dev/shm")
_MEMORY_DISK_BYTES = 4 << 30  # a complete run writes less than 1 GB
if _MEMORY_DISK.is_dir() and shutil.disk_usage(_MEMORY_DISK).free >= _MEMORY_DISK_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY_DISK))

# Tests start hundreds of processes, which start in half the time with compiled bytecode, and sooner without the threads
# of numpy.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["OPENBLAS_NUM_THREADS"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[Any]:
    """Do not search the tests for examples in docstrings: they have none."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip long tests unless they are requested."""
    if not RUN_LONG_TESTS:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes many seconds: make test-long"))


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a temporary cache directory for the test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, because they exist until the end. Saves 7 % of CPU time."""
    gc.collect()
    gc.freeze()
