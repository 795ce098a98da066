"""What a worker leaves in an object store can be brought back, and is copied once."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path

import pytest

from topicrawl.depot import Depot, directories


def worked(directory: Path) -> Path:
    """A worker's directory, as far as a depot looks at it."""
    (directory / "warc").mkdir(parents=True)
    (directory / "warc" / "00001.warc.gz").write_bytes(b"first")
    (directory / "topic.toml").write_text("name = 'owls'")
    with sqlite3.connect(directory / "topicrawl.sqlite") as rows:
        rows.execute("CREATE TABLE visits (url)")
        rows.execute("INSERT INTO visits VALUES ('http://a.example/')")
    rows.close()
    return directory


def test_directories_come_back_as_they_were_and_what_has_not_changed_is_copied_once(tmp_path: Path) -> None:
    one, depot = worked(tmp_path / "one"), Depot("memory://depot/owls")
    assert depot.leave(one, "w1") == 3
    assert depot.leave(one, "w1") == 1, "the rows alone: whether they have changed does not show"
    (one / "warc" / "00001.warc.gz").write_bytes(b"first and second")
    (one / "warc" / "00002.warc.gz").write_bytes(b"third")
    assert depot.leave(one, "w1") == 3
    depot.leave(worked(tmp_path / "two"), "w2")
    found = directories((str(one), "memory://depot/owls"), tmp_path / "brought")
    assert [path.name for path in found] == ["one", "w1", "w2"]
    for name in ("topic.toml", "warc/00001.warc.gz", "warc/00002.warc.gz"):
        assert (found[1] / name).read_bytes() == (one / name).read_bytes()
    with sqlite3.connect(found[2] / "topicrawl.sqlite") as rows:
        assert rows.execute("SELECT url FROM visits").fetchall() == [("http://a.example/",)]
    rows.close()


def test_a_store_that_fails_is_told_of_and_the_crawl_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no directory")
    with caplog.at_level(logging.WARNING, logger="topicrawl"):
        asyncio.run(Depot(f"file://{tmp_path}/file").attempt(worked(tmp_path / "one"), "w"))
    assert "is still the only place" in caplog.text
