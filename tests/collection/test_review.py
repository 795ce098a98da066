"""Sampled review: a fifth of a group is reviewed, and more than three quarters of it must be relevant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.collection import HOST, create_collection

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import review
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import ReviewCandidate, ReviewGroup
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import DamagedError, UsageError
from topicrawl.models import PageJudgement
from topicrawl.urls import fingerprint

YES, NO, UNSURE = AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT, AnnotationLabel.UNSURE


def page(number: int, relevance: float = 0.6, *, place: str = "owls", group: str = "vsm") -> ReviewCandidate:
    url = f"http://a.example/{place}/{number}"
    return ReviewCandidate(url, f"Page {number}", relevance, PageJudgement(group), fingerprint(url))


def pages(count: int, **options: str) -> list[ReviewCandidate]:
    return [page(number, **options) for number in range(count)]  # type: ignore[arg-type]


def judge(candidate: ReviewCandidate, label: AnnotationLabel) -> ReviewCandidate:
    return candidate._replace(label=label, is_reviewed=True)


def test_groups_are_a_directory_and_the_metric_that_selected_the_page() -> None:
    candidates = [
        *pages(10),
        *pages(12, place="trains"),
        *pages(11, group="passage"),
        page(50, group="undoubted"),
        page(51, group=""),
    ]
    made = review.build_groups(candidates, 0.5)
    assert {(group.name, len(group.pages), group.can_decide) for group in made} == {
        ("vsm http://a.example/owls/", 10, True),
        ("vsm http://a.example/trains/", 12, True),
        ("passage http://a.example/owls/", 11, True),
        ("undoubted", 1, False),
        ("rejected", 1, False),
    }


def test_the_directory_heuristic_recommends_pages_that_were_judged_earlier() -> None:
    """Kluev 2000, section 4: if one document in a directory is relevant, so are its siblings."""
    unknown = PageJudgement("", (), {"terms": 0.1, "directory": 0.0})
    earlier, elsewhere = (page(n, 0.1, place=place)._replace(judgement=unknown) for n, place in ((1, "owls"), (2, "x")))
    other_judge = page(3, 0.1, group="")
    later = page(4, group="undoubted")
    found = review.apply_directory_heuristic([earlier, elsewhere, other_judge, later])
    assert [candidate.judgement.group for candidate in found] == ["directory", "", "", "undoubted"]
    assert found[0].judgement.scores == unknown.scores


def test_small_directories_are_merged_into_their_parents_and_hosts() -> None:
    small = [candidate for number in range(12) for candidate in pages(2, place=f"deep/{number}")]
    other = ReviewCandidate("http://b.example/x", "", 0.6, PageJudgement("vsm"), 1)
    made = review.build_groups([*small, *pages(30, place="large"), other], 0.5)
    sizes = {group.name: len(group.pages) for group in made}
    assert sizes == {"vsm http://a.example/deep/": 24, "vsm http://a.example/large/": 30, "vsm": 1}
    # Without merging, the samples have 12 + 6 + 1 pages.
    assert sum(len(group.sample) for group in made) == 5 + 6 + 1


@pytest.mark.parametrize(("size", "read"), [(1, 1), (7, 1), (8, 2), (10, 2), (100, 20)])
def test_a_fifth_of_a_group_is_read(size: int, read: int) -> None:
    (group,) = review.build_groups(pages(size), 0.5)
    assert len(group.sample) == read
    assert group.pages_to_review == list(group.sample)


@pytest.mark.parametrize(
    ("verdicts", "decision"),
    [
        ((YES, YES, YES, YES), YES),
        ((YES, YES, YES, NO), NO),  # exactly three quarters are not enough
        ((YES, YES, YES, YES, NO), YES),
        ((YES, YES, YES, UNSURE), NO),
        ((NO, NO, NO, NO), NO),
    ],
    ids=lambda it: "".join(str(one)[0] for one in it) if isinstance(it, tuple) else str(it),
)
def test_more_than_three_quarters_of_the_sample_decide(
    verdicts: tuple[AnnotationLabel, ...], decision: AnnotationLabel
) -> None:
    """Kluev 2000, section 4, step 7: "if more that 75% of them were relevant"."""
    candidates = pages(20)
    sample = [judge(one, verdict) for one, verdict in zip(candidates, verdicts, strict=False)]
    group = ReviewGroup("vsm", "d", [*sample, *candidates[len(sample) :]], sample=sample)
    assert group.decision is decision
    assert len(group.undecided_urls) == 20 - len(sample)
    assert group.pages_to_review == []


def test_a_sample_that_is_not_complete_decides_nothing() -> None:
    candidates = pages(20)
    group = ReviewGroup("vsm", "d", candidates, sample=[judge(candidates[0], YES), candidates[1]])
    assert group.decision is None


def test_the_least_sure_pages_come_first_and_control_samples_last() -> None:
    candidates = [
        page(1, 0.9, place="a"),
        page(2, 0.51, place="b", group="passage"),
        page(3, 0.6, place="c", group="directory"),
        page(4, 0.49, group=""),
    ]
    waiting = review.build_review_queue(review.build_groups(candidates, 0.5), 0.5)
    assert [one.url[-1] for one, _ in waiting] == ["2", "3", "1", "4"]


def test_a_sample_hardly_changes_when_pages_come_in() -> None:
    few = pages(50)
    before = {one.url for one in review.draw_sample(few, 10, 0.5)}
    after = {one.url for one in review.draw_sample([*few, page(50)], 11, 0.5)}
    assert len(before & after) >= 10


def test_undoubted_pages_without_a_label_can_be_accepted() -> None:
    candidates = [page(1, group="undoubted"), page(2), judge(page(3, group="undoubted"), NO)]
    assert review.list_undoubted_pages(candidates) == [page(1).url]


def test_missed_pages_are_counted_among_the_reviewed_pages_that_were_rejected() -> None:
    candidates = [judge(page(1, group=""), YES), judge(page(2, group=""), NO), page(3, group=""), judge(page(4), YES)]
    assert review.count_missed_pages(candidates) == (2, 1)


# Decisions in a stored collection


def make_url(number: int) -> str:
    return f"{HOST}/{number}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CollectionStore]:
    body = "<p>owls</p>"
    create_collection(tmp_path / "owls", {number: (body, {}, "en", 0.6) for number in range(1, 31)})
    store = CollectionStore(tmp_path / "owls" / "topicrawl.sqlite")
    yield store
    store.close()


def list_labels(store: CollectionStore) -> dict[str, str]:
    return {row.url: str(row.label) for row in annotation_log.list_current_annotations(store).values()}


def review_sample(store: CollectionStore, label: AnnotationLabel) -> list[str]:
    """Give the whole sample of the only group one label. Return the URLs of the sample."""
    (group,) = review.build_groups(review.load_candidates(store, 0.5), 0.5)
    urls = [candidate.url for candidate in group.sample]
    review.review_pages(store, dict.fromkeys(urls, label), 0.5, origin="read", at=1.0)
    return urls


def test_pages_of_earlier_versions_are_grouped_by_their_relevance(store: CollectionStore) -> None:
    (group,) = review.build_groups(review.load_candidates(store, 0.5), 0.5)
    assert (group.metric, len(group.pages), len(group.sample)) == ("relevance", 30, 6)


@pytest.mark.parametrize("label", [YES, NO])
def test_a_complete_sample_labels_the_other_pages_and_undo_restores_them(
    store: CollectionStore, label: AnnotationLabel
) -> None:
    sample = review_sample(store, label)
    assert list_labels(store) == {make_url(number): label for number in range(1, 31)}
    annotation_log.undo_last_action(store, at=2.0)
    assert list_labels(store) == dict.fromkeys(sample, label)
    annotation_log.undo_last_action(store, at=3.0)
    assert list_labels(store) == {}


def test_a_changed_verdict_on_a_sampled_page_revokes_the_acceptance(store: CollectionStore) -> None:
    sample = review_sample(store, YES)
    # Five of six are more than three quarters: the group stays accepted.
    annotation_log.annotate(store, sample[:1], NO, origin="read", at=2.0)
    assert len(list_labels(store)) == 30
    annotation_log.annotate(store, sample[1:2], UNSURE, origin="feedback", at=3.0)
    assert list_labels(store) == {sample[0]: "irrelevant", sample[1]: "unsure"} | dict.fromkeys(sample[2:], "relevant")
    # The undo restores the verdict and with it the acceptance.
    annotation_log.undo_last_action(store, at=4.0)
    assert len(list_labels(store)) == 30
    # The restored acceptance is revoked like the first one.
    annotation_log.annotate(store, sample[1:2], NO, origin="read", at=5.0)
    assert len(list_labels(store)) == 6


def test_a_changed_verdict_in_the_review_rejects_the_group_instead(store: CollectionStore) -> None:
    sample = review_sample(store, YES)
    decisions = review.review_pages(store, dict.fromkeys(sample[:2], NO), 0.5, origin="read", at=2.0)
    assert [(decision.label, decision.pages) for decision in decisions] == [(NO, 24)]
    assert list_labels(store) == dict.fromkeys(map(make_url, range(1, 31)), "irrelevant") | dict.fromkeys(
        sample[2:], "relevant"
    )


def test_a_revoked_acceptance_restores_the_verdict_of_the_reviewer(store: CollectionStore) -> None:
    (group,) = review.build_groups(review.load_candidates(store, 0.5), 0.5)
    other = next(one.url for one in group.pages if one not in group.sample)
    annotation_log.annotate(store, [other], NO, origin=annotation_log.REVIEWER_ORIGIN, at=0.5)
    sample = review_sample(store, YES)
    assert list_labels(store)[other] == "relevant"
    annotation_log.annotate(store, sample, UNSURE, origin="read", at=2.0)
    row = annotation_log.find_annotation(store, other)
    assert row is not None
    assert (row.label, row.is_by_reviewer) == (NO, True)


def test_own_verdicts_on_other_pages_of_the_group_stay(store: CollectionStore) -> None:
    review.review_pages(store, {make_url(number): NO for number in (1, 2, 3)}, 0.5, origin="read", at=0.5)
    sample = review_sample(store, YES)
    own = {make_url(number) for number in (1, 2, 3)} - set(sample)
    assert {url for url, label in list_labels(store).items() if label == "irrelevant"} == own


def test_a_group_is_labelled_by_its_name(store: CollectionStore) -> None:
    (group,) = review.build_groups(review.load_candidates(store, 0.5), 0.5)
    assert review.label_group(store, review.find_group([group], group.name), NO, at=1.0).pages == 30
    assert set(list_labels(store).values()) == {"irrelevant"}
    with pytest.raises(UsageError, match="there is no review group 'x': the groups are"):
        review.find_group([group], "x")


@pytest.mark.parametrize("stored", ["{", '{"group": 1}'])
def test_a_damaged_judgement_is_reported(store: CollectionStore, stored: str) -> None:
    with store.db.transaction():
        store.db.execute("UPDATE pages SET judgement = ?", (stored,))
    with pytest.raises(DamagedError, match="a judgement cannot be read"):
        review.load_candidates(store, 0.5)
