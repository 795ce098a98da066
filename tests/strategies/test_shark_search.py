"""Tests of Shark-Search: figure 2 of Hersovici et al. 1998, computed by hand with decay .5, anchor .8, inherit .5."""

from __future__ import annotations

from random import Random

import pytest
from tests.helpers.visits import TOPIC, bind_strategy

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.shark_search import SharkSearch


class Fixed(Vsm):
    """Vector space model with a fixed page similarity."""

    page_similarity = 0.0

    def score(self, page: Page) -> float:
        return self.page_similarity


def score_page_links(
    similarity: float, links: list[Link], carry: JsonValue = None, spec: str = "shark_search"
) -> list[Priority | None]:
    vsm = Fixed(TOPIC)
    vsm.page_similarity = similarity
    crawler = create_strategy(spec)
    crawler.bind(StrategyContext(TOPIC, vsm, Random(0)))
    page = Page("http://a/", words=("dengue", "fever", "and", "railways"))
    return crawler.score_links(links, Visit(1, Link("http://a/"), Priority(1.0, carry), "http://a/", page, similarity))


SAYS = Link("http://b/", anchor="dengue fever")
AMID = Link("http://c/", anchor="more", before=("dengue",), after=("fever",))
SILENT = Link("http://d/", anchor="railways")


@pytest.mark.parametrize(
    ("link", "score"),
    [
        (SAYS, 0.5 * 0.2 + 0.5 * (0.8 * 1 + 0.2 * 1)),  # .6: the anchor is the topic, so its context is 1
        (SILENT, 0.5 * 0.2),  # .1: only the inherited score
    ],
)
def test_the_worked_example_of_a_page_of_similarity_point_4(link: Link, score: float) -> None:
    (place,) = score_page_links(0.4, [link])
    assert place is not None
    assert place.score == pytest.approx(score)


def test_words_around_an_anchor_without_topic_words_count() -> None:
    (place,) = score_page_links(0.4, [AMID])
    assert place is not None
    context = Vsm(TOPIC).score_text("dengue more fever")
    assert 0.5 < context <= 1
    assert place.score == pytest.approx(0.5 * 0.2 + 0.5 * 0.2 * context)


def test_the_window_bounds_the_context() -> None:
    far = Link("http://c/", anchor="more", before=("dengue", "railways"), after=("railways", "fever"))
    near, none = (score_page_links(0.4, [far], spec=f"shark_search:window={words}")[0] for words in (2, 1))
    assert near is not None
    assert none is not None
    assert near.score > none.score == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("similarity", "carry", "inherited", "depth"),
    [
        (0.4, [0.9, 1], 0.2, 3),  # a similar page passes on its own similarity and resets the depth
        (0.0, [0.4, 3], 0.2, 2),  # another page passes on its inherited score
        (0.0, [0.2, 1], 0.1, 0),
    ],
)
def test_the_inherited_score_decays_along_irrelevant_paths(
    similarity: float, carry: JsonValue, inherited: float, depth: int
) -> None:
    (place,) = score_page_links(similarity, [SILENT], carry)
    assert place is not None
    assert place.payload == [pytest.approx(inherited), depth]
    assert place.score == pytest.approx(0.5 * inherited)


def test_a_path_without_similarity_ends() -> None:
    assert score_page_links(0.0, [SAYS, SILENT], [0.1, 0]) == [None, None]


def test_seeds_have_a_full_inherited_score() -> None:
    assert bind_strategy("shark_search").score_seeds([SAYS]) == [Priority(1.0, [1.0, 3])]


def test_a_second_page_can_only_raise_a_priority() -> None:
    combined = SharkSearch().merge(Priority(0.4, [0.1, 3]), Priority(0.6, [0.3, 1]))
    assert (combined.score, combined.payload) == (0.6, [0.3, 3])


@pytest.mark.parametrize("wrong", ["decay=1.1", "anchor=-0.1", "inherit=2", "depth=0", "window=21"])
def test_invalid_numbers_are_rejected(wrong: str) -> None:
    with pytest.raises(StrategyError, match="shark_search"):
        create_strategy(f"shark_search:{wrong}")
