"""Schema upgrades of the SQLite databases, and durable files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest

from topicrawl.collection import store
from topicrawl.database import Database, DatabaseSchema, FileLock, write_text_file
from topicrawl.errors import (
    CollectionError,
    ForeignFileError,
    IncompleteFileError,
    InUseError,
    NewerFormatError,
)
from topicrawl.frontier.sqlite import file

FIRST = DatabaseSchema("a zoo", 0x200, ("CREATE TABLE animals (name TEXT PRIMARY KEY, legs INTEGER)",))
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
FOURTH = replace(
    THIRD,
    upgrades=(
        *THIRD.upgrades,
        (
            "ALTER TABLE animals RENAME COLUMN food TO diet",
            "ALTER TABLE animals RENAME COLUMN legs TO feet",
            "ALTER TABLE cages RENAME TO enclosures",
            "ALTER TABLE enclosures RENAME COLUMN animal TO inhabitant",
            "DROP INDEX by_food",
            "CREATE INDEX by_diet ON animals (diet)",
        ),
    ),
)
VERSIONS = pytest.mark.parametrize("old", [FIRST, SECOND], ids=["first", "second"])
RENAMED = pytest.mark.parametrize("old", [FIRST, SECOND, THIRD], ids=["first", "second", "third"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "zoo.sqlite"


def create_database(path: Path, shape: DatabaseSchema) -> None:
    with closing(Database(path, shape)) as db, db.transaction():
        db.execute("INSERT INTO animals (name, legs) VALUES ('newt', 4)")


def read_schema(path: Path) -> tuple[int, list[tuple[str, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        schema = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name").fetchall()
        return db.execute("PRAGMA user_version").fetchone()[0], schema


@VERSIONS
def test_an_older_file_ends_up_like_a_new_one_and_keeps_its_rows(path: Path, old: DatabaseSchema) -> None:
    create_database(path, old)
    Database(path, THIRD).close()
    create_database(path.with_name("new.sqlite"), THIRD)
    assert read_schema(path) == read_schema(path.with_name("new.sqlite"))
    with closing(Database(path, THIRD)) as db:
        assert db.execute("SELECT * FROM animals").fetchall() == [("newt", 4, 0, None)]


@VERSIONS
def test_a_reader_sees_an_older_file_as_if_it_were_up_to_date_and_changes_nothing(
    path: Path, old: DatabaseSchema
) -> None:
    create_database(path, old)
    before = read_schema(path)
    with closing(Database(path, THIRD, readonly=True)) as db:
        assert db.execute("SELECT * FROM animals WHERE wings = 0").fetchall() == [("newt", 4, 0, None)]
        assert db.execute("SELECT number, animal, size FROM cages").fetchall() == []
    assert read_schema(path) == before


@RENAMED
def test_renamed_tables_and_columns_keep_their_rows(path: Path, old: DatabaseSchema) -> None:
    create_database(path, old)
    Database(path, FOURTH).close()
    with closing(Database(path.with_name("new.sqlite"), FOURTH)):
        pass
    assert read_schema(path) == read_schema(path.with_name("new.sqlite"))
    with closing(Database(path, FOURTH)) as db:
        assert db.execute("SELECT name, feet, wings, diet FROM animals").fetchall() == [("newt", 4, 0, None)]


@RENAMED
def test_a_reader_sees_the_current_names_in_an_older_file_and_changes_nothing(path: Path, old: DatabaseSchema) -> None:
    create_database(path, old)
    if old is not FIRST:
        with closing(Database(path, old)) as db, db.transaction():
            db.execute("INSERT INTO cages (number, animal) VALUES (3, 'newt')")
    before = read_schema(path)
    with closing(Database(path, FOURTH, readonly=True)) as db:
        assert db.execute("SELECT * FROM animals WHERE wings = 0").fetchall() == [("newt", 4, 0, None)]
        assert db.execute("SELECT feet, diet FROM animals").fetchall() == [(4, None)]
        expected = [] if old is FIRST else [(3, "newt", None)]
        assert db.execute("SELECT number, inhabitant, size FROM enclosures").fetchall() == expected
    assert read_schema(path) == before


@RENAMED
def test_a_reader_continues_while_a_writer_renames_what_it_reads(path: Path, old: DatabaseSchema) -> None:
    create_database(path, old)
    with closing(Database(path, FOURTH, readonly=True)) as reader:
        assert reader.execute("SELECT feet FROM animals").fetchall() == [(4,)]
        with closing(Database(path, FOURTH)) as db, db.transaction():
            db.execute("INSERT INTO animals (name, feet) VALUES ('swan', 2)")
            db.execute("INSERT INTO enclosures VALUES (1, 'swan', 2.5)")
        assert reader.execute("SELECT feet FROM animals").fetchall() == [(4,), (2,)]
        assert reader.execute("SELECT inhabitant FROM enclosures").fetchall() == [("swan",)]


def test_an_error_in_a_query_on_an_older_file_is_not_hidden(path: Path) -> None:
    create_database(path, FIRST)
    with closing(Database(path, FOURTH, readonly=True)) as db, pytest.raises(sqlite3.OperationalError, match="beaks"):
        db.execute("SELECT beaks FROM animals")


def list_files(path: Path) -> set[str]:
    return {file.name for file in path.parent.iterdir()}


@pytest.mark.parametrize("mode", [0o755, 0o555], ids=["writable", "not writable"])
def test_a_reader_leaves_no_files_behind(path: Path, mode: int) -> None:
    create_database(path, FIRST)
    path.parent.chmod(mode)
    try:
        with closing(Database(path, THIRD, readonly=True)) as first:
            with closing(Database(path, THIRD, readonly=True)) as second:
                assert second.execute("SELECT name FROM animals").fetchall() == [("newt",)]
            assert first.execute("SELECT name FROM animals").fetchall() == [("newt",)]
    finally:
        path.parent.chmod(0o755)
    assert list_files(path) == {"zoo.sqlite"}


def test_a_reader_leaves_alone_what_a_writer_has_not_brought_home(path: Path) -> None:
    create_database(path, FIRST)
    with closing(Database(path, FIRST, readonly=True)), closing(Database(path, FIRST)) as writer:
        with writer.transaction():
            writer.execute("INSERT INTO animals (name, legs) VALUES ('swan', 2)")
        Database(path, FIRST, readonly=True).close()
        assert list_files(path) == {"zoo.sqlite", "zoo.sqlite-wal", "zoo.sqlite-shm"}
    with closing(Database(path, FIRST)) as db:
        assert db.execute("SELECT count(*) FROM animals").fetchone() == (2,)


def test_a_reader_goes_on_while_the_writer_brings_the_file_up_to_date(path: Path) -> None:
    create_database(path, FIRST)
    with closing(Database(path, THIRD, readonly=True)) as reader:
        with closing(Database(path, THIRD)) as db, db.transaction():
            db.execute("INSERT INTO animals VALUES ('swan', 2, 2, 'weed')")
        assert [len(row) for row in reader.execute("SELECT * FROM animals")] == [4, 4]


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    create_database(path, FIRST)
    before = read_schema(path)
    broken = replace(SECOND, upgrades=(*SECOND.upgrades, ("ALTER TABLE aviaries ADD COLUMN birds INTEGER",)))
    with pytest.raises(CollectionError, match="no such table: aviaries"):
        Database(path, broken)
    assert read_schema(path) == before
    with closing(Database(path, FIRST, readonly=True)) as db:
        assert db.execute("SELECT name FROM animals").fetchall() == [("newt",)]


@pytest.mark.parametrize("readonly", [True, False])
def test_a_newer_file_is_refused(path: Path, readonly: bool) -> None:
    create_database(path, THIRD)
    with pytest.raises(NewerFormatError, match=r"newer Topicrawl \(format 3; this one reads 2\): upgrade") as raised:
        Database(path, SECOND, readonly=readonly)
    assert "\n" not in str(raised.value)


def test_an_upgrade_that_a_reader_could_not_imagine_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="UPDATE"):
        replace(FIRST, upgrades=(("UPDATE animals SET legs = 2",),))


@pytest.mark.parametrize("shape", [store.SCHEMA, file.FRONTIER_SCHEMA], ids=["collection", "frontier"])
def test_files_of_the_first_version_are_read_and_brought_up_to_date(path: Path, shape: DatabaseSchema) -> None:
    Database(path, replace(shape, upgrades=())).close()
    Database(path, shape, readonly=True).close()
    Database(path, shape).close()
    Database(path.with_name("new"), shape).close()
    assert read_schema(path) == read_schema(path.with_name("new"))


@pytest.mark.parametrize("content", [b"not a database" * 100, b""], ids=["no SQLite file", "no schema of Topicrawl"])
def test_a_file_of_another_program_has_its_own_exception(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    if not content:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE animals (name TEXT)")
    with pytest.raises(ForeignFileError, match="belongs to another program"):
        Database(path, FIRST)


def test_a_locked_file_has_its_own_exception(path: Path) -> None:
    lock = FileLock(path.with_suffix(".lock"), path)
    try:
        with pytest.raises(InUseError, match="is in use by process"):
            FileLock(path.with_suffix(".lock"), path)
    finally:
        lock.release()


def test_a_reader_waits_for_the_process_that_creates_the_file(path: Path) -> None:
    path.touch()
    creation = Timer(0.2, lambda: Database(path, FIRST).close())
    creation.start()
    with closing(Database(path, FIRST, readonly=True)) as reader:
        assert reader.execute("SELECT name FROM animals").fetchall() == []
    creation.join()


def test_a_reader_reports_a_file_that_stays_empty(path: Path) -> None:
    path.touch()
    with pytest.raises(IncompleteFileError, match="is empty"):
        Database(path, FIRST, readonly=True, creation_timeout=0.05)


def test_a_small_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path, link = tmp_path / "topic.toml", tmp_path / "link.toml"
    write_text_file(path, "old")
    link.symlink_to(path)
    write_text_file(link, "new")
    assert (path.read_text(), link.is_symlink()) == ("new", True)
    with pytest.raises(UnicodeEncodeError):
        write_text_file(path, "half a file \ud800")
    assert path.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [link, path], "no draft is left"


def test_a_device_is_written_and_not_replaced() -> None:
    write_text_file(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
