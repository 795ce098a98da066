"""Tests of training set files: round trip and error messages with line numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.errors import StrategyError
from topicrawl.strategies.training.training_set import TrainingRow, TrainingSet, parse_training_set

NAMES = ("url_words", "anchor", "parents", "surrounding")
HEAD = "url\turl_words\tanchor\tparents\tsurrounding\tlabel\torigin"
GOOD = "http://a/\t0.25\t0.97\t0.64\t0.76\trelevant\texample"
BAD = "http://b/\t0\t0.5\t0.2\t0.6\tirrelevant\texample"


def text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_keywords_and_rows_are_read() -> None:
    found = parse_training_set(text("# made by hand", "keyword\tstock\t1", "", HEAD, GOOD, BAD), "t.tsv", NAMES)
    assert found.keywords == {"stock": 1.0}
    assert found.rows[0] == TrainingRow("http://a/", (0.25, 0.97, 0.64, 0.76), True, "example")
    assert [row.relevant for row in found.rows] == [True, False]


def test_the_weighting_line_is_parsed() -> None:
    assert parse_training_set(text("counted\ttf_idf\t20", HEAD, GOOD, BAD), "t.tsv", NAMES).table_weighting == (
        "tf_idf",
        20,
    )
    assert parse_training_set(text(HEAD, GOOD, BAD), "t.tsv", NAMES).table_weighting is None


def test_columns_can_have_any_order_and_unknown_columns_are_ignored() -> None:
    head = "url\tlabel\tsurrounding\tanchor\turl_words\tmood"
    rows = ["http://a/\trelevant\t0.1\t0.2\t0.3\tgood", "http://b/\tirrelevant\t0\t0\t0\tbad"]
    found = parse_training_set(text(head, *rows), "t.tsv", NAMES[:2])
    assert found.rows[0].values == (0.3, 0.2)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([GOOD, BAD], "t.tsv:1: the line that names the columns is missing"),
        ([HEAD, GOOD, "http://b/\t0\t0"], "t.tsv:3: expected 7 columns"),
        ([HEAD, GOOD.replace("relevant", "yes"), BAD], "t.tsv:2: label is relevant or irrelevant, not 'yes'"),
        ([HEAD, GOOD.replace("0.97", "much"), BAD], "t.tsv:2: anchor must be a number, not 'much'"),
        ([HEAD, GOOD.replace("0.97", "1.5"), BAD], "t.tsv:2: anchor must be a number from 0 to 1, not '1.5'"),
        ([HEAD, GOOD.replace("0.97", "nan"), BAD], "t.tsv:2: anchor must be a number from 0 to 1, not 'nan'"),
        ([HEAD.replace("anchor", "anker"), GOOD, BAD], "t.tsv:1: the column 'anchor' is missing"),
        ([HEAD.replace("parents", "anchor"), GOOD, BAD], "t.tsv:1: the column 'anchor' is named more than once"),
        (["keyword\tstock", HEAD, GOOD, BAD], "t.tsv:1: expected keyword, a tab"),
        (["keyword\tstock\theavy", HEAD, GOOD, BAD], "t.tsv:1: the weight of 'stock' must be a number, not 'heavy'"),
        (["counted\tidf\t14", HEAD, GOOD, BAD], "t.tsv:1: expected counted, a tab, tf or tf_idf"),
        (["counted\ttf\tmany", HEAD, GOOD, BAD], "t.tsv:1: expected counted, a tab, tf or tf_idf"),
        (["counted\ttf\t0", HEAD, GOOD, BAD], "t.tsv:1: expected counted, a tab, tf or tf_idf"),
        ([HEAD, GOOD], "t.tsv: there is no irrelevant row"),
        ([HEAD, BAD], "t.tsv: there is no relevant row"),
        ([], "t.tsv: there is no relevant row"),
    ],
)
def test_an_error_message_is_one_line_with_the_line_number(lines: list[str], message: str) -> None:
    with pytest.raises(StrategyError) as raised:
        parse_training_set(text(*lines), "t.tsv", NAMES)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


PLAIN = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)


@given(
    st.lists(st.tuples(PLAIN, st.integers(0, 1000), st.booleans()), max_size=6), st.dictionaries(PLAIN, st.just(0.5))
)
def test_a_written_training_set_can_be_parsed(rows: list[tuple[str, int, bool]], keywords: dict[str, float]) -> None:
    both = [("one", 1, True), ("other", 2, False), *rows]
    made = TrainingSet(
        ("anchor",),
        keywords,
        [TrainingRow(f"http://{name}/", (value / 1000,), label, "x") for name, value, label in both],
        ("tf", 14),
    )
    assert parse_training_set(made.to_tsv("from\nsomewhere"), "t.tsv", ("anchor",)) == made
