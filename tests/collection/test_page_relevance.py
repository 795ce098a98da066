"""Relevant pages of a crawl: scores of the crawl, annotations of the user, verdicts of the reviewer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.collection import HOST, create_collection

from topicrawl.collection.annotations import REVIEWER_ORIGIN, AnnotationLabel, annotate
from topicrawl.collection.page_relevance import list_seed_pages, load_page_relevance
from topicrawl.collection.store import CollectionStore


@pytest.fixture
def store(tmp_path: Path) -> CollectionStore:
    """A collection with six pages, of which page 5 has a score below the threshold, and a failed visit."""
    return CollectionStore(create_collection(tmp_path / "dengue") / "topicrawl.sqlite")


def list_numbers(urls: frozenset[str]) -> list[str]:
    return sorted(url.removeprefix(f"{HOST}/") for url in urls)


def test_scores_decide_without_annotations(store: CollectionStore) -> None:
    decisions = load_page_relevance(store, 0.55)
    assert list_numbers(decisions.relevant) == ["1", "2", "3", "4"]
    assert list_numbers(decisions.irrelevant) == ["5", "6"]
    assert not decisions.user_relevant


def test_annotations_correct_the_scores(store: CollectionStore) -> None:
    annotate(store, [f"{HOST}/5"], AnnotationLabel.RELEVANT, origin="review", at=1.0)
    annotate(store, [f"{HOST}/1"], AnnotationLabel.IRRELEVANT, origin="review", at=2.0)
    annotate(store, [f"{HOST}/2"], AnnotationLabel.UNSURE, origin="review", at=3.0)
    annotate(store, [f"{HOST}/6"], AnnotationLabel.RELEVANT, origin=REVIEWER_ORIGIN, at=4.0)
    decisions = load_page_relevance(store, 0.55)
    assert list_numbers(decisions.relevant) == ["2", "3", "4", "5", "6"]
    assert list_numbers(decisions.irrelevant) == ["1"]
    assert list_numbers(decisions.user_relevant) == ["5"], "a verdict of the model is not a decision of the user"


def test_seeds_are_the_fetched_pages_without_a_source(store: CollectionStore) -> None:
    assert list_seed_pages(store, 5) == [f"{HOST}/1"]
