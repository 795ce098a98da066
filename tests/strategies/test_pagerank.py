"""Tests of PageRank ordering: ranks computed by hand, growth, memory, restart."""

from __future__ import annotations

import json
from typing import cast

import pytest
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.strategies import create_strategy
from topicrawl.strategies.pagerank import PageRank


def test_the_ranks_of_four_pages_by_hand() -> None:
    """Page a links to b and c, b links to c and d, and c and d wait.

    With d = .9 and the rank x of a page without in-links: a = x, b = x + .9·x/2 = 1.45 x, c = x + .9·x/2 + .9·1.45 x/2
    = 2.1025 x, d = x + .9·1.45 x/2 = 1.6525 x. The sum is 6.205 x = 4.
    """
    crawler = bind_strategy("pagerank")
    crawler.learn(build_visit("http://a/", ["http://b/", "http://c/"]))
    crawler.rescore()
    crawler.learn(build_visit("http://b/", ["http://c/", "http://d/"]))
    found = crawler.rescore()
    x = 4 / 6.205
    expected = {"http://c/": 2.1025 * x, "http://d/": 1.6525 * x}
    assert found == {url: pytest.approx(rank / (rank + 1), abs=1e-4) for url, rank in expected.items()}


def test_between_two_computations_a_link_passes_its_share_at_once() -> None:
    crawler = cast(PageRank, bind_strategy("pagerank"))
    first = build_visit("http://a/", [f"http://u/{n}" for n in range(40)])
    crawler.learn(first)
    crawler.rescore()
    before = score_visit_links(crawler, first)["http://u/1"]
    crawler.learn(build_visit("http://u/0", ["http://u/1"]))
    assert crawler.rescore() == {}, "a fortieth more links does not trigger a full computation"
    after = score_visit_links(crawler, first)["http://u/1"]
    rank = before / (1 - before)
    assert after / (1 - after) == pytest.approx(rank + 0.9 * rank)


def test_only_urls_that_wait_get_new_scores() -> None:
    crawler = bind_strategy("pagerank")
    rescored: set[str] = set()
    pages = [f"http://p/{n}" for n in range(30)]
    for number, url in enumerate(pages):
        crawler.learn(build_visit(url, pages[number + 1 : number + 4] + pages[:3]))
        found = set(crawler.rescore())
        assert found.isdisjoint(pages[: number + 1])
        rescored |= found
    assert rescored


def test_full_computations_become_rarer() -> None:
    crawler = bind_strategy("pagerank")
    computed = []
    for number in range(600):
        crawler.learn(build_visit(f"http://p/{number}", [f"http://p/{(number * 7 + n) % 900}" for n in range(1, 6)]))
        if crawler.rescore():
            computed.append(number)
    assert len(computed) < 70
    assert computed[-1] - computed[-2] > 20


def test_memory_and_state_are_bounded() -> None:
    crawler = cast(PageRank, bind_strategy("pagerank:urls=200"))
    sizes = []
    for number in range(500):
        crawler.learn(build_visit(f"http://p/{number}", ["http://hub/", *(f"http://u/{number}/{n}" for n in range(9))]))
        crawler.rescore()
        sizes.append(len(crawler._graph.urls))
    assert max(sizes) < 300
    assert len(json.dumps(crawler.get_state())) < 20_000
    found = score_visit_links(crawler, build_visit("http://z/", ["http://hub/", "http://never/"]))
    assert found["http://hub/"] > found["http://never/"], "targets of many links are not dropped"


def test_a_repeated_page_counts_once() -> None:
    once, twice = bind_strategy("pagerank"), bind_strategy("pagerank")
    for crawler, times in ((once, 1), (twice, 2)):
        for _ in range(times):
            crawler.learn(build_visit("http://a/", ["http://b/"]))
    assert once.get_state() == twice.get_state()


@pytest.mark.parametrize("wrong", ["damping=1", "damping=-0.1", "urls=0"])
def test_invalid_numbers_are_rejected(wrong: str) -> None:
    with pytest.raises(StrategyError, match="pagerank"):
        create_strategy(f"pagerank:{wrong}")
