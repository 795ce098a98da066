"""The table of labelled sentences: writing, reading, and errors in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import COLUMNS, SentenceRow, build_rows, read_rows, write_rows
from topicrawl.models import Page, Sentence, Style
from topicrawl.text.lexicon import load_lexicon

HEAD = "\t".join(COLUMNS)
LINE = "yes\tp.html\t1\tOwls hunt at night here.\t1\t0\t1\t0.125\t0.5\t0.5"


def write_table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sentences.tsv"
    path.write_bytes(text.encode("utf-8"))
    return path


def test_rows_of_a_page_exclude_pruned_sentences() -> None:
    sentences = (
        Sentence("Short.", 0),
        Sentence("Owls hunt at night here.", 1),
        Sentence("Owls are here but hidden, dear robot.", 1, Style(hidden=True)),
        Sentence("Owls hunt at night here.", 2),
    )
    rows = build_rows(Page("http://a/", "Owls", sentences=sentences), load_lexicon("en"), anchor="night")
    assert [(row.page, row.number, row.label) for row in rows] == [("http://a/", 2, None), ("http://a/", 4, None)]
    assert rows[0].features == (1, 1, 1, 0.125, 1, 0.5)


def test_written_rows_read_back_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "sentences.tsv"
    rows = [
        SentenceRow("a b.html", 3, 'He said "owls", then left.', (1.0, 0.5, 0.0, 0.25, 0.3333, 0.5), label)
        for label in (True, False, None)
    ]
    write_rows(path, [replace(rows[0], page="a\tb.html"), *rows[1:]])
    assert read_rows(path) == rows
    assert [line.count("\t") for line in path.read_text("utf-8").splitlines()] == [len(COLUMNS) - 1] * 4


@pytest.mark.parametrize("label", ["yes", "Yes", " y", '"yes"', "1", "TRUE"])
def test_spellings_of_yes_are_accepted(tmp_path: Path, label: str) -> None:
    (row,) = read_rows(write_table(tmp_path, f"{HEAD}\n{label}{LINE[3:]}\n"))
    assert row.label is True


def test_tables_saved_by_a_spreadsheet_are_accepted(tmp_path: Path) -> None:
    more = "\ufeff" + HEAD + "\tremark\r\n" + LINE + "\tgood one\r\n\r\n"
    (row,) = read_rows(write_table(tmp_path, more))
    assert row.features == (1, 0, 1, 0.125, 0.5, 0.5)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", r"sentences.tsv:1: no column 'label', 'page'"),
        (f"{HEAD.replace('place', 'spot')}\n{LINE}\n", r":1: no column 'place'"),
        (f"{HEAD}\n{LINE}\nmaybe{LINE[3:]}\n", r":3: the label is 'maybe': write yes or no"),
        (f"{HEAD}\nyes\tp.html\t1\n", r":2: 3 columns, expected 10"),
        (f"{HEAD}\n{LINE.replace('0.125', 'long')}\n", r":2: not a number"),
        (f"{HEAD}\n{LINE.replace('0.125', 'nan')}\n", r":2: the features must be finite"),
        (f"{HEAD}\n{LINE.replace('p.html', ' ')}\n", r":2: the page is empty"),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        read_rows(write_table(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_the_error_for_an_unreadable_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.tsv cannot be read: No such file"):
        read_rows(tmp_path / "none.tsv")
    (tmp_path / "bytes.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"bytes.tsv cannot be read: not UTF-8"):
        read_rows(tmp_path / "bytes.tsv")
    with pytest.raises(UsageError, match=r"cannot be written"):
        write_rows(tmp_path / "no" / "table.tsv", [])
