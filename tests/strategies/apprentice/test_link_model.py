"""Tests of the link model: explanations, examples, term rewards."""

from __future__ import annotations

from math import log
from random import Random

import pytest
from msgspec.structs import replace

from topicrawl.models import Failure, Link, Page, Priority, Visit
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.apprentice.link_model import PRIOR_WEIGHTS, LinkModel, PageScores
from topicrawl.strategies.apprentice.strategy import Apprentice
from topicrawl.strategies.base import StrategyContext
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")
WORDS = ("dengue", "fever", "is", "a", "fever", "of", "the", "tropics")


def make_model(*, has_cosine_judge: bool = False) -> LinkModel:
    return LinkModel(Vsm(TOPIC), learning_rate=1.0, max_urls=1000, has_cosine_judge=has_cosine_judge)


def page(url: str, *links: Link, words: tuple[str, ...] = ("nothing", "of", "interest")) -> Page:
    return Page(url, links=tuple(links), words=words, text=" ".join(words))


def learn_visit(mind: LinkModel, found: Page, link: Link | None = None, relevance: float | None = None) -> PageScores:
    """Learn a page with its relevance, by default that of the default judge."""
    score = TopicJudge(Vsm(TOPIC)).score(found) if relevance is None else relevance
    return mind.learn(Visit(1, link or Link(found.url), Priority(1.0), found.url, found, score))


def test_explanations_name_the_words_of_successful_links() -> None:
    mind = make_model()
    handouts = [Link(f"http://a/{n}", source="http://a/", anchor=f"handout {n}", position=n) for n in range(8)]
    learn_visit(mind, page("http://a/", *handouts))
    for link in handouts[:6]:
        learn_visit(mind, page(link.url, words=WORDS), link)
    reasons = dict(mind.explain(handouts[6]))
    assert reasons["link text “handout”"] > 0
    assert reasons["siblings"] > 0
    assert reasons["always"] == -2.5
    assert mind.explain(Link("http://never/seen")) == ()


def test_the_parts_of_an_explanation_add_up_to_the_log_odds_of_the_score() -> None:
    mind = make_model()
    links = [Link(f"http://a/{n}", source="http://a/", anchor=f"handout {n} of aedes", position=n) for n in range(8)]
    again = [Link(f"http://a/{n}", source="http://b/", anchor="more about mosquitoes", position=n) for n in range(8)]
    learn_visit(mind, page("http://a/", *links))
    learn_visit(mind, page("http://b/", *again, words=WORDS))
    for link in links[:6]:
        learn_visit(mind, page(link.url, words=WORDS), link)
    mind.rescore_links()
    reasons, score = dict(mind.explain(links[7])), mind.pool.get_score(links[7].url)
    assert reasons["other links"] != 0
    assert sum(reasons.values()) == pytest.approx(log(score / (1 - score)), abs=0.02)


def test_links_to_examples_change_scores_before_the_first_page() -> None:
    wanted = (Link("http://e/1", source="http://p/", anchor="vector control"), 1.0)
    other = (Link("http://e/2", source="http://q/", anchor="old engines"), 0.0)
    taught, untaught = make_model(), make_model()
    taught.learn_links([wanted, other] * 5)
    links = (
        Link("http://b/1", source="http://b/", anchor="vector control"),
        Link("http://b/2", source="http://b/", anchor="old engines", position=1),
    )
    start = page("http://b/", *links, words=("mosquito", "virus"))
    scores = [
        [place.score for place in mind.score_links(links, learn_visit(mind, start))] for mind in (taught, untaught)
    ]
    assert scores[0][0] - scores[0][1] > scores[1][0] - scores[1][1]
    again = make_model()
    again.restore_state(taught.get_state())
    assert [place.score for place in again.score_links(links, learn_visit(again, start))] == scores[0]


def test_a_new_link_word_gets_its_weight_from_the_pages_that_contain_it() -> None:
    mind = make_model()
    links = tuple(
        Link(f"http://b/{n}", source="http://b/", anchor=anchor, position=n)
        for n, anchor in enumerate(("aedes", "locomotive"))
    )
    learn_visit(mind, page("http://b/", *links))
    for number in range(10):
        learn_visit(mind, page(f"http://c/{number}", words=("aedes", *WORDS)))
        learn_visit(mind, page(f"http://d/{number}", words=("locomotive", "of", "steam")))
    mind.rescore_links()
    relevant, irrelevant = (mind.pool.get_score(link.url) for link in links)
    assert relevant > 1.2 * irrelevant
    assert dict(mind.explain(links[0]))["link text “aed”"] > 0 > dict(mind.explain(links[1]))["link text “locomot”"]
    again = make_model()
    again.restore_state(mind.get_state())
    for each in (mind, again):
        learn_visit(each, page("http://e/", words=("aedes", *WORDS)))
    assert again.rescore_links() == mind.rescore_links()
    assert [again.explain(link) for link in links] == [mind.explain(link) for link in links]


def test_a_state_without_term_rewards_can_be_restored() -> None:
    mind, again = make_model(), make_model()
    learn_visit(mind, page("http://b/", Link("http://b/1", source="http://b/", anchor="aedes"), words=WORDS))
    state = mind.get_state()
    again.restore_state({name: value for name, value in state.items() if name not in ("worth", "given")})
    assert again.pool.get_score("http://b/1") == mind.pool.get_score("http://b/1")
    again.rescore_links()


def test_pages_without_topic_words_lower_the_score_of_similar_links() -> None:
    mind = make_model()
    dull = [Link(f"http://a/{n}", source="http://a/", anchor="imprint", position=n) for n in range(30)]
    learn_visit(mind, page("http://a/", *dull))
    before = mind.pool.get_score(dull[-1].url)
    for link in dull[:-1]:
        learn_visit(mind, page(link.url), link)
    mind.rescore_links()
    assert mind.pool.get_score(dull[-1].url) < before


@pytest.mark.parametrize("has_cosine_judge", [True, False], ids=["cosine", "probability"])
def test_the_relevance_of_visits_determines_the_reward(has_cosine_judge: bool) -> None:
    """The pages have no words of the topic, so a plugin or annotations have changed their relevance."""
    mind = make_model(has_cosine_judge=has_cosine_judge)
    links = [Link(f"http://a/{n}", source="http://a/", anchor=("train", "owl")[n % 2]) for n in range(12)]
    learn_visit(mind, page("http://a/", *links), relevance=0.0)
    for number, link in enumerate(links[:10]):
        learn_visit(mind, page(link.url), link, relevance=0.9 * (number % 2))
    trains, owls = (dict(mind.explain(link)) for link in links[10:])
    assert owls["link text “owl”"] > 0 > trains["link text “train”"]


@pytest.mark.parametrize(("has_cosine_judge", "similarity"), [(True, 0.5), (False, 0.2)])
def test_a_probability_counts_less_than_an_equal_cosine(has_cosine_judge: bool, similarity: float) -> None:
    mind = make_model(has_cosine_judge=has_cosine_judge)
    link = Link("http://a/1", source="http://a/", anchor="imprint")
    learn_visit(mind, page("http://a/", link), relevance=0.5)
    assert dict(mind.explain(link))["page"] == pytest.approx(PRIOR_WEIGHTS["page"] * similarity, abs=0.001)


def test_scores_of_a_page_do_not_depend_on_pages_learned_later() -> None:
    model = make_model()
    first, second = (
        tuple(
            Link(f"http://{host}/{n}", source=f"http://{host}/", anchor=anchor, position=n)
            for n, anchor in enumerate(("dengue fever", "imprint"))
        )
        for host in "ab"
    )
    scores = learn_visit(model, page("http://a/", *first))
    expected = model.score_links(first, scores)
    learn_visit(model, page("http://b/", *second, words=WORDS))
    assert model.score_links(first, scores) == expected
    # Links are joined by URL and position, so equal links of another parse have the same priorities.
    assert model.score_links([replace(link) for link in reversed(first)], scores) == expected[::-1]
    assert [len(priority.parts) for priority in expected] == [3, 3]


def test_links_of_a_page_without_learning_have_the_prior_score() -> None:
    links = (Link("http://a/1", source="http://a/", anchor="dengue fever"),)
    found = page("http://a/", *links, words=WORDS)
    visit = Visit(1, Link("http://a/"), Priority(1.0, 2), "http://a/", found, 1.0, Failure.NOINDEX)
    for before in ("http://b/", "http://c/"):
        strategy = Apprentice()
        strategy.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0)))
        # The result does not depend on the page before: "b" is relevant, "c" is not.
        words = WORDS if before == "http://b/" else ("nothing",)
        relevance = 0.9 if before == "http://b/" else 0.0
        strategy.learn(Visit(1, Link(before), Priority(1.0), before, page(before, words=words), relevance))
        strategy.learn(replace(visit, page=None))
        (priority,) = strategy.score_links(links, visit)
        assert priority is not None
        assert (round(priority.score, 3), priority.payload, priority.parts) == (0.076, 3, ())


def test_a_redirect_to_a_known_page_teaches_its_reward() -> None:
    links = [Link(f"http://a/{n}", source="http://a/", anchor=f"handout {n}", position=n) for n in range(3)]
    minds = [make_model(), make_model()]
    for mind, duplicate_of in zip(minds, ("http://a/0", ""), strict=True):
        learn_visit(mind, page("http://a/", *links))
        learn_visit(mind, page(links[0].url, words=WORDS), links[0], 1.0)
        mind.learn(
            Visit(3, links[1], Priority(1.0), "http://a/0", failure=Failure.DUPLICATE, duplicate_of=duplicate_of)
        )
        assert mind.pool.get_reward("http://a/0") == pytest.approx(1.0, abs=0.05)
    known, unknown = (dict(mind.explain(links[2]))["link text “handout”"] for mind in minds)
    assert known > unknown > 0


def test_rewards_of_fetched_urls_are_part_of_the_state() -> None:
    mind, restored = make_model(), make_model()
    learn_visit(mind, page("http://a/", words=WORDS))
    state = mind.get_state()
    restored.restore_state(state)
    assert restored.pool.get_reward("http://a/") == mind.pool.get_reward("http://a/")
    assert restored.get_state() == state
    assert isinstance(state["pool"], dict)
    del state["pool"]["rewards"]
    restored.restore_state(state)
    assert restored.pool.get_reward("http://a/") is None


def test_links_without_success_lower_weights_little_before_the_first_relevant_page() -> None:
    links = [Link(f"http://a/{n}", source="http://a/", anchor=f"handout {n}", position=n) for n in range(9)]
    weights = []
    for first_relevance in (0.0, 1.0):
        mind = make_model()
        for number in range(5):
            learn_visit(mind, page(f"http://b/{number}"), relevance=first_relevance)
        learn_visit(mind, page("http://a/", *links), relevance=0.0)
        for link in links[:4]:
            learn_visit(mind, page(link.url), link, 0.0)
        weights.append(dict(mind.explain(links[8])).get("link text “handout”", 0.0))
    assert weights[1] < 3 * weights[0] <= 0


def test_an_untried_host_is_preferred_while_the_known_hosts_are_poor() -> None:
    mind = make_model()
    known = [Link(f"http://a/{n}", source="http://a/", anchor="imprint", position=n) for n in range(30)]
    new = Link("http://b/", source="http://a/", anchor="imprint", position=30)
    learn_visit(mind, page("http://a/", *known, new))
    for link in known[:20]:
        learn_visit(mind, page(link.url), link)
    mind.rescore_links()
    assert mind.pool.get_score(new.url) > 2 * mind.pool.get_score(known[-1].url)


def test_links_of_a_page_that_is_named_after_the_topic_score_higher() -> None:
    mind = make_model()
    for url, title in (("http://a/1", "Fever clinics"), ("http://a/2", "Opening hours"), ("http://a/fever", "")):
        learn_visit(mind, replace(page(url, Link(f"{url}/x", source=url, anchor="Dr Lee")), title=title))
    scores = [mind.pool.get_score(url) for url in ("http://a/1/x", "http://a/2/x", "http://a/fever/x")]
    assert min(scores[0], scores[2]) > 1.5 * scores[1]
    assert dict(mind.explain(Link("http://a/1/x")))["page name"] > 0


def test_a_predicted_spelling_of_a_known_page_scores_low() -> None:
    mind = make_model()
    names = ("Dengue_fever", "Yellow_fever", "Malaria")
    for name in names[:2]:
        url = f"http://a/{name}"
        learn_visit(mind, page(url, words=WORDS), Link(f"{url}s"))
    learn_visit(mind, page("http://a/Malaria", words=WORDS))
    variant = Link("http://a/malaria", source="http://b/", anchor="dengue fever", position=0)
    other = Link("http://a/mosquito", source="http://b/", anchor="dengue fever", position=1)
    scores = learn_visit(mind, page("http://b/", variant, other))
    priorities = mind.score_links([variant, other], scores)
    assert priorities[0].score < 0.1 < 0.5 < priorities[1].score
    mind.rescore_links()
    reasons, score = dict(mind.explain(variant)), mind.pool.get_score(variant.url)
    assert score < 0.1 < mind.pool.get_score(other.url)
    assert reasons["known page"] < 0
    assert sum(reasons.values()) == pytest.approx(log(score / (1 - score)), abs=0.02)
    restored = make_model()
    restored.restore_state(mind.get_state())
    assert dict(restored.explain(variant))["known page"] == reasons["known page"]
