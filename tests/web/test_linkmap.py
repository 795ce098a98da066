"""The map: every host in one community, those together that link to each other, and no name that is more than text."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.web.linkmap import LinkMap, communities, map_svg

NAMES = st.sampled_from("abcdefgh")


@given(st.dictionaries(st.tuples(NAMES, NAMES), st.integers(1, 50)))
def test_every_host_is_in_one_community(ways: dict[tuple[str, str], int]) -> None:
    found = communities("abcdefgh", ways)
    assert sorted(name for group in found for name in group) == list("abcdefgh")
    assert [len(group) for group in found] == sorted((len(group) for group in found), reverse=True)


def test_two_circles_with_one_link_between_them_are_two_communities() -> None:
    circles = ("abcd", "wxyz")
    ways = {(one, other): 3 for circle in circles for one in circle for other in circle if one != other}
    assert communities("awbxcydz", {**ways, ("d", "w"): 1}) == [list("abcd"), list("wxyz")]


def test_names_of_hosts_are_text_in_the_picture() -> None:
    evil = "<script>alert(1)</script>"
    drawn = LinkMap(Counter({evil: 2, "b": 1}), Counter({(evil, "b"): 1}), [[evil], ["b"]], 2)
    assert "<script" not in map_svg(drawn)
    assert map_svg(LinkMap(Counter(), Counter(), [], 0)) == ""
