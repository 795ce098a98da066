"""Link map: every host is in one community, hosts that link to each other are together, and names are escaped."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.web.link_map import LinkMap, find_communities, render_map

NAMES = st.sampled_from("abcdefgh")


@given(st.dictionaries(st.tuples(NAMES, NAMES), st.integers(1, 50)))
def test_every_host_is_in_one_community(ways: dict[tuple[str, str], int]) -> None:
    groups = find_communities("abcdefgh", ways)
    assert sorted(name for group in groups for name in group) == list("abcdefgh")
    assert [len(group) for group in groups] == sorted((len(group) for group in groups), reverse=True)


def test_two_cliques_with_one_link_between_them_are_two_communities() -> None:
    cliques = ("abcd", "wxyz")
    ways = {(one, other): 3 for clique in cliques for one in clique for other in clique if one != other}
    assert find_communities("awbxcydz", {**ways, ("d", "w"): 1}) == [list("abcd"), list("wxyz")]


def test_host_names_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    drawn = LinkMap(Counter({evil: 2, "b": 1}), Counter({(evil, "b"): 1}), [[evil], ["b"]], 2)
    assert "<script" not in render_map(drawn)
    assert render_map(LinkMap(Counter(), Counter(), [], 0)) == ""
