"""A cache saves time and nothing else: whatever happens to it, what is computed stays right."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from topicrawl.lab import cache as module
from topicrawl.lab.cache import Cache, usual_folder


def filled(folder: Path, name: str = "web", key: str = "one") -> Path:
    cache = Cache(folder, name, key)
    cache.keep("page", "http://a/", (1, "two"))
    cache.close()
    return folder / f"{name}-{key}.sqlite"


def test_what_was_kept_is_found_by_the_next_process_and_by_this_one(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "web", "one")
    cache.keep("page", "http://a/", (1, "two"))
    assert cache.value("page", "http://a/") == (1, "two")
    cache.close()
    again = Cache(tmp_path, "web", "one")
    assert again.value("page", "http://a/") == (1, "two")
    assert again.value("page", "http://b/") is None
    assert again.value("text", "http://a/") is None


def test_under_another_key_nothing_is_found_and_the_old_file_goes(tmp_path: Path) -> None:
    old = filled(tmp_path)
    assert Cache(tmp_path, "web", "two").value("page", "http://a/") is None
    assert not old.exists()


@pytest.mark.parametrize("harm", ["cut", "empty", "text", "middle"])
def test_a_torn_file_is_made_again_without_a_word(tmp_path: Path, harm: str) -> None:
    path = filled(tmp_path)
    data = path.read_bytes()
    torn = {"cut": data[: len(data) // 2], "empty": b"", "text": b"no database " * 99}
    path.write_bytes(torn.get(harm, data[:1000] + b"\xff" * (len(data) - 1000)))
    cache = Cache(tmp_path, "web", "one")
    assert cache.value("page", "http://a/") is None
    cache.keep("page", "http://a/", 5)
    cache.close()
    healed = Cache(tmp_path, "web", "one")
    assert healed.value("page", "http://a/") in (5, None)
    healed.keep("page", "http://a/", 5)
    healed.close()
    assert Cache(tmp_path, "web", "one").value("page", "http://a/") == 5


def test_an_entry_that_does_not_read_back_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    path = filled(tmp_path)
    database = sqlite3.connect(path)
    database.execute("UPDATE entries SET data = x'00'")
    database.commit()
    database.close()
    assert Cache(tmp_path, "web", "one").value("page", "http://a/") is None


def test_where_nothing_can_be_written_there_is_no_cache_and_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file", "web", "one")
    cache.keep("page", "http://a/", 1)
    cache.close()
    assert not cache.open
    assert "no cache" in cache.note


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_in_a_directory_that_is_read_only_there_is_no_cache(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    cache = Cache(tmp_path, "web", "one")
    assert not cache.open
    assert "no cache" in cache.note


def test_a_cache_that_is_full_is_given_up_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 8192 * 4)
    cache = Cache(tmp_path, "web", "one")
    for number in range(300):
        cache.keep("page", str(number), os.urandom(2000))
    assert not cache.open
    assert "full" in cache.note
    assert (tmp_path / "web-one.sqlite").exists()


def test_the_least_used_caches_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = filled(tmp_path, "first"), filled(tmp_path, "second")
    os.utime(second, (1, 1))
    monkeypatch.setattr(module, "MOST_TOGETHER", first.stat().st_size * 2)
    third = filled(tmp_path, "third")
    assert [path.exists() for path in (first, second, third)] == [True, False, True]


def test_two_processes_may_write_at_a_time(tmp_path: Path) -> None:
    one, two = Cache(tmp_path, "web", "one"), Cache(tmp_path, "web", "one")
    one.keep("page", "a", 1)
    two.keep("page", "b", 2)
    one.flush()
    two.flush()
    assert (one.value("page", "b"), two.value("page", "a")) == (2, 1)


def test_the_folder_is_where_the_system_keeps_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert usual_folder() == Path("/somewhere/topicrawl")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert usual_folder() == Path.home() / ".cache" / "topicrawl"
