"""Ordering by PageRank: ranks of a small graph by hand, growth, memory, restart."""

from __future__ import annotations

import json
from typing import cast

import pytest

from topicrawl.errors import StrategyError
from topicrawl.strategies import make
from topicrawl.strategies.pagerank import PageRank

from .visits import begun, scores, visited


def test_the_ranks_of_four_pages_by_hand() -> None:
    """Page a links to b and c, b to c and d; c and d wait.

    With d = .9 and x the rank of a page without in-links: a = x, b = x + .9·x/2 = 1.45 x,
    c = x + .9·x/2 + .9·1.45 x/2 = 2.1025 x, d = x + .9·1.45 x/2 = 1.6525 x; together 6.205 x = 4.
    """
    crawler = begun("pagerank")
    crawler.learn(visited("http://a/", ["http://b/", "http://c/"]))
    crawler.revise()
    crawler.learn(visited("http://b/", ["http://c/", "http://d/"]))
    found = crawler.revise()
    x = 4 / 6.205
    expected = {"http://c/": 2.1025 * x, "http://d/": 1.6525 * x}
    assert found == {url: pytest.approx(rank / (rank + 1), abs=1e-4) for url, rank in expected.items()}


def test_between_two_computations_a_link_hands_on_its_share_at_once() -> None:
    crawler = cast(PageRank, begun("pagerank"))
    first = visited("http://a/", [f"http://u/{n}" for n in range(40)])
    crawler.learn(first)
    crawler.revise()
    before = scores(crawler, first)["http://u/1"]
    crawler.learn(visited("http://u/0", ["http://u/1"]))
    assert crawler.revise() == {}, "a fortieth more links is no reason to compute everything"
    after = scores(crawler, first)["http://u/1"]
    rank = before / (1 - before)
    assert after / (1 - after) == pytest.approx(rank + 0.9 * rank)


def test_only_urls_that_wait_get_new_scores() -> None:
    crawler = begun("pagerank")
    told: set[str] = set()
    pages = [f"http://p/{n}" for n in range(30)]
    for number, url in enumerate(pages):
        crawler.learn(visited(url, pages[number + 1 : number + 4] + pages[:3]))
        found = set(crawler.revise())
        assert found.isdisjoint(pages[: number + 1])
        told |= found
    assert told


def test_all_is_computed_ever_more_rarely() -> None:
    crawler = begun("pagerank")
    computed = []
    for number in range(600):
        crawler.learn(visited(f"http://p/{number}", [f"http://p/{(number * 7 + n) % 900}" for n in range(1, 6)]))
        if crawler.revise():
            computed.append(number)
    assert len(computed) < 70
    assert computed[-1] - computed[-2] > 20


def test_memory_and_state_are_bounded() -> None:
    crawler = cast(PageRank, begun("pagerank:urls=200"))
    sizes = []
    for number in range(500):
        crawler.learn(visited(f"http://p/{number}", ["http://hub/", *(f"http://u/{number}/{n}" for n in range(9))]))
        crawler.revise()
        sizes.append(len(crawler._graph.urls))
    assert max(sizes) < 300
    assert len(json.dumps(crawler.state())) < 20_000
    found = scores(crawler, visited("http://z/", ["http://hub/", "http://never/"]))
    assert found["http://hub/"] > found["http://never/"], "what many link to is not forgotten"


def test_a_page_that_comes_twice_counts_once() -> None:
    once, twice = begun("pagerank"), begun("pagerank")
    for crawler, times in ((once, 1), (twice, 2)):
        for _ in range(times):
            crawler.learn(visited("http://a/", ["http://b/"]))
    assert once.state() == twice.state()


@pytest.mark.parametrize("wrong", ["damping=1", "damping=-0.1", "urls=0"])
def test_numbers_that_make_no_sense_are_refused(wrong: str) -> None:
    with pytest.raises(StrategyError, match="pagerank"):
        make(f"pagerank:{wrong}")
