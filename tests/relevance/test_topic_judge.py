"""The default judge: phrases, passages, meaning, expansion by good pages, verdicts and saved state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from topicrawl.models import Page
from topicrawl.relevance.multilingual import MultilingualVsm
from topicrawl.relevance.topic_expansion import MIN_SOURCE_SCORE
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

FILLER = (
    "the kettle stands on a wooden shelf beside the window and the gardener paints the fence while children carry "
    "baskets of apples along the river to the market square where musicians tune their violins before the concert "
)
GIS = (
    "a geographic information system stores maps, and geographic information systems analyse raster layers, vector "
    "layers, projections and terrain "
)


def make_page(text: str, url: str = "http://a.example/", title: str = "", language: str = "en") -> Page:
    return Page(url, title=title, text=text, words=tuple(tokenise(text)), language=language)


def make_judge(phrase: str) -> TopicJudge:
    return TopicJudge(Vsm(Topic.of(phrase)))


def test_words_near_each_other_count_more_than_words_far_apart() -> None:
    judge = make_judge("full text search in databases")
    near = judge.score(make_page("the full text search of databases " + FILLER))
    far = judge.score(make_page("full house " + FILLER + "text of a letter " + FILLER + "search party databases"))
    assert near > 2 * far


def test_a_page_with_one_unit_of_two_is_less_relevant() -> None:
    judge = make_judge("full text search in databases")
    assert judge.score(make_page("full text search " * 3 + "databases " * 3 + FILLER)) > 0.5
    assert judge.score(make_page("databases " * 6 + FILLER)) < 0.5


def test_an_acronym_stands_for_its_words() -> None:
    judge = make_judge("geographic information systems")
    page = make_page("the GIS manual explains how a GIS resamples raster layers " + FILLER, title="GIS manual")
    other = make_page("the manual explains how a program resamples raster layers " + FILLER, title="Manual")
    assert judge.score(page) > 0.5 > judge.score(other)


def test_a_word_with_the_stem_of_an_acronym_does_not_count() -> None:
    judge = make_judge("full text search")
    text = "the ft command sets the ft option of a file, and another ft command reads the ft value " + FILLER
    assert judge.score(make_page(text)) < 0.1 < judge.score(make_page(text.replace("ft", "fts")))


def test_one_word_of_a_phrase_is_not_the_phrase() -> None:
    judge = make_judge("version control")
    variable = "the version of the file contains the version of the package and the version of the system "
    assert judge.score(make_page(variable + FILLER)) < 0.3
    assert judge.score(make_page("version control keeps every version of a file " * 2 + FILLER)) > 0.5


def test_one_occurrence_in_the_navigation_of_a_long_page_counts_little() -> None:
    judge = make_judge("domain name system")
    navigation = "events errors dns domain files timers streams "
    assert judge.score(make_page(navigation + FILLER * 60)) < 0.4
    chapter = "the dns resolves names and the dns caches them " * 8
    assert judge.score(make_page(navigation + chapter + FILLER * 60)) > 0.5


def test_a_phrase_of_general_words_can_be_expanded() -> None:
    judge = make_judge("full text search in databases")
    near = make_page("the stemmer turns a lexeme into a token for the query parser " * 3, "http://a.example/near")
    before = judge.score(near)
    text = "full text search in databases uses a stemmer a lexeme and a query parser for each token " * 4
    for number in range(6):
        judge.observe(make_page(text, f"http://a.example/{number}"))
    assert {"stemmer", "lexem"} & set(judge.expansion.terms)
    assert judge.score(near) > before + 0.1


def test_stop_words_do_not_count() -> None:
    judge = make_judge("search in databases")
    assert judge.score(make_page("in in in in in " + FILLER)) == judge.score(make_page(FILLER))


def test_a_passage_on_the_topic_makes_a_long_page_more_relevant() -> None:
    judge = make_judge("dengue fever")
    spread = (FILLER * 6 + "dengue fever ") * 6
    passage = FILLER * 36 + "dengue fever " * 6
    assert judge.score(make_page(passage)) > judge.score(make_page(spread))


def test_title_counts() -> None:
    judge = make_judge("dengue fever")
    text = "dengue fever " + FILLER
    assert judge.score(make_page(text, title="Dengue fever")) > judge.score(make_page(text, title="Notes"))


def test_the_parts_add_up_to_the_log_odds() -> None:
    judge = make_judge("geographic information systems")
    for number in range(5):
        judge.observe(make_page(GIS * 3, f"http://a.example/{number}"))
    judge.learn(make_page("kettles and fences " + FILLER, "http://b.example/"), relevant=False)
    judged = judge.judge(make_page(GIS + FILLER))
    assert judged.parts["words of similar pages"] > 0
    assert 1 / (1 + 2.718281828459045 ** -sum(judged.parts.values())) == pytest.approx(judged.score, abs=1e-5)


def test_good_pages_make_pages_with_their_words_relevant() -> None:
    judge = make_judge("geographic information systems")
    manual = make_page("raster layers, vector layers, projections and terrain " + FILLER)
    before = judge.score(manual)
    for number in range(6):
        judge.observe(make_page(GIS * 3, f"http://a.example/{number}"))
        judge.observe(make_page(FILLER, f"http://b.example/{number}"))
    assert {"raster", "vector"} <= set(judge.expansion.terms)
    assert judge.score(manual) > 2 * before


def test_pages_that_only_match_the_expansion_never_extend_it() -> None:
    judge = make_judge("geographic information systems")
    for number in range(6):
        judge.observe(make_page(GIS * 3, f"http://a.example/{number}"))
    for number in range(30):
        judge.observe(make_page("raster layers and kettle whistles " * 5, f"http://b.example/{number}"))
    assert "kettl" not in judge.expansion.terms
    assert all(url.startswith("http://a.example/") for url in judge.expansion.sources)


def test_rejected_sources_are_removed_and_a_contradicted_expansion_is_undone() -> None:
    judge = make_judge("geographic information systems")
    pages = [make_page(GIS * 3, f"http://a.example/{number}") for number in range(4)]
    for page in pages:
        judge.observe(page)
    assert judge.expansion.weight > 0.5
    judge.learn(pages[0], relevant=False)
    assert judge.expansion.is_contradicted
    assert judge.expansion.weight == 0.0
    assert not judge.expansion.terms
    judge.forget(pages[0].url)
    assert judge.expansion.terms


def test_verdicts_change_the_scores_of_similar_pages() -> None:
    judge = make_judge("owls")
    page = make_page("owls on postage stamps " + FILLER)
    before = judge.score(page)
    judge.learn(make_page("postage stamps and postage rates " * 5, "http://b.example/"), relevant=False)
    rejected = judge.score(page)
    judge.forget("http://b.example/")
    assert judge.score(page) == before
    for number in range(3):
        judge.learn(make_page("postage stamps with owls " * 5, f"http://c.example/{number}"), relevant=True)
    assert rejected < before < judge.score(page)


def test_a_lighter_verdict_changes_less() -> None:
    scores = []
    for weight in (1.0, 0.5):
        judge = make_judge("owls")
        judge.learn(make_page("postage stamps " * 9, "http://b.example/"), relevant=False, weight=weight)
        scores.append(judge.score(make_page("owls on postage stamps " * 3 + FILLER)))
    assert scores[0] < scores[1]


def test_one_accepted_page_raises_similar_pages_by_the_weight_of_its_verdict() -> None:
    text = "patients with dengue rest in the clinic, drink water and take tablets against the fever " + FILLER
    scores = []
    for weight in (0.0, 0.5, 1.0):
        judge = make_judge("dengue fever")
        judge.observe(make_page("steam trains cross the bridge and whistle", "http://x.example/"))
        if weight:
            judge.learn(make_page(text, "http://b.example/"), relevant=True, weight=weight)
        scores.append(judge.score(make_page(text)))
    assert scores[0] < scores[1] < scores[2]


def test_an_accepted_page_that_is_already_a_source_counts_once() -> None:
    judge, page = make_judge("geographic information systems"), make_page(GIS)
    judge.observe(page)
    weight = judge.expansion.weight
    assert weight > 0
    judge.learn(page, relevant=True, weight=0.5)
    assert judge.expansion.weight == weight
    assert not judge.expansion.terms, "a term must occur on several sources"


def test_the_state_survives_a_restart() -> None:
    judge, resumed = make_judge("geographic information systems"), make_judge("geographic information systems")
    for number in range(4):
        judge.observe(make_page(GIS * 3, f"http://a.example/{number}"))
        judge.observe(make_page(FILLER, f"http://b.example/{number}"))
    judge.learn_examples([make_page("cartography of terrain " * 5, "http://c.example/")], [])
    resumed.restore_state(judge.get_state())
    page = make_page(GIS + FILLER)
    assert resumed.score(page) == pytest.approx(judge.score(page), abs=1e-4)
    assert dict(resumed.expansion.terms) == pytest.approx(dict(judge.expansion.terms), abs=1e-3)


def test_an_excluded_term_is_not_part_of_the_expansion() -> None:
    judge = TopicJudge(Vsm(replace(Topic.of("geographic information systems"), exclude=("rasters",))))
    for number in range(4):
        judge.observe(make_page(GIS * 3, f"http://a.example/{number}"))
    assert "vector" in judge.expansion.terms
    assert "raster" not in judge.expansion.terms


def test_a_page_in_another_language_is_judged_by_its_words() -> None:
    topic = Topic("owls", {"owls": 1.0}, languages=("en", "de"), translations={"de": {"eulen": 1.0}})
    judge = TopicJudge(MultilingualVsm(topic))
    text = "die eulen jagen in der nacht und die eulen schlafen am tag"
    assert judge.score(make_page(text, language="de")) > 0.5
    assert judge.score(make_page("die lokomotive hält am bahnhof", language="de")) < 0.2


def test_a_changed_topic_is_used_at_once() -> None:
    vsm = Vsm(Topic.of("owls"))
    judge = TopicJudge(vsm)
    page = make_page("railway locomotives " * 5)
    before = judge.score(page)
    vsm.replace_topic(Topic.of("railway locomotives"))
    assert before < 0.1 < MIN_SOURCE_SCORE < judge.score(page)


def test_an_empty_page_is_not_relevant() -> None:
    assert make_judge("owls").score(make_page("")) < 0.1
