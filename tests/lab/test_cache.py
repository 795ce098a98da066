"""The cache never changes results, even if it is damaged, full or unwritable."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from topicrawl.lab import cache as module
from topicrawl.lab.cache import LabCache, default_cache_dir


def fill_cache(folder: Path, name: str = "web", key: str = "one") -> Path:
    """Create a cache with one entry and return the path of its file."""
    cache = LabCache(folder, name, key)
    cache.put("page", "http://a/", (1, "two"))
    cache.close()
    return folder / f"{name}-{key}.sqlite"


def test_stored_values_are_found_before_and_after_closing(tmp_path: Path) -> None:
    cache = LabCache(tmp_path, "web", "one")
    cache.put("page", "http://a/", (1, "two"))
    assert cache.get("page", "http://a/") == (1, "two")
    cache.close()
    again = LabCache(tmp_path, "web", "one")
    assert again.get("page", "http://a/") == (1, "two")
    assert again.get("page", "http://b/") is None
    assert again.get("text", "http://a/") is None


def test_another_key_starts_empty_and_removes_the_old_file(tmp_path: Path) -> None:
    old = fill_cache(tmp_path)
    assert LabCache(tmp_path, "web", "two").get("page", "http://a/") is None
    assert not old.exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "middle"])
def test_a_damaged_file_is_replaced_silently(tmp_path: Path, damage: str) -> None:
    path = fill_cache(tmp_path)
    data = path.read_bytes()
    damaged = {"cut": data[: len(data) // 2], "empty": b"", "text": b"no database " * 99}
    path.write_bytes(damaged.get(damage, data[:1000] + b"\xff" * (len(data) - 1000)))
    cache = LabCache(tmp_path, "web", "one")
    assert cache.get("page", "http://a/") is None
    cache.put("page", "http://a/", 5)
    cache.close()
    rebuilt = LabCache(tmp_path, "web", "one")
    assert rebuilt.get("page", "http://a/") in (5, None)
    rebuilt.put("page", "http://a/", 5)
    rebuilt.close()
    assert LabCache(tmp_path, "web", "one").get("page", "http://a/") == 5


def test_a_damaged_entry_is_treated_as_missing(tmp_path: Path) -> None:
    path = fill_cache(tmp_path)
    database = sqlite3.connect(path)
    database.execute("UPDATE entries SET data = x'00'")
    database.commit()
    database.close()
    assert LabCache(tmp_path, "web", "one").get("page", "http://a/") is None


def test_an_unwritable_path_disables_the_cache_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = LabCache(tmp_path / "file", "web", "one")
    cache.put("page", "http://a/", 1)
    cache.close()
    assert not cache.is_open
    assert "no cache" in cache.note


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_disables_the_cache(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    cache = LabCache(tmp_path, "web", "one")
    assert not cache.is_open
    assert "no cache" in cache.note


def test_a_full_cache_is_disabled_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 8192 * 4)
    cache = LabCache(tmp_path, "web", "one")
    for number in range(300):
        cache.put("page", str(number), os.urandom(2000))
    assert not cache.is_open
    assert "full" in cache.note
    assert (tmp_path / "web-one.sqlite").exists()


def test_the_least_recently_used_caches_are_removed_above_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = fill_cache(tmp_path, "first"), fill_cache(tmp_path, "second")
    os.utime(second, (1, 1))
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", first.stat().st_size * 2)
    third = fill_cache(tmp_path, "third")
    assert [path.exists() for path in (first, second, third)] == [True, False, True]


def test_two_processes_may_write_concurrently(tmp_path: Path) -> None:
    one, two = LabCache(tmp_path, "web", "one"), LabCache(tmp_path, "web", "one")
    one.put("page", "a", 1)
    two.put("page", "b", 2)
    one.flush()
    two.flush()
    assert (one.get("page", "b"), two.get("page", "a")) == (2, 1)


def test_the_default_directory_follows_the_xdg_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache_dir() == Path("/somewhere/topicrawl")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert default_cache_dir() == Path.home() / ".cache" / "topicrawl"
