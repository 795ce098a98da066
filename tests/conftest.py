"""What holds for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests.longer import WANTED

# How long an example takes says how busy the machine is, not whether a law holds.
settings.register_profile(
    "laws", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100 if WANTED else 50
)
settings.load_profile("laws")

# Tests start hundreds of processes: compiled once, the package is there in half the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not WANTED:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes many seconds: make test-long"))


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests keep their caches to themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
