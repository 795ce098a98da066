"""SQLite files of ours from version to version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from topicrawl.collection import store
from topicrawl.database import Database, Shape
from topicrawl.errors import CollectionError
from topicrawl.frontier import sqlite_file

FIRST = Shape("a zoo", 0x200, ("CREATE TABLE animals (name TEXT PRIMARY KEY, legs INTEGER)",))
SECOND = replace(FIRST, upgrades=(("CREATE TABLE cages (number INTEGER PRIMARY KEY, animal TEXT)",),))
THIRD = replace(
    SECOND,
    upgrades=(
        *SECOND.upgrades,
        (
            "ALTER TABLE animals ADD COLUMN wings INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE animals ADD COLUMN food TEXT",
            "ALTER TABLE cages ADD COLUMN size REAL",
            "CREATE INDEX by_food ON animals (food)",
        ),
    ),
)
VERSIONS = pytest.mark.parametrize("old", [FIRST, SECOND], ids=["first", "second"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "zoo.sqlite"


def made(path: Path, shape: Shape) -> None:
    with closing(Database(path, shape)) as db, db.transaction():
        db.execute("INSERT INTO animals (name, legs) VALUES ('newt', 4)")


def looks(path: Path) -> tuple[int, list[tuple[str, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        schema = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name").fetchall()
        return db.execute("PRAGMA user_version").fetchone()[0], schema


@VERSIONS
def test_an_older_file_ends_up_like_a_new_one_and_keeps_its_rows(path: Path, old: Shape) -> None:
    made(path, old)
    Database(path, THIRD).close()
    made(path.with_name("new.sqlite"), THIRD)
    assert looks(path) == looks(path.with_name("new.sqlite"))
    with closing(Database(path, THIRD)) as db:
        assert db.execute("SELECT * FROM animals").fetchall() == [("newt", 4, 0, None)]


@VERSIONS
def test_a_reader_sees_an_older_file_as_if_it_were_up_to_date_and_changes_nothing(path: Path, old: Shape) -> None:
    made(path, old)
    before = looks(path)
    with closing(Database(path, THIRD, readonly=True)) as db:
        assert db.execute("SELECT * FROM animals WHERE wings = 0").fetchall() == [("newt", 4, 0, None)]
        assert db.execute("SELECT number, animal, size FROM cages").fetchall() == []
    assert looks(path) == before


def files(path: Path) -> set[str]:
    return {file.name for file in path.parent.iterdir()}


@pytest.mark.parametrize("mode", [0o755, 0o555], ids=["writable", "not writable"])
def test_a_reader_leaves_no_files_behind(path: Path, mode: int) -> None:
    made(path, FIRST)
    path.parent.chmod(mode)
    try:
        with closing(Database(path, THIRD, readonly=True)) as first:
            with closing(Database(path, THIRD, readonly=True)) as second:
                assert second.execute("SELECT name FROM animals").fetchall() == [("newt",)]
            assert first.execute("SELECT name FROM animals").fetchall() == [("newt",)]
    finally:
        path.parent.chmod(0o755)
    assert files(path) == {"zoo.sqlite"}


def test_a_reader_leaves_alone_what_a_writer_has_not_brought_home(path: Path) -> None:
    made(path, FIRST)
    with closing(Database(path, FIRST, readonly=True)), closing(Database(path, FIRST)) as writer:
        with writer.transaction():
            writer.execute("INSERT INTO animals (name, legs) VALUES ('swan', 2)")
        Database(path, FIRST, readonly=True).close()
        assert files(path) == {"zoo.sqlite", "zoo.sqlite-wal", "zoo.sqlite-shm"}
    with closing(Database(path, FIRST)) as db:
        assert db.execute("SELECT count(*) FROM animals").fetchone() == (2,)


def test_a_reader_goes_on_while_the_writer_brings_the_file_up_to_date(path: Path) -> None:
    made(path, FIRST)
    with closing(Database(path, THIRD, readonly=True)) as reader:
        with closing(Database(path, THIRD)) as db, db.transaction():
            db.execute("INSERT INTO animals VALUES ('swan', 2, 2, 'weed')")
        assert [len(row) for row in reader.execute("SELECT * FROM animals")] == [4, 4]


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    made(path, FIRST)
    before = looks(path)
    broken = replace(SECOND, upgrades=(*SECOND.upgrades, ("ALTER TABLE aviaries ADD COLUMN birds INTEGER",)))
    with pytest.raises(CollectionError, match="no such table: aviaries"):
        Database(path, broken)
    assert looks(path) == before
    with closing(Database(path, FIRST, readonly=True)) as db:
        assert db.execute("SELECT name FROM animals").fetchall() == [("newt",)]


@pytest.mark.parametrize("readonly", [True, False])
def test_a_newer_file_is_refused(path: Path, readonly: bool) -> None:
    made(path, THIRD)
    with pytest.raises(CollectionError, match=r"newer Topicrawl \(format 3; this one reads 2\): upgrade") as raised:
        Database(path, SECOND, readonly=readonly)
    assert "\n" not in str(raised.value)


def test_an_upgrade_that_a_reader_could_not_imagine_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="UPDATE"):
        replace(FIRST, upgrades=(("UPDATE animals SET legs = 2",),))


@pytest.mark.parametrize("shape", [store.SHAPE, sqlite_file.SHAPE], ids=["collection", "frontier"])
def test_files_of_the_first_version_are_read_and_brought_up_to_date(path: Path, shape: Shape) -> None:
    Database(path, replace(shape, upgrades=())).close()
    Database(path, shape, readonly=True).close()
    Database(path, shape).close()
    Database(path.with_name("new"), shape).close()
    assert looks(path) == looks(path.with_name("new"))
