"""Agreement between named annotators, notes and tags, and the review index of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.search_collections import create_collection, make_page

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import notes
from topicrawl.collection.agreement import build_agreement_report, find_second_opinions
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import build_groups, load_candidates
from topicrawl.collection.review_index import ReviewIndex
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError

YES, NO = AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CollectionStore]:
    create_collection(tmp_path, [make_page(number, "owls") for number in range(40)])
    store = CollectionStore(tmp_path / "topicrawl.sqlite")
    yield store
    store.close()


def get_url(number: int) -> str:
    return make_page(number)[0]


def judge(store: CollectionStore, name: str, labels: dict[int, AnnotationLabel]) -> int:
    pages = {get_url(number): label for number, label in labels.items()}
    return annotation_log.annotate_pages(store, pages, origin="read", at=1.0, annotator=name)


def test_agreement_counts_the_last_verdict_of_each_annotator(store: CollectionStore) -> None:
    judge(store, "Ann", {0: NO, 1: YES, 2: NO, 3: YES})
    judge(store, "Ann", {0: YES})
    judge(store, "Bob", {0: YES, 1: YES, 2: NO, 3: NO})
    undone = judge(store, "Bob", {1: NO})
    assert annotation_log.undo_action(store, undone, at=2.0)
    judge(store, "", {2: YES})
    report = build_agreement_report(store)
    assert report.verdicts == {"Ann": 4, "Bob": 4}
    (pair,) = report.pairs
    assert (pair.pages, pair.equal, pair.kappa) == (4, 3, 0.5)
    assert [(one.url, one.labels) for one in report.disagreements] == [
        (get_url(3), {"Ann": "relevant", "Bob": "irrelevant"})
    ]


def test_second_opinions_are_the_pages_of_others(store: CollectionStore) -> None:
    judge(store, "Ann", {0: YES, 1: NO})
    judge(store, "Bob", {1: YES, 2: NO})
    assert set(find_second_opinions(store, "Ann")) == {get_url(2)}
    assert set(find_second_opinions(store, "Eve")) == {get_url(number) for number in (0, 1, 2)}


def test_an_earlier_action_is_undone_alone(store: CollectionStore) -> None:
    first = judge(store, "Ann", {0: YES, 1: YES})
    judge(store, "Ann", {1: NO})
    assert [row.url for row in annotation_log.undo_action(store, first, at=2.0)] == [get_url(0)]
    assert annotation_log.undo_action(store, first, at=3.0) == []
    assert [str(row.label) for row in annotation_log.list_current_annotations(store).values()] == ["irrelevant"]


def test_index_has_the_groups_of_the_store_after_every_change(store: CollectionStore) -> None:
    index = ReviewIndex(0.5)
    index.update(store)
    sample = [page.url for page in index.groups[0].sample]
    assert len(sample) == 8
    for url in sample[:-1]:
        assert index.review_pages(store, {url: YES}, origin="read", at=1.0)[1] == []
    action, decisions = index.review_pages(store, {sample[-1]: YES}, origin="read", at=1.0)
    assert [(decision.label, decision.pages) for decision in decisions] == [(YES, 32)]
    assert index.groups == build_groups(load_candidates(store, 0.5), 0.5)
    # The undo of one verdict of the sample revokes the decision, and leaves nothing else to undo of it.
    annotation_log.undo_action(store, action, at=2.0)
    index.update(store)
    assert index.groups == build_groups(load_candidates(store, 0.5), 0.5)
    assert annotation_log.count_annotated_pages(store) == len(sample) - 1
    last = annotation_log.find_last_action(store)
    assert last is not None
    assert last[0].url == sample[-2]


def test_notes_and_tags_of_a_page(store: CollectionStore) -> None:
    number = notes.add_note(store, 7, " good ", annotator="Ann", at=1.0)
    notes.set_tags(store, 7, notes.parse_tags("Barn, barn,tawny"))
    assert [(note.note, note.annotator) for note in notes.list_notes(store, 7)] == [("good", "Ann")]
    assert (notes.list_tags(store, 7), notes.count_tags(store)) == (["barn", "tawny"], {"barn": 1, "tawny": 1})
    notes.delete_note(store, number)
    notes.set_tags(store, 7, [])
    assert (notes.list_notes(store, 7), notes.list_tags(store, 7)) == ([], [])
    with pytest.raises(UsageError):
        notes.parse_tags("x" * 50)
