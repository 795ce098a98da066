"""A network from labelled sentences, measured on pages that it has not seen."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import Row
from topicrawl.lab.summary_training import Count, measured, trained


def rows(pages: int, *, noise: float = 0.0) -> list[Row]:
    """Pages of ten sentences; the first of a paragraph is for the summary, but for some noise."""
    random = Random(5)
    made = []
    for page in range(pages):
        for number in range(10):
            first = float(number % 3 == 0)
            label = bool(first) != (random.random() < noise)
            values = (random.random(), random.random(), first, random.random(), 0.0, 0.5)
            made.append(Row(f"page {page}", number, "…", values, label))
    return made


def test_what_can_be_learned_is_learned_and_holds_on_other_pages() -> None:
    network, count = trained(rows(10))
    assert count.accuracy > 0.95
    assert count.sentences == 100, "every page is held out once"
    assert count.yes == 40
    assert measured(network, rows(3)).accuracy > 0.95


def test_noise_is_not_learned_by_heart() -> None:
    _, count = trained(rows(10, noise=0.5))
    assert count.accuracy < 0.75


def test_a_page_is_never_held_out_in_part() -> None:
    # The label is a fact about the page that no feature tells: only who has seen the page could know.
    odd = [
        Row(row.page, row.number, "…", (float(row.page[-1]), *row.features[1:]), row.page[-1] in "0145")
        for row in rows(10)
    ]
    _, count = trained(odd)
    assert count.accuracy < 0.65, "with sentences held out it would be .75"


def test_the_same_table_gives_the_same_network() -> None:
    assert trained(rows(4))[0].state() == trained(rows(4))[0].state()


def test_rows_without_a_label_are_left_out() -> None:
    unread = [Row("page 1", 99, "…", (0.0,) * 6)] * 50
    assert trained([*rows(4), *unread])[1].sentences == 40


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ([], "no sentence is labelled"),
        ([Row("a", 1, "…", (0.0,) * 6)], "no sentence is labelled"),
        ([Row(page, 1, "…", (0.0,) * 6, True) for page in "ab"], "all 2 labels are yes"),
        ([Row(page, 1, "…", (0.0,) * 6, False) for page in "ab"], "all 2 labels are no"),
        ([Row("a", 1, "…", (0.0,) * 6, label) for label in (True, False)], "on one page"),
    ],
)
def test_a_table_that_teaches_nothing_is_refused(table: list[Row], what: str) -> None:
    with pytest.raises(UsageError, match=f"x.tsv: .*{what}"):
        trained(table, where="x.tsv")


def test_counts_without_sentences_divide_by_nothing() -> None:
    assert (Count().accuracy, Count().majority, Count().precision, Count().recall) == (0, 0, 0, 0)
