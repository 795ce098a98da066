"""Training of the summary network, evaluated on held-out pages."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import SentenceRow
from topicrawl.lab.summary_training import ConfusionMatrix, evaluate_network, train_network


def rows(pages: int, *, noise: float = 0.0) -> list[SentenceRow]:
    """Return pages of ten sentences. The first sentence of a paragraph has the label yes, except for some noise."""
    random = Random(5)
    result = []
    for page in range(pages):
        for number in range(10):
            first = float(number % 3 == 0)
            label = bool(first) != (random.random() < noise)
            values = (random.random(), random.random(), first, random.random(), 0.0, 0.5)
            result.append(SentenceRow(f"page {page}", number, "…", values, label))
    return result


def test_the_network_learns_and_generalises_to_other_pages() -> None:
    network, count = train_network(rows(10))
    assert count.accuracy > 0.95
    assert count.sentences == 100, "every page is held out once"
    assert count.positives == 40
    assert evaluate_network(network, rows(3)).accuracy > 0.95


def test_noise_is_not_memorised() -> None:
    _, count = train_network(rows(10, noise=0.5))
    assert count.accuracy < 0.75


def test_pages_are_held_out_as_a_whole() -> None:
    # The label depends on the page, not on the features: only a network trained on the page could predict it.
    odd = [
        SentenceRow(row.page, row.number, "…", (float(row.page[-1]), *row.features[1:]), row.page[-1] in "0145")
        for row in rows(10)
    ]
    _, count = train_network(odd)
    assert count.accuracy < 0.65, "with sentences held out it would be .75"


def test_the_same_table_gives_the_same_network() -> None:
    assert train_network(rows(4))[0].get_state() == train_network(rows(4))[0].get_state()


def test_rows_without_a_label_are_ignored() -> None:
    unlabelled = [SentenceRow("page 1", 99, "…", (0.0,) * 6)] * 50
    assert train_network([*rows(4), *unlabelled])[1].sentences == 40


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ([], "no sentence is labelled"),
        ([SentenceRow("a", 1, "…", (0.0,) * 6)], "no sentence is labelled"),
        ([SentenceRow(page, 1, "…", (0.0,) * 6, True) for page in "ab"], "all 2 labels are yes"),
        ([SentenceRow(page, 1, "…", (0.0,) * 6, False) for page in "ab"], "all 2 labels are no"),
        ([SentenceRow("a", 1, "…", (0.0,) * 6, label) for label in (True, False)], "on one page"),
    ],
)
def test_an_insufficient_table_is_rejected(table: list[SentenceRow], what: str) -> None:
    with pytest.raises(UsageError, match=f"x.tsv: .*{what}"):
        train_network(table, where="x.tsv")


def test_measures_without_sentences_are_0() -> None:
    assert (
        ConfusionMatrix().accuracy,
        ConfusionMatrix().majority_accuracy,
        ConfusionMatrix().precision,
        ConfusionMatrix().recall,
    ) == (0, 0, 0, 0)
