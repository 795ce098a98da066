"""Tests of the vector space model."""

from __future__ import annotations

import math
from random import Random

import pytest

from topicrawl.errors import TopicError
from topicrawl.models import Page
from topicrawl.relevance.multilingual import MultilingualVsm
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.text.sparse_vectors import cosine, tf_idf
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic


def page(text: str, title: str = "") -> Page:
    return Page("http://a/", title=title, text=text, words=tuple(tokenise(text)))


def test_cosine_computed_by_hand() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    dengue, fever, pain = (vsm.lexicon.idf(vsm.lexicon.stem(word)) for word in ("dengue", "fever", "pain"))
    # "fever" twice, the others once: tf is 1, 1/2, 1/2.
    text = (fever, dengue / 2, pain / 2)
    expected = (fever * fever + dengue / 2 * dengue) / (math.hypot(*text) * math.hypot(dengue, fever))
    assert vsm.score(page("fever and fever, dengue, the pain")) == pytest.approx(expected)


def test_batch_scores_equal_single_scores() -> None:
    vsm = Vsm(Topic.of("the dengue fever"))
    texts = ["dengue", "", "steam", "Fever: the dengue", "the", "—", "qxzjv", "東京"]
    assert vsm.score_texts(texts) == [vsm.score_text(text) for text in texts]
    assert vsm.score_texts([]) == []
    assert vsm.score_texts(["dengue", "qxzjvkwq", "fever"]) == [vsm.score_text("dengue"), 0.0, vsm.score_text("fever")]


def test_score_is_the_cosine_of_the_vectors() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    text = "Fever fever and dengue: the rash, the pain, and the fever again in the clinic."
    assert vsm.score_text(text) == pytest.approx(
        cosine(tf_idf(vsm.lexicon.extract_terms(tokenise(text)), vsm.lexicon), vsm.query)
    )


def test_title_counts_as_text() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    assert vsm.score(page("a rash", title="Dengue")) > vsm.score(page("a rash")) == 0


def test_empty_page_scores_0() -> None:
    assert Vsm(Topic.of("dengue fever")).score(page("")) == 0


def test_topic_of_stop_words() -> None:
    assert Vsm(Topic.of("the who")).score_text("The Who on stage") > 0


def test_weights_of_the_topic_count() -> None:
    topic = Topic("t", {"dengue": 3.0, "fever": 1.0})
    vsm = Vsm(topic)
    even = Vsm(Topic("t", {"dengue": 1.0, "fever": 1.0}))
    assert vsm.score_text("dengue") > even.score_text("dengue")


def test_cache_distinguishes_pages() -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    first, second = page("dengue"), page("locomotive")
    assert vsm.score(first) > 0
    assert vsm.score(second) == 0
    assert vsm.score(first) > 0


@pytest.mark.parametrize("model", [Vsm, MultilingualVsm])
def test_replacing_the_topic_equals_a_new_model(model: type[Vsm]) -> None:
    old, new = Topic.of("dengue fever"), Topic.of("steam locomotive")
    vsm = model(old)
    trains = page("The locomotive pulls the train by steam")
    assert (vsm.score(trains), vsm.score_texts(["steam"])) == (0.0, [0.0])
    vocabularies = vsm.vocabularies
    vsm.replace_topic(new)
    assert (vsm.topic, vsm.query, vsm.vocabularies) == (new, model(new).query, vocabularies)
    assert vsm.score(trains) == model(new).score(trains) > 0
    assert vsm.score_texts(["steam"]) == [model(new).score_text("steam")]


@pytest.mark.parametrize("model", [Vsm, MultilingualVsm])
def test_an_invalid_topic_changes_nothing(model: type[Vsm]) -> None:
    vsm = model(Topic.of("dengue fever"))
    before = vsm.score(page("dengue"))
    with pytest.raises(TopicError):
        vsm.replace_topic(Topic("none", {"dengue": 0.0}))
    assert (vsm.topic.name, vsm.score(page("dengue"))) == ("dengue fever", before)


def test_context_scores_pages_with_the_judge_of_the_user() -> None:
    class Constant:
        def score(self, page: Page) -> float:
            return 0.25

        def learn(self, page: Page, relevant: bool) -> None: ...

    topic, found = Topic.of("dengue fever"), page("dengue fever")
    vsm = Vsm(topic)
    assert StrategyContext(topic, vsm, Random(0)).score_page(found) == vsm.score(found) == pytest.approx(1.0)
    assert StrategyContext(topic, vsm, Random(0), judge=Constant()).score_page(found) == 0.25
