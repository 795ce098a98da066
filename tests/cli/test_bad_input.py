"""Invalid input gives a one-line message and the right exit code, without a traceback or data loss."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from topicrawl.collection.store import CollectionStore
from topicrawl.topic import Topic

SEED = "http://127.0.0.1:81/"

MISTAKES = [
    (["crawl", "", "--seed", SEED], 2, "no words"),
    (["crawl", "?!", "--seed", SEED], 2, "no words"),
    (["crawl", "the", "--seed", SEED], 2, "occur in every text"),
    (["crawl", "d\udce9ngue", "--seed", SEED], 2, "UTF-8"),
    (["crawl", "dengue", "--seed", SEED, "--out", "x" * 300], 3, "cannot be used"),
    (["crawl", "dengue", "--seed", SEED, "--contact", "a\nb"], 2, "one line"),
    (["crawl", "dengue", "--seed", SEED, "--proxy", "nowhere"], 2, "proxy"),
    (["crawl", "dengue", "--seed", SEED, "--resolve", "a=b"], 2, "IP address"),
    (["crawl", "dengue", "--seed", SEED, "--strategy", ".a:x"], 2, "cannot load"),
    (["crawl"], 2, "no topic given"),
    (["crawl", "dengue"], 2, "--seed"),
    (["crawl", "dengue", "--seed", "who.int"], 2, "did you mean https://who.int"),
    (["crawl", "dengue", "--seed", "ftp://who.int/"], 2, "'ftp://who.int/' is not a web address (http or https)\n"),
    (["crawl", "dengue", "--seed", "not a url"], 2, "not a web address"),
    (["crawl", "dengue", "--seed", "http://who.int:25/"], 2, "port 25 belongs to a service other than a web server"),
    (["crawl", "dengue", "--seed", "http://1.1.1.1:6379/", "--allow-net", "10.0.0.0/8"], 2, "port 6379"),
    (["crawl", "dengue", "--seeds", "nowhere.txt"], 2, "nowhere.txt"),
    (["crawl", "dengue", "--seed", SEED, "--strategy", "best_frist"], 2, "did you mean 'best_first'"),
    (["crawl", "dengue", "--seed", SEED, "--strategy", "best_first:achor=1"], 2, "did you mean 'anchor'"),
    (["crawl", "dengue", "--seed", SEED, "--delay", "-1"], 2, "0 or more"),
    (["crawl", "dengue", "--seed", SEED, "--delay", "nan"], 2, "0 or more"),
    (["crawl", "dengue", "--seed", SEED, "--pages", "many"], 2, "many"),
    (["crawl", "dengue", "--seed", SEED, "--concurrency", "0"], 2, "1 or more"),
    (["crawl", "dengue", "--seed", SEED, "--processes", "0"], 2, "between 1 and 64"),
    (["crawl", "dengue", "--seed", SEED, "--allow-net", "everything"], 2, "everything"),
    (["crawl", "dengue", "--seed", SEED, "--resolve", "a"], 2, "name=address"),
    (["crawl", "dengue", "--topic", "t.toml", "--seed", SEED], 2, "not both"),
    (["crawl", "--topic", "t.toml", "--seed", SEED], 2, "t.toml"),
    (["crawl", "dengue", "--config", "c.toml", "--seed", SEED], 2, "c.toml"),
    (["crawl", "dengue", "--sed", SEED], 2, "--sed"),
    (["crwal", "dengue"], 2, "crwal"),
    (["status", "nowhere"], 3, "no crawl here"),
    (["why", "nowhere", SEED], 3, "no crawl here"),
    (["lab", "run", "nowhere", "--words", "a b", "--seed", SEED], 3, "nowhere"),
    (["lab", "run", ".", "--words", "a b", "--seed", SEED], 3, ".warc"),
    (["lab", "run", ".", "--words", "", "--seed", SEED], 2, "no words"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "words"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else None
)
def test_invalid_arguments_are_reported_in_one_line(run, arguments: list[str], code: int, words: str) -> None:  # type: ignore[no-untyped-def]
    ran = run(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().iterdir()), "a rejected command leaves no files"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pages = ", "not valid TOML"),
        ("paegs = 3", "did you mean 'pages'"),
        ("pages = 'x'", "must be int"),
        ("pages = true", "must be int"),
        ("robots = 1", "must be bool"),
        pytest.param(f"delay = 1{'0' * 400}", "delay is too large", id="400 digits"),
        pytest.param(f"pages = 1{'0' * 5000}", "not valid TOML", id="5000 digits"),
        pytest.param(f"pages = 0x{'f' * 5000}", "pages is too large", id="5000 digits of 16"),
        ("allow_net = '127.0.0.0/8'", "must be tuple"),
        ("zzzz = 1", "--help"),
    ],
)
def test_an_error_in_the_settings_file_names_the_file(run, text: str, words: str) -> None:  # type: ignore[no-untyped-def]
    Path("c.toml").write_text(text)
    ran = run("crawl", "dengue", "--seed", SEED, "--config", "c.toml")
    assert ran.code == 2
    assert "c.toml" in ran.err
    assert words in ran.err


def test_a_file_without_seeds_is_named(run) -> None:  # type: ignore[no-untyped-def]
    Path("seeds.txt").write_text("\ufeff# none\n  # here\n")
    ran = run("crawl", "dengue", "--seeds", "seeds.txt")
    assert ran.code == 2
    assert "seeds.txt contains no seeds" in ran.err


def test_deeply_nested_tables_give_no_traceback(run) -> None:  # type: ignore[no-untyped-def]
    Path("c.toml").write_text("a = " + "[" * 100_000)
    for option in ("--config", "--topic"):
        ran = run("crawl", *([] if option == "--topic" else ["dengue"]), "--seed", SEED, option, "c.toml")
        assert ran.code == 2
        assert "c.toml" in ran.err


def test_a_damaged_database_is_reported_in_one_line(run) -> None:  # type: ignore[no-untyped-def]
    Path("dengue").mkdir()
    store = CollectionStore(Path("dengue/topicrawl.sqlite"))
    store.set_facts({"identity": "x" * 20_000})
    store.close()
    Path("dengue/topic.toml").write_text(Topic.of("dengue").to_toml())
    data = bytearray(Path("dengue/topicrawl.sqlite").read_bytes())
    data[4096:] = b"\xaa" * len(data[4096:])
    Path("dengue/topicrawl.sqlite").write_bytes(data)
    for command in (["crawl", "dengue", "--seed", SEED], ["status", "dengue"], ["why", "dengue", SEED]):
        ran = run(*command)
        assert ran.code == 3
        assert "Traceback" not in ran.err


def test_a_directory_with_other_files_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    Path("dengue").mkdir()
    Path("dengue/thesis.doc").write_text("three years")
    ran = run("crawl", "dengue", "--seed", SEED)
    assert ran.code == 3
    assert "thesis.doc" in ran.err
    assert [path.name for path in Path("dengue").iterdir()] == ["thesis.doc"]


def test_a_file_instead_of_a_directory_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    Path("dengue").write_text("three years")
    ran = run("crawl", "dengue", "--seed", SEED)
    assert ran.code == 3
    assert Path("dengue").read_text() == "three years"


def test_a_database_of_another_program_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    Path("dengue").mkdir()
    with sqlite3.connect("dengue/topicrawl.sqlite") as database:
        database.execute("CREATE TABLE recipes (name)")
    database.close()
    for command in (["crawl", "dengue", "--seed", SEED], ["status", "dengue"], ["why", "dengue", SEED]):
        ran = run(*command)
        assert ran.code == 3
        assert "another program" in ran.err


def test_a_truncated_database_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    Path("dengue").mkdir()
    Path("dengue/topicrawl.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    for command in (["crawl", "dengue", "--seed", SEED], ["status", "dengue"]):
        ran = run(*command)
        assert ran.code == 3
        assert "topicrawl.sqlite" in ran.err
        assert "Traceback" not in ran.err


def test_a_newer_format_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    Path("dengue").mkdir()
    with sqlite3.connect("dengue/topicrawl.sqlite") as database:
        database.execute("PRAGMA application_id=28865")
        database.execute("PRAGMA user_version=999")
    database.close()
    ran = run("status", "dengue")
    assert ran.code == 3
    assert "upgrade" in ran.err
