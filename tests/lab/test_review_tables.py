"""Tables 4 to 8 of Kluev 2000, computed from the pages of a crawl."""

from __future__ import annotations

import pytest

from topicrawl.collection.review import ReviewCandidate
from topicrawl.lab.review_tables import build_review_tables
from topicrawl.models import PageJudgement

#: Table 4 and 5: group → recommended pages, irrelevant ones among them.
ALGORITHMS = {"undoubted": (2678, 107), "vsm": (626, 113), "passage": (2025, 402), "directory": (2826, 598)}
LANGUAGES = {"undoubted": (2980, 57), "vsm": (1212, 98), "passage": (1008, 101), "directory": (2887, 306)}


def make_pages(groups: dict[str, tuple[int, int]]) -> tuple[list[ReviewCandidate], dict[str, bool]]:
    """Return the pages of a crawl and the judgement on each of them."""
    pages, judgements = [], {}
    for name, (count, irrelevant) in groups.items():
        for number in range(count):
            url = f"http://a.example/{name}/{number}"
            pages.append(ReviewCandidate(url, "", 0.9, PageJudgement(name), len(pages)))
            judgements[url] = number >= irrelevant
    return pages, judgements


@pytest.mark.parametrize(
    ("groups", "undoubted", "pooled", "doubtful"),
    [(ALGORITHMS, 0.96, 0.8504, 5477), (LANGUAGES, 0.98, 0.9305, 5107)],
    ids=["algorithms", "programming languages"],
)
def test_tables_of_the_paper(
    groups: dict[str, tuple[int, int]], undoubted: float, pooled: float, doubtful: int
) -> None:
    """The printed Table 6 ignores the errors of Table 5; the pooled precision includes them."""
    tables = build_review_tables(*make_pages(groups))
    assert [(group.name, group.pages) for group in tables.groups] == [
        ("undoubted", groups["undoubted"][0]),
        *((name, groups[name][0]) for name in ("directory", "passage", "vsm")),
    ]
    assert round(tables.groups[0].precision or 0, 2) == undoubted
    assert tables.pooled.precision == pooled
    assert (tables.recommended, tables.doubtful) == (sum(pages for pages, _ in groups.values()), doubtful)


def test_groups_are_extrapolated_separately() -> None:
    pages, judgements = make_pages({"undoubted": (900, 0), "vsm": (100, 50), "": (500, 450)})
    names = {"undoubted": range(9), "vsm": range(25, 75), "": range(440, 480)}
    sample = {f"http://a.example/{name}/{number}" for name, numbers in names.items() for number in numbers}
    tables = build_review_tables(pages, {url: judgements[url] for url in sample})
    assert (tables.pooled.relevant, tables.pooled.precision) == (950.0, 0.95)
    assert tables.rejected.relevant == 375.0
    assert tables.recall is not None
    assert tables.recall.value == pytest.approx(950 / 1325)
    assert (tables.doubtful_judged, tables.effort) == (50, 0.05)


def test_group_without_a_judged_page_leaves_the_pooled_precision_open() -> None:
    pages, judgements = make_pages({"undoubted": (10, 0), "vsm": (10, 0)})
    tables = build_review_tables(pages, {url: value for url, value in judgements.items() if "vsm" in url})
    assert tables.groups[0].precision is None
    assert (tables.pooled.precision, tables.recall) == (None, None)
