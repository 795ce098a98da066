"""A fifth of a group is read, and three quarters of that decide on the rest."""

from __future__ import annotations

import pytest

from topicrawl.collection import review
from topicrawl.collection.review import Candidate, Group
from topicrawl.collection.verdicts import Ruling
from topicrawl.urls import fingerprint

YES, NO, UNSURE = Ruling.RELEVANT, Ruling.IRRELEVANT, Ruling.UNSURE


def page(number: int, relevance: float = 0.3, *, place: str = "owls", reason: str = "anchor") -> Candidate:
    url = f"http://a.example/{place}/{number}"
    return Candidate(url, f"Page {number}", relevance, reason, fingerprint(url))


def test_groups_are_a_directory_and_the_metric_that_chose() -> None:
    pages = [page(1), page(2, reason="page"), page(3, place="trains"), page(4), page(5, 0.05)]
    made = review.groups(pages, 0.16)
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
    (group,) = review.groups([page(n) for n in range(size)], 0.16)
    assert len(group.sample) == read
    assert group.unread == list(group.sample)


@pytest.mark.parametrize(
    ("verdicts", "accepted"),
    [((YES, YES, YES, YES), True), ((YES, YES, YES, NO), True),
     ((YES, YES, NO, NO), False), ((YES, YES, YES, UNSURE), True),
     ((NO, NO, NO, NO), False)],
    ids=lambda it: "".join(str(one)[0] for one in it) if isinstance(it, tuple) else str(it),
)  # fmt: skip
def test_three_quarters_of_the_sample_decide(verdicts: tuple[Ruling, ...], accepted: bool) -> None:
    pages = [page(n) for n in range(20)]
    sample = [one._replace(verdict=verdict) for one, verdict in zip(pages, verdicts, strict=False)]
    group = Group("d", "anchor", [*sample, *pages[4:]], sample=sample)
    assert group.accepted is accepted
    assert len(group.implied) == (16 if accepted else 0)
    assert len(group.unread) == (0 if accepted else 16)


def test_the_least_sure_pages_come_first_and_rejected_ones_last() -> None:
    pages = [page(1, 0.9, place="a"), page(2, 0.17, place="b"), page(3, 0.3, place="c"), page(4, 0.15, place="d")]
    waiting = review.queue(review.groups(pages, 0.16), 0.16)
    assert [one.url[-1] for one, _ in waiting] == ["2", "3", "1", "4"]


def test_a_sample_hardly_changes_when_pages_come_in() -> None:
    few = [page(n) for n in range(50)]
    before = {one.url for one in review.sampled(few, 10, 0.16)}
    after = {one.url for one in review.sampled([*few, page(50)], 11, 0.16)}
    assert len(before & after) >= 10


def test_undoubted_pages_are_twice_as_similar_as_it_takes() -> None:
    assert review.undoubted([page(1, 0.32), page(2, 0.31), page(3, 0.5)._replace(verdict=NO)], 0.16) == [page(1).url]


def test_what_was_missed_is_counted_among_the_rejected_that_were_read() -> None:
    pages = [
        page(1, 0.1)._replace(verdict=YES),
        page(2, 0.1)._replace(verdict=NO),
        page(3, 0.1),
        page(4, 0.5)._replace(verdict=YES),
    ]
    assert review.missed(pages, 0.16) == (2, 1)
