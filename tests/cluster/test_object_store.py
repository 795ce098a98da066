"""Object store: worker directories can be downloaded again, and unchanged files are uploaded once."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path

import pytest

from topicrawl.cluster.object_store import ObjectStore, resolve_directories


def create_worker_directory(directory: Path) -> Path:
    """Create the files of a worker directory that are uploaded."""
    (directory / "warc").mkdir(parents=True)
    (directory / "warc" / "00001.warc.gz").write_bytes(b"first")
    (directory / "topic.toml").write_text("name = 'owls'")
    with sqlite3.connect(directory / "topicrawl.sqlite") as rows:
        rows.execute("CREATE TABLE visits (url)")
        rows.execute("INSERT INTO visits VALUES ('http://a.example/')")
    rows.close()
    return directory


def test_directories_are_restored_and_unchanged_files_are_uploaded_once(tmp_path: Path) -> None:
    one, store = create_worker_directory(tmp_path / "one"), ObjectStore("memory://depot/owls")
    assert store.upload(one, "w1") == 3
    assert store.upload(one, "w1") == 1, "only the database, whose size does not show changes"
    (one / "warc" / "00001.warc.gz").write_bytes(b"first and second")
    (one / "warc" / "00002.warc.gz").write_bytes(b"third")
    assert store.upload(one, "w1") == 3
    store.upload(create_worker_directory(tmp_path / "two"), "w2")
    paths = resolve_directories((str(one), "memory://depot/owls"), tmp_path / "brought")
    assert [path.name for path in paths] == ["one", "w1", "w2"]
    for name in ("topic.toml", "warc/00001.warc.gz", "warc/00002.warc.gz"):
        assert (paths[1] / name).read_bytes() == (one / name).read_bytes()
    with sqlite3.connect(paths[2] / "topicrawl.sqlite") as rows:
        assert rows.execute("SELECT url FROM visits").fetchall() == [("http://a.example/",)]
    rows.close()


def test_a_failing_store_is_logged_and_the_crawl_continues(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no directory")
    with caplog.at_level(logging.WARNING, logger="topicrawl"):
        asyncio.run(ObjectStore(f"file://{tmp_path}/file").try_upload(create_worker_directory(tmp_path / "one"), "w"))
    assert "is still only in" in caplog.text
