"""Sampled review: a fifth of a group is reviewed, and three quarters of it must be relevant."""

from __future__ import annotations

import pytest

from topicrawl.collection import review
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import ReviewCandidate, ReviewGroup
from topicrawl.urls import fingerprint

YES, NO, UNSURE = AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT, AnnotationLabel.UNSURE


def page(number: int, relevance: float = 0.3, *, place: str = "owls", reason: str = "anchor") -> ReviewCandidate:
    url = f"http://a.example/{place}/{number}"
    return ReviewCandidate(url, f"Page {number}", relevance, reason, fingerprint(url))


def test_groups_are_a_directory_and_the_metric_that_chose() -> None:
    pages = [page(1), page(2, reason="page"), page(3, place="trains"), page(4), page(5, 0.05)]
    made = review.build_groups(pages, 0.16)
    kinds = {(group.directory, group.reason, len(group.pages)) for group in made}
    root = "http://a.example/"
    assert kinds == {
        (f"{root}owls/", "anchor", 2),
        (f"{root}owls/", "page", 1),
        (f"{root}trains/", "anchor", 1),
        ("", "rejected", 1),
    }


@pytest.mark.parametrize(("size", "read"), [(1, 1), (5, 1), (6, 2), (10, 2), (100, 20)])
def test_a_fifth_of_a_group_is_read(size: int, read: int) -> None:
    (group,) = review.build_groups([page(n) for n in range(size)], 0.16)
    assert len(group.sample) == read
    assert group.pages_to_review == list(group.sample)


@pytest.mark.parametrize(
    ("verdicts", "accepted"),
    [
        ((YES, YES, YES, YES), True),
        ((YES, YES, YES, NO), True),
        ((YES, YES, NO, NO), False),
        ((YES, YES, YES, UNSURE), True),
        ((NO, NO, NO, NO), False),
    ],
    ids=lambda it: "".join(str(one)[0] for one in it) if isinstance(it, tuple) else str(it),
)
def test_three_quarters_of_the_sample_decide(verdicts: tuple[AnnotationLabel, ...], accepted: bool) -> None:
    pages = [page(n) for n in range(20)]
    sample = [one._replace(label=verdict) for one, verdict in zip(pages, verdicts, strict=False)]
    group = ReviewGroup("d", "anchor", [*sample, *pages[4:]], sample=sample)
    assert group.is_accepted is accepted
    assert len(group.implied_urls) == (16 if accepted else 0)
    assert len(group.pages_to_review) == (0 if accepted else 16)


def test_the_least_sure_pages_come_first_and_rejected_ones_last() -> None:
    pages = [page(1, 0.9, place="a"), page(2, 0.17, place="b"), page(3, 0.3, place="c"), page(4, 0.15, place="d")]
    waiting = review.build_review_queue(review.build_groups(pages, 0.16), 0.16)
    assert [one.url[-1] for one, _ in waiting] == ["2", "3", "1", "4"]


def test_a_sample_hardly_changes_when_pages_come_in() -> None:
    few = [page(n) for n in range(50)]
    before = {one.url for one in review.draw_sample(few, 10, 0.16)}
    after = {one.url for one in review.draw_sample([*few, page(50)], 11, 0.16)}
    assert len(before & after) >= 10


def test_undoubted_pages_have_four_times_the_odds_of_the_threshold() -> None:
    pages = [page(1, 0.81), page(2, 0.79), page(3, 0.9)._replace(label=NO)]
    assert review.list_certain_pages(pages, 0.5) == [page(1).url]


def test_what_was_missed_is_counted_among_the_rejected_that_were_read() -> None:
    pages = [
        page(1, 0.1)._replace(label=YES),
        page(2, 0.1)._replace(label=NO),
        page(3, 0.1),
        page(4, 0.5)._replace(label=YES),
    ]
    assert review.count_missed_pages(pages, 0.16) == (2, 1)
