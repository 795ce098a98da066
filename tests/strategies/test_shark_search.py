"""Shark-Search: figure 2 of Hersovici et al. 1998, computed by hand with decay .5, anchor .8, inherit .5."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.shark_search import SharkSearch
from topicrawl.strategies.strategy import Setting

from .visits import TOPIC, begun


class Fixed(Vsm):
    """A page is as similar as told."""

    page_similarity = 0.0

    def score(self, page: Page) -> float:
        return self.page_similarity


def placed(similarity: float, links: list[Link], carry: Carry = None, spec: str = "shark_search") -> list[Place | None]:
    vsm = Fixed(TOPIC)
    vsm.page_similarity = similarity
    crawler = make(spec)
    crawler.begin(Setting(TOPIC, vsm, Random(0)))
    page = Page("http://a/", words=("dengue", "fever", "and", "railways"))
    return crawler.place(links, Visit(1, Link("http://a/"), Place(1.0, carry), "http://a/", page, similarity))


SAYS = Link("http://b/", anchor="dengue fever")
AMID = Link("http://c/", anchor="more", before=("dengue",), after=("fever",))
SILENT = Link("http://d/", anchor="railways")


@pytest.mark.parametrize(
    ("link", "score"),
    [
        (SAYS, 0.5 * 0.2 + 0.5 * (0.8 * 1 + 0.2 * 1)),  # .6: the anchor is the topic, so its context counts 1
        (SILENT, 0.5 * 0.2),  # .1: nothing but what is inherited
    ],
)
def test_the_worked_example_of_a_page_of_similarity_point_4(link: Link, score: float) -> None:
    (place,) = placed(0.4, [link])
    assert place is not None
    assert place.score == pytest.approx(score)


def test_words_around_a_silent_anchor_count_as_much_as_the_context_is_worth() -> None:
    (place,) = placed(0.4, [AMID])
    assert place is not None
    context = Vsm(TOPIC).phrase("dengue more fever")
    assert 0.5 < context <= 1
    assert place.score == pytest.approx(0.5 * 0.2 + 0.5 * 0.2 * context)


def test_the_window_bounds_the_context() -> None:
    far = Link("http://c/", anchor="more", before=("dengue", "railways"), after=("railways", "fever"))
    near, none = (placed(0.4, [far], spec=f"shark_search:window={words}")[0] for words in (2, 1))
    assert near is not None
    assert none is not None
    assert near.score > none.score == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("similarity", "carry", "inherited", "depth"),
    [
        (0.4, [0.9, 1], 0.2, 3),  # a similar page hands down its own similarity, and the way starts anew
        (0.0, [0.4, 3], 0.2, 2),  # another one hands down what it inherited itself
        (0.0, [0.2, 1], 0.1, 0),
    ],
)
def test_what_is_inherited_fades_along_a_way_without_similarity(
    similarity: float, carry: Carry, inherited: float, depth: int
) -> None:
    (place,) = placed(similarity, [SILENT], carry)
    assert place is not None
    assert place.carry == [pytest.approx(inherited), depth]
    assert place.score == pytest.approx(0.5 * inherited)


def test_a_way_without_any_similarity_ends() -> None:
    assert placed(0.0, [SAYS, SILENT], [0.1, 0]) == [None, None]


def test_seeds_inherit_all() -> None:
    assert begun("shark_search").seeds([SAYS]) == [Place(1.0, [1.0, 3])]


def test_a_second_page_can_only_better_a_link() -> None:
    combined = SharkSearch().combine(Place(0.4, [0.1, 3]), Place(0.6, [0.3, 1]))
    assert (combined.score, combined.carry) == (0.6, [0.3, 3])


@pytest.mark.parametrize("wrong", ["decay=1.1", "anchor=-0.1", "inherit=2", "depth=0", "window=21"])
def test_numbers_that_make_no_sense_are_refused(wrong: str) -> None:
    with pytest.raises(StrategyError, match="shark_search"):
        make(f"shark_search:{wrong}")
