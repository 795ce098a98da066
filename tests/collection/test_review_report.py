"""Review sheets: written as CSV, filled in by a person, and read back."""

from __future__ import annotations

import csv
import io

import pytest

from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import ReviewCandidate, ReviewGroup
from topicrawl.collection.review_report import format_sheet, parse_sheet, select_changed
from topicrawl.errors import UsageError
from topicrawl.models import PageJudgement

URL = "http://a.example/1"
PAGE = ReviewCandidate(URL, '=HYPERLINK("x"),\nowls', 0.6, PageJudgement("vsm"), 1)


def test_sheet_has_no_formulas_and_can_be_read_back() -> None:
    group = ReviewGroup("vsm", "", [PAGE], sample=[PAGE])
    text = format_sheet([group])
    (row,) = csv.DictReader(io.StringIO(text))
    assert row == {
        "verdict": "",
        "url": URL,
        "title": '\'=HYPERLINK("x"), owls',
        "relevance": "0.6000",
        "group": "vsm",
    }
    assert parse_sheet(text, "sheet") == {}
    assert parse_sheet(text.replace("\n,", "\nIrrelevant,"), "sheet") == {URL: AnnotationLabel.IRRELEVANT}


def test_sheet_with_semicolons_is_read() -> None:
    assert parse_sheet(f"url;verdict\n{URL};unsure\n", "sheet") == {URL: AnnotationLabel.UNSURE}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a header line"),
        ("url,title\nhttp://a.example/,x\n", "needs a header line"),
        ("url,verdict\nhttp://a.example/,maybe\n", "row 2: the verdict must be relevant, irrelevant or unsure"),
        ("url,verdict\nnothing,relevant\n", "row 2: 'nothing' is not a web address"),
        ("url,verdict\nhttp://a.example/,relevant\nhttp://a.example/,unsure\n", "row 3: .* has two verdicts"),
    ],
)
def test_invalid_sheets_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_sheet(text, "sheet")


def test_only_changed_verdicts_are_added() -> None:
    read = PAGE._replace(label=AnnotationLabel.RELEVANT, is_reviewed=True)
    implied = PAGE._replace(label=AnnotationLabel.RELEVANT)
    assert select_changed({URL: AnnotationLabel.RELEVANT}, [read]) == {}
    assert select_changed({URL: AnnotationLabel.RELEVANT}, [implied]) == {URL: AnnotationLabel.RELEVANT}
