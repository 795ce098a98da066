"""Tests of ontologies: paths, depths and related terms, compared with an exhaustive search."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.text.ontology import Ontology
from topicrawl.text.thesaurus import parse_thesaurus

ANIMALS = """\
dog\tis_a\tcanine
wolf\tis_a\tcanine
canine\tis_a\tanimal
cat\tis_a\tanimal
hound\tsame_as\tdog
paw\tpart_of\tdog
dog\trelated\tkennel
guard dog\tis_a\tdog
"""


@pytest.fixture
def animals() -> Ontology:
    return parse_thesaurus(ANIMALS, "animals.tsv")


def one(net: Ontology, term: str) -> int:
    (synset,) = net.get_senses(term)
    return synset


@pytest.mark.parametrize(
    ("here", "there", "kinds", "all_relations"),
    [
        ("dog", "dog", 0, 0),
        ("dog", "hound", 0, 0),
        ("dog", "canine", 1, 1),
        ("dog", "wolf", 2, 2),
        ("dog", "cat", 3, 3),
        ("paw", "dog", None, 1),
        ("paw", "wolf", None, 3),
        ("kennel", "dog", None, 1),
        ("kennel", "wolf", None, 3),
    ],
)
def test_path_goes_through_a_common_ancestor(
    animals: Ontology, here: str, there: str, kinds: int | None, all_relations: int | None
) -> None:
    a, b = one(animals, here), one(animals, there)
    assert animals.distance(a, b) == animals.distance(b, a) == kinds
    assert animals.distance(a, b, include_parts=True) == animals.distance(b, a, include_parts=True) == all_relations


def test_depth_is_the_distance_from_the_root(animals: Ontology) -> None:
    assert [animals.depth(one(animals, term)) for term in ("animal", "canine", "dog", "kennel")] == [1, 2, 3, 1]
    assert animals.common_depth(one(animals, "dog"), one(animals, "cat")) == 1
    assert animals.common_depth(one(animals, "dog"), one(animals, "kennel")) is None


def test_related_terms_are_one_step_away(animals: Ontology) -> None:
    assert set(animals.get_related_terms("dog")) == {"hound", "canine", "paw", "kennel", "guard dog"}
    assert set(animals.get_related_terms("hound")) == {"dog", "canine", "paw", "kennel", "guard dog"}


def test_multi_word_terms_are_found_in_a_text(animals: Ontology) -> None:
    assert animals.find_phrases(["the", "guard", "dogs", "slept"]) == ["guard dogs"]
    assert animals.find_phrases([]) == animals.find_phrases(["guard"]) == []


# Numbered terms, each a kind or a part of terms with lower numbers, so that there are no cycles.
edges = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 8), st.sampled_from(["is_a", "part_of"])).filter(lambda e: e[1] < e[0]),
    min_size=1,
    max_size=20,
)


def enumerate_paths(rows: dict[int, set[int]], start: int) -> dict[int, set[int]]:
    """Return all ancestors of a synset with the lengths of all paths to them."""
    found: dict[int, set[int]] = {}
    ring = {start}
    for steps in range(11):
        for place in ring:
            found.setdefault(place, set()).add(steps)
        ring = {above for place in ring for above in rows.get(place, ())}
    return found


@settings(deadline=None, max_examples=40)
@given(edges, st.booleans())
def test_distances_equal_exhaustive_search(drawn: list[tuple[int, int, str]], parts: bool) -> None:
    net = parse_thesaurus("\n".join(f"t{a}\t{relation}\tt{b}" for a, b, relation in drawn), "drawn.tsv")
    rows: dict[int, set[int]] = {}
    for a, b, relation in drawn:
        if parts or relation == "is_a":
            rows.setdefault(a, set()).add(b)
    numbers = sorted({end for a, b, _ in drawn for end in (a, b)})
    for a, b in product(numbers, numbers):
        here, there = enumerate_paths(rows, a), enumerate_paths(rows, b)
        expected = min((x + y for c in here.keys() & there.keys() for x in here[c] for y in there[c]), default=None)
        assert net.distance(one(net, f"t{a}"), one(net, f"t{b}"), include_parts=parts) == expected
    if not parts:
        for a in numbers:
            roots = [min(steps) for place, steps in enumerate_paths(rows, a).items() if not rows.get(place)]
            assert net.depth(one(net, f"t{a}")) == min(roots) + 1
