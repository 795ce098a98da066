"""The relevance models `multi_metric` and `summary`, and the judgements that are stored with the pages."""

from __future__ import annotations

import json
from random import Random

import pytest
from tests.helpers.cheating_pages import FEVER, RAILS

from topicrawl.errors import SettingError
from topicrawl.models import Link, Page, PageJudgement, Response
from topicrawl.parse import parse_response
from topicrawl.relevance.base import BUILT_IN_JUDGES, BuildsJudgements, LearnsFromPages
from topicrawl.relevance.filter_judge import FilterJudge
from topicrawl.relevance.judges import create_judge, needs_styles
from topicrawl.relevance.summary_judge import SummaryJudge
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever mosquito")


def parse_page(body: str, *, url: str = "http://a.example/1", styles: bool = True) -> Page:
    response = Response(url, url, 200, {"content-type": "text/html"}, f"<html lang=en>{body}".encode())
    page = parse_response(response, Link(url), styles=styles, context=False)
    assert isinstance(page, Page)
    return page


def make_body(sentences: tuple[str, ...], extra: str = "") -> str:
    random = Random(1)
    texts = [" ".join(random.sample(sentences, 3)) for _ in range(12)]
    return "<title>Record</title>" + "".join(f"<p>{text}</p>" for text in texts) + extra


WHITE_ON_WHITE = make_body(RAILS, f'<p style="color:#fff;background:#fff">{" ".join(FEVER * 6)}</p>')


@pytest.mark.parametrize("name", BUILT_IN_JUDGES)
def test_every_judge_separates_the_topic_from_other_pages(name: str) -> None:
    judge = create_judge(name, Vsm(TOPIC))
    minimum = TOPIC.similarity_threshold if name == "cosine" else TOPIC.threshold
    assert judge.score(parse_page(make_body(FEVER))) >= minimum
    assert judge.score(parse_page(make_body(RAILS))) < minimum


def test_page_that_hides_the_topic_is_relevant_only_without_a_summary() -> None:
    """Mohammadi, section 3: text in the colour of the background."""
    hidden = parse_page(WHITE_ON_WHITE)
    assert TopicJudge(Vsm(TOPIC)).score(hidden) >= 0.5
    summary = SummaryJudge(Vsm(TOPIC))
    assert summary.score(hidden) < 0.1
    assert summary.build_judgement(hidden).group == ""


def test_page_without_a_summary_is_not_relevant() -> None:
    judge = SummaryJudge(Vsm(TOPIC))
    page = parse_page(f'<title>dengue fever mosquito</title><p style="color:#fff;background:#fff">{FEVER[0]}</p>')
    assert judge.score(page) == 0.0
    assert judge.build_judgement(page) == PageJudgement(scores={"summary similarity": 0.0, "summary density": 0.0})


def test_summary_judge_needs_styles_and_a_network_of_the_language() -> None:
    assert [name for name in BUILT_IN_JUDGES if needs_styles(name)] == ["summary"]
    with pytest.raises(SettingError, match="no network for the language 'nl'"):
        SummaryJudge(Vsm(Topic("Dengue", {"dengue": 1.0}, languages=("nl",))))


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_relevance_of_the_multi_metric_judge_reaches_the_threshold_if_a_metric_recommends(threshold: float) -> None:
    judge = FilterJudge(Topic(TOPIC.name, TOPIC.words, threshold=threshold))
    for text in ("dengue fever and the mosquito", "a fever", "trains", f"the mosquito {'and the train ' * 90}"):
        page = Page("http://a.example/", text=text, words=tuple(text.split()))
        assert (judge.score(page) >= threshold) is bool(judge.build_judgement(page).group), text


def test_multi_metric_judge_restores_its_state_without_annotations() -> None:
    judge = FilterJudge(TOPIC)
    good, bad = parse_page(make_body(FEVER)), parse_page(make_body(RAILS), url="http://a.example/2")
    judge.observe(good)
    before = judge.score(good)
    judge.learn(good, relevant=False)
    assert judge.score(good) < before
    state = json.loads(json.dumps(judge.get_state()))
    judge.forget(good.url)
    assert judge.score(good) == before
    restored = FilterJudge(TOPIC)
    restored.restore_state(state)
    assert restored.score(good) == before
    # The directory of the first page is known.
    assert restored.build_judgement(bad).group == "directory"


def test_examples_choose_the_filter() -> None:
    judge = FilterJudge(Topic.of("railway"))
    page = Page("http://b.example/", text="signals and sleepers along the platform of the station")
    assert judge.build_judgement(page).group == ""
    judge.learn_examples([parse_page(make_body(RAILS), url=f"http://a.example/{n}/") for n in range(2)], [])
    assert judge.build_judgement(page).group


@pytest.mark.parametrize("name", [name for name in BUILT_IN_JUDGES if name != "cosine"])
def test_judgement_agrees_with_the_relevance(name: str) -> None:
    judge = create_judge(name, Vsm(TOPIC))
    assert isinstance(judge, BuildsJudgements)
    assert isinstance(judge, LearnsFromPages)
    for sentences, is_relevant in ((FEVER, True), (RAILS, False)):
        page = parse_page(make_body(sentences))
        judgement = judge.build_judgement(page)
        assert bool(judgement.group) == is_relevant
        assert bool(judgement.metrics) == (is_relevant and judgement.group != "combination")
        assert judgement.scores


@pytest.mark.parametrize(("trains", "group"), [(5, "undoubted"), (30, "words"), (900, "")])
def test_topic_judge_groups_pages_by_the_strongest_metric(trains: int, group: str) -> None:
    judge = TopicJudge(Vsm(Topic.of("dengue fever")))
    text = "The fever of the dengue year " + "and the express train to the harbour " * trains
    page = Page("http://a.example/", text=text, words=tuple(text.lower().split()))
    assert judge.build_judgement(page).group == group
    assert bool(group) is (judge.score(page) >= 0.5)
