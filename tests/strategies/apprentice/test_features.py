"""The features of a link do not depend on other links."""

from __future__ import annotations

import numpy as np
import pytest

from topicrawl.models import Link, Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.apprentice.feature_names import name_features
from topicrawl.strategies.apprentice.features import SIMILARITY_TEXTS, FeatureExtractor
from topicrawl.topic import Topic

LINKS = (
    Link("http://a/dengue/fever.html", anchor="Dengue fever", heading="Fevers", tag_path="body/main/p", position=0),
    Link("http://b/imprint", anchor="Imprint", before=("island", "dengue"), after=("fever",), tag_path="body/nav/a"),
    Link("http://c/", anchor="", alt="map", position=30),
    Link("http://d/x?q=qxzjvkwq", anchor="qxzjvkwq stands between texts"),
)


def observer() -> FeatureExtractor:
    return FeatureExtractor(Vsm(Topic.of("dengue fever")))


def features(links: tuple[Link, ...]) -> list[list[int]]:
    traits = observer().extract_features(links, "http://page/", Page("http://page/", title="A title"))
    return [sorted(row.tolist()) for row in np.split(traits.features, np.cumsum(traits.lengths)[:-1])]


def test_each_text_has_its_own_similarity() -> None:
    alike = observer().extract_features(LINKS, "http://page/", Page("http://page/")).similarities
    assert alike.shape == (len(LINKS), len(SIMILARITY_TEXTS))
    assert alike[0, 0] == pytest.approx(1.0, abs=1e-6)
    assert alike[0, 1] == pytest.approx(1.0, abs=1e-6), "file extensions are ignored"
    assert 0 < alike[1, 2] < 1
    assert 0 < alike[0, 3] < 1
    assert alike[2].tolist() == [0.0] * len(SIMILARITY_TEXTS)


def test_every_link_has_only_its_own_features() -> None:
    together = features(LINKS)
    assert all(together)
    assert len({tuple(row) for row in together}) == len(LINKS)
    # The order of the other links changes, but their number stays the same.
    alone = features((LINKS[0], *LINKS[1:][::-1]))
    assert alone[0] == together[0]


def test_features_are_the_same_in_every_process() -> None:
    traits = observer().extract_features(LINKS[:1], "http://page/", Page("http://page/"))
    assert traits.features.dtype == np.uint32
    assert sorted(traits.features.tolist())[:2] == [457501426, 594412334]


def test_features_are_named_by_their_words() -> None:
    extractor = observer()
    traits = extractor.extract_features(LINKS[:2], "http://page/", Page("http://page/", title="A title"))
    second = traits.features[traits.lengths[0] :]
    names = set(name_features(second, extractor.get_texts_by_hash(LINKS[1])))
    assert {"link text “imprint”", "beside “dengu”", "on a page titled “titl”", "address ends in “imprint”"} <= names


def test_isolated_numbers_in_urls_are_ignored() -> None:
    links = tuple(Link(f"http://a/owls/covid19-{number}.html?id={number}") for number in (200, 201))
    one, other = features(links)
    assert one == other
    page = Page("http://page/")
    assert FeatureExtractor(Vsm(Topic.of("covid19"))).extract_features(links, page.url, page).similarities[0, 1] > 0
