"""Tests of WordNet: expected values are from WordNet 3.0, checked once with another reader."""

from __future__ import annotations

import subprocess
import sys
from array import array
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.wordnet import PackedRows, load_wordnet

NOTICE = Path(__file__).parent.parent.parent / "NOTICE"


def test_number_of_nouns_and_verbs() -> None:
    net = load_wordnet()
    assert len(net) == 82_115 + 13_767
    assert len(net.terms) == len(set(net.terms)) > 120_000
    assert sum(not net.hypernyms[synset] for synset in range(82_115)) == 1, "all nouns have one root"


@pytest.mark.parametrize(
    ("one", "other", "distance", "depths", "meeting"),
    [
        # First senses.
        ("dog", "cat", 4, (8, 13), 11),
        ("car", "automobile", 0, (10, 10), 10),
        ("car", "bicycle", 4, (10, 8), 7),
        ("tree", "forest", 14, (9, 5), 0),
        ("physics", "chemistry", 2, (9, 9), 8),
        ("fever", "disease", 14, (7, 9), 1),
        ("owl", "bird", 2, (11, 9), 9),
        ("einstein", "physicist", 1, (6, 5), 5),
    ],
)
def test_path_lengths_and_depths(one: str, other: str, distance: int, depths: tuple[int, int], meeting: int) -> None:
    net = load_wordnet()
    here, there = net.get_senses(one)[0], net.get_senses(other)[0]
    assert net.distance(here, there) == net.distance(there, here) == distance
    assert (net.depth(here), net.depth(there)) == depths
    assert net.common_depth(here, there) == meeting


def verbs(word: str) -> list[int]:
    return [synset for synset in load_wordnet().get_senses(word) if synset >= 82_115]


def test_verb_roots_have_depth_1() -> None:
    net = load_wordnet()
    run, walk = verbs("run")[0], verbs("walk")[0]
    assert (net.distance(run, walk), net.depth(run), net.depth(walk)) == (3, 3, 2)
    assert net.distance(verbs("eat")[0], net.get_senses("food")[0]) is None


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("dogs", "dog"),
        ("geese", "goose"),
        ("mice", "mouse"),
        ("boxes", "box"),
        ("churches", "church"),
        ("wolves", "wolf"),
        ("women", "woman"),
        ("flies", "fly"),
        ("buses", "bus"),
        ("axes", "axis"),
        ("ran", "run"),
        ("went", "go"),
        ("studied", "study"),
        ("making", "make"),
        ("walked", "walk"),
        ("hot dogs", "hot dog"),
    ],
)
def test_inflected_forms_are_reduced(form: str, base: str) -> None:
    net = load_wordnet()
    assert set(net.get_senses(form)) & set(net.get_senses(base))


def test_verb_endings_lead_to_verbs_only() -> None:
    assert load_wordnet().get_senses("walked") == tuple(verbs("walk"))


def test_terms_are_tokenised_like_texts() -> None:
    assert load_wordnet().get_senses("x ray")
    assert load_wordnet().get_senses("x-ray") == ()


def test_terms_of_a_synset_are_synonyms() -> None:
    net = load_wordnet()
    assert {"auto", "automobile", "motorcar", "railcar"} <= set(net.get_synonyms("car"))
    assert "railcar" not in net.get_synonyms("car", senses=1)
    assert "car" in net.get_synonyms("automobile")
    assert net.get_synonyms("qqqq") == ()


def test_holonyms() -> None:
    net = load_wordnet()
    wheel, forest = net.get_senses("wheel")[0], net.get_senses("forest")[0]
    assert "wheeled vehicle" in [word for whole in net.holonyms[wheel] for word in net.get_terms(whole)]
    tree = net.get_senses("tree")[0]
    assert net.distance(tree, forest, include_parts=True) == 1


def test_every_synset_is_found_by_its_terms() -> None:
    net = load_wordnet()
    for synset in range(0, len(net), 997):
        assert all(synset in net.get_senses(word) for word in net.get_terms(synset))
        assert all(0 <= parent < len(net) for parent in net.get_parents(synset, include_parts=True))


@given(st.text(max_size=12))
def test_any_word_can_be_looked_up(word: str) -> None:
    assert all(0 <= synset < len(load_wordnet()) for synset in load_wordnet().get_senses(word))


@given(st.lists(st.lists(st.integers(0, 2**31), max_size=5), max_size=8))
def test_packed_rows_round_trip(rows: list[list[int]]) -> None:
    made = PackedRows(bytes(map(len, rows)), array("I", [number for row in rows for number in row]))
    assert [list(row) for row in made] == rows
    assert len(made) == len(rows)


def test_data_file_is_small() -> None:
    file = resources.files("topicrawl.text").joinpath("data", "wordnet.en.z")
    assert len(file.read_bytes()) < 1_500_000


def test_notice_contains_the_licence() -> None:
    text = NOTICE.read_text("utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in text
    assert "THIS SOFTWARE AND DATABASE IS PROVIDED" in text


def test_wordnet_is_loaded_lazily() -> None:
    code = "import topicrawl.text.wordnet as w; assert w.load_wordnet.cache_info().currsize == 0"
    code += "; import topicrawl.strategies as s; s.list_strategies(); assert w.load_wordnet.cache_info().currsize == 0"
    subprocess.run([sys.executable, "-c", code], check=True)
