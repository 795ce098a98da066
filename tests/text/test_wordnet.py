"""WordNet: what WordNet 3.0 itself says, checked once against another reader of it and written down here."""

from __future__ import annotations

import subprocess
import sys
from array import array
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.wordnet import Rows, wordnet

NOTICE = Path(__file__).parent.parent.parent / "NOTICE"


def test_it_holds_the_nouns_and_verbs_of_wordnet_3() -> None:
    net = wordnet()
    assert len(net) == 82_115 + 13_767
    assert len(net.terms) == len(set(net.terms)) > 120_000
    assert sum(not net.kinds[synset] for synset in range(82_115)) == 1, "all nouns are entities"


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
def test_paths_and_depths_are_those_of_wordnet(
    one: str, other: str, distance: int, depths: tuple[int, int], meeting: int
) -> None:
    net = wordnet()
    here, there = net.senses(one)[0], net.senses(other)[0]
    assert net.distance(here, there) == net.distance(there, here) == distance
    assert (net.depth(here), net.depth(there)) == depths
    assert net.meeting(here, there) == meeting


def verbs(word: str) -> list[int]:
    return [synset for synset in wordnet().senses(word) if synset >= 82_115]


def test_verbs_have_many_roots_of_depth_1() -> None:
    net = wordnet()
    run, walk = verbs("run")[0], verbs("walk")[0]
    assert (net.distance(run, walk), net.depth(run), net.depth(walk)) == (3, 3, 2)
    assert net.distance(verbs("eat")[0], net.senses("food")[0]) is None


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("dogs", "dog"), ("geese", "goose"), ("mice", "mouse"), ("boxes", "box"), ("churches", "church"),
        ("wolves", "wolf"), ("women", "woman"), ("flies", "fly"), ("buses", "bus"), ("axes", "axis"),
        ("ran", "run"), ("went", "go"), ("studied", "study"), ("making", "make"), ("walked", "walk"),
        ("hot dogs", "hot dog"),
    ],
)  # fmt: skip
def test_inflections_lead_to_their_base(form: str, base: str) -> None:
    net = wordnet()
    assert set(net.senses(form)) & set(net.senses(base))


def test_an_ending_of_verbs_leads_to_verbs_only() -> None:
    assert wordnet().senses("walked") == tuple(verbs("walk"))


def test_terms_are_cut_as_texts_are() -> None:
    assert wordnet().senses("x ray")
    assert wordnet().senses("x-ray") == ()


def test_terms_of_one_synset_are_synonyms_of_each_other() -> None:
    net = wordnet()
    assert {"auto", "automobile", "motorcar", "railcar"} <= set(net.synonyms("car"))
    assert "railcar" not in net.synonyms("car", senses=1)
    assert "car" in net.synonyms("automobile")
    assert net.synonyms("qqqq") == ()


def test_parts_lead_to_wholes() -> None:
    net = wordnet()
    wheel, forest = net.senses("wheel")[0], net.senses("forest")[0]
    assert "wheeled vehicle" in [word for whole in net.wholes[wheel] for word in net.words(whole)]
    tree = net.senses("tree")[0]
    assert net.distance(tree, forest, parts=True) == 1


def test_every_synset_has_terms_that_know_it() -> None:
    net = wordnet()
    for synset in range(0, len(net), 997):
        assert all(synset in net.senses(word) for word in net.words(synset))
        assert all(0 <= parent < len(net) for parent in net.parents(synset, parts=True))


@given(st.text(max_size=12))
def test_any_word_may_be_asked_for(word: str) -> None:
    assert all(0 <= synset < len(wordnet()) for synset in wordnet().senses(word))


@given(st.lists(st.lists(st.integers(0, 2**31), max_size=5), max_size=8))
def test_rows_give_back_what_was_put_in(rows: list[list[int]]) -> None:
    made = Rows(bytes(map(len, rows)), array("I", [number for row in rows for number in row]))
    assert [list(row) for row in made] == rows
    assert len(made) == len(rows)


def test_its_file_stays_small() -> None:
    file = resources.files("topicrawl.text").joinpath("data", "wordnet.en.z")
    assert len(file.read_bytes()) < 1_500_000


def test_the_notice_keeps_the_licence() -> None:
    text = NOTICE.read_text("utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in text
    assert "THIS SOFTWARE AND DATABASE IS PROVIDED" in text


def test_a_command_that_needs_no_synonyms_does_not_read_it() -> None:
    code = "import topicrawl.text.wordnet as w; assert w.wordnet.cache_info().currsize == 0"
    code += "; import topicrawl.strategies as s; s.available(); assert w.wordnet.cache_info().currsize == 0"
    subprocess.run([sys.executable, "-c", code], check=True)
