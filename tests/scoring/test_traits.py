"""Links are seen the same way whatever stands beside them."""

from __future__ import annotations

import numpy as np
import pytest

from topicrawl.records import Link, Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.names import named
from topicrawl.scoring.traits import TEXTS, Observer
from topicrawl.topic import Topic

LINKS = (
    Link("http://a/dengue/fever.html", anchor="Dengue fever", heading="Fevers", tag_path="body/main/p", position=0),
    Link("http://b/imprint", anchor="Imprint", before=("island", "dengue"), after=("fever",), tag_path="body/nav/a"),
    Link("http://c/", anchor="", alt="map", position=30),
    Link("http://d/x?q=qxzjvkwq", anchor="qxzjvkwq stands between texts"),
)


def observer() -> Observer:
    return Observer(Vsm(Topic.of("dengue fever")))


def features(links: tuple[Link, ...]) -> list[list[int]]:
    traits = observer().traits(links, "http://page/", Page("http://page/", title="A title"))
    return [sorted(row.tolist()) for row in np.split(traits.flat, np.cumsum(traits.lengths)[:-1])]


def test_similarities_are_those_of_each_text() -> None:
    alike = observer().traits(LINKS, "http://page/", Page("http://page/")).alike
    assert alike.shape == (len(LINKS), len(TEXTS))
    assert alike[0, 0] == pytest.approx(1.0, abs=1e-6)
    assert alike[0, 1] == pytest.approx(1.0, abs=1e-6), "file endings say nothing"
    assert 0 < alike[1, 2] < 1
    assert 0 < alike[0, 3] < 1
    assert alike[2].tolist() == [0.0] * len(TEXTS)


def test_every_link_has_features_and_none_of_its_neighbour() -> None:
    together = features(LINKS)
    assert all(together)
    assert len({tuple(row) for row in together}) == len(LINKS)
    # The number of links on a page is a feature too, so as many links stand beside it here.
    alone = features((LINKS[0], *LINKS[1:][::-1]))
    assert alone[0] == together[0]


def test_features_are_the_same_in_every_process() -> None:
    traits = observer().traits(LINKS[:1], "http://page/", Page("http://page/"))
    assert traits.flat.dtype == np.uint32
    assert sorted(traits.flat.tolist())[:2] == [457501426, 594412334]


def test_features_have_the_names_of_their_words() -> None:
    eye = observer()
    traits = eye.traits(LINKS[:2], "http://page/", Page("http://page/", title="A title"))
    second = traits.flat[traits.lengths[0] :]
    names = set(named(second, eye.said(LINKS[1])))
    assert {"link text “imprint”", "beside “dengu”", "on a page titled “titl”", "address ends in “imprint”"} <= names


def test_numbers_that_stand_alone_in_addresses_are_no_words() -> None:
    links = tuple(Link(f"http://a/owls/covid19-{number}.html?id={number}") for number in (200, 201))
    one, other = features(links)
    assert one == other
    page = Page("http://page/")
    assert Observer(Vsm(Topic.of("covid19"))).traits(links, page.url, page).alike[0, 1] > 0
