"""The vector space model."""

from __future__ import annotations

import math

import pytest

from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokens import words
from topicrawl.text.vectors import cosine, tf_idf
from topicrawl.topic import Topic


def page(text: str, title: str = "") -> Page:
    return Page("http://a/", title=title, text=text, words=tuple(words(text)))


def test_the_cosine_is_the_one_computed_by_hand() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    dengue, fever, pain = (vsm.lexicon.idf(vsm.lexicon.stem(word)) for word in ("dengue", "fever", "pain"))
    # "fever" twice, the others once: tf is 1, 1/2, 1/2.
    text = (fever, dengue / 2, pain / 2)
    expected = (fever * fever + dengue / 2 * dengue) / (math.hypot(*text) * math.hypot(dengue, fever))
    assert vsm.score(page("fever and fever, dengue, the pain")) == pytest.approx(expected)


def test_many_texts_at_once_are_judged_as_one_by_one() -> None:
    vsm = Vsm(Topic.of("the dengue fever"))
    texts = ["dengue", "", "steam", "Fever: the dengue", "the", "—", "qxzjv", "東京"]
    assert vsm.phrases(texts) == [vsm.phrase(text) for text in texts]
    assert vsm.phrases([]) == []
    assert vsm.phrases(["dengue", "qxzjvkwq", "fever"]) == [vsm.phrase("dengue"), 0.0, vsm.phrase("fever")]


def test_it_is_the_cosine_of_the_vectors() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    text = "Fever fever and dengue: the rash, the pain, and the fever again in the clinic."
    assert vsm.phrase(text) == pytest.approx(cosine(tf_idf(vsm.lexicon.terms(words(text)), vsm.lexicon), vsm.query))


def test_the_title_counts_as_text() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    assert vsm.score(page("a rash", title="Dengue")) > vsm.score(page("a rash")) == 0


def test_an_empty_page_is_about_nothing() -> None:
    assert Vsm(Topic.of("dengue fever")).score(page("")) == 0


def test_a_topic_made_of_stop_words_still_finds_them() -> None:
    assert Vsm(Topic.of("the who")).phrase("The Who on stage") > 0


def test_weights_of_the_topic_matter() -> None:
    topic = Topic("t", {"dengue": 3.0, "fever": 1.0})
    vsm = Vsm(topic)
    even = Vsm(Topic("t", {"dengue": 1.0, "fever": 1.0}))
    assert vsm.phrase("dengue") > even.phrase("dengue")


def test_two_pages_are_not_confused() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    first, second = page("dengue"), page("locomotive")
    assert vsm.score(first) > 0
    assert vsm.score(second) == 0
    assert vsm.score(first) > 0
