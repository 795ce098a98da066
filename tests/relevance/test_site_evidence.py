"""Site evidence: pages of a site on the topic become more relevant, and no site confirms itself."""

from __future__ import annotations

import pytest

from topicrawl.models import Page
from topicrawl.relevance.site_evidence import SiteEvidence
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

FILLER = "the kettle stands on a wooden shelf beside the window and the gardener paints the fence "
GIS = "geographic information systems analyse raster layers and maps in a geographic information system "
NEAR = "a spatial index of map regions and longitudes in the geometry library "


def make_page(text: str, url: str) -> Page:
    return Page(url, text=text, words=tuple(tokenise(text)), language="en")


def observe_manuals(judge: TopicJudge) -> None:
    for number in range(12):
        judge.observe(make_page(GIS * 3 + FILLER, f"http://gis.example/{number}"))
        for host in ("music.example", "mail.example", "tea.example"):
            judge.observe(make_page(FILLER * 3, f"http://{host}/{number}"))


def test_a_page_is_more_relevant_on_a_site_about_the_topic() -> None:
    judge = TopicJudge(Vsm(Topic.of("geographic information systems")))
    observe_manuals(judge)
    on_site, elsewhere = (judge.judge(make_page(NEAR, f"http://{host}/new")) for host in ("gis.example", "tea.example"))
    assert on_site.score > 2 * elsewhere.score
    assert on_site.parts["site"] > 0
    assert "site" not in elsewhere.parts


def test_the_site_alone_does_not_make_a_page_relevant() -> None:
    judge = TopicJudge(Vsm(Topic.of("geographic information systems")))
    observe_manuals(judge)
    assert judge.score(make_page(FILLER * 3, "http://gis.example/imprint")) < 0.5


def test_only_the_own_evidence_of_pages_counts_for_their_site() -> None:
    judge = TopicJudge(Vsm(Topic.of("geographic information systems")))
    observe_manuals(judge)
    before = judge.site_evidence.compute_bonus("http://gis.example/")
    for number in range(60):
        judge.observe(make_page(FILLER * 3, f"http://gis.example/other/{number}"))
    assert judge.site_evidence.compute_bonus("http://gis.example/") < before


def test_a_single_site_has_no_bonus() -> None:
    evidence = SiteEvidence()
    for number in range(20):
        evidence.add_page(f"http://a.example/{number}", 2.0 if number % 2 else -3.0)
    assert evidence.compute_bonus("http://a.example/new") == 0.0
    assert evidence.compute_bonus("http://unknown.example/") == 0.0


def test_sites_are_part_of_the_state_and_states_of_earlier_versions_have_none() -> None:
    judge, resumed, old = (TopicJudge(Vsm(Topic.of("geographic information systems"))) for _ in range(3))
    observe_manuals(judge)
    resumed.restore_state(judge.get_state())
    url = "http://gis.example/new"
    assert resumed.site_evidence.compute_bonus(url) == pytest.approx(judge.site_evidence.compute_bonus(url)) != 0
    old.restore_state(judge.expansion.get_state())
    assert old.expansion.sources == judge.expansion.sources
    assert old.site_evidence.compute_bonus(url) == 0.0


def test_a_topic_of_units_that_belong_together_has_no_bonus() -> None:
    judge = TopicJudge(Vsm(Topic.of("full text search in databases")))
    chapter = "full text search in databases finds documents and the full text search of a database ranks them "
    for number in range(12):
        judge.observe(make_page(chapter * 3, f"http://db.example/{number}"))
        for host in ("music.example", "mail.example", "tea.example"):
            judge.observe(make_page(FILLER * 3, f"http://{host}/{number}"))
    assert judge.site_evidence.compute_bonus("http://db.example/new") > 0
    assert "site" not in judge.judge(make_page("databases have owners " + FILLER, "http://db.example/new")).parts


def test_the_context_of_a_topic_may_be_that_of_the_site() -> None:
    chapter = "a full text search finds words " + FILLER * 12
    scores = []
    for text in ("databases store rows ", FILLER):
        judge = TopicJudge(Vsm(Topic.of("full text search in databases")))
        for number in range(8):
            judge.observe(make_page(text + FILLER, f"http://a.example/{number}"))
        resumed = TopicJudge(Vsm(Topic.of("full text search in databases")))
        resumed.restore_state(judge.get_state())
        page = make_page(chapter, "http://a.example/new")
        assert resumed.score(page) == judge.score(page)
        scores.append(judge.score(page))
    assert scores[0] > scores[1] + 0.1


def test_pages_about_the_context_alone_are_not_relevant() -> None:
    judge = TopicJudge(Vsm(Topic.of("full text search in databases")))
    text = "databases store rows and the owner of databases drops a database "
    assert judge.score(make_page(text * 5, "http://a.example/")) < 0.2


def test_small_differences_between_sites_off_the_topic_give_no_bonus() -> None:
    evidence = SiteEvidence()
    for number in range(200):
        evidence.add_page(f"http://a.example/{number}", -2.4)
        evidence.add_page(f"http://host-{number % 10}.example/{number}", -3.5)
    assert evidence.compute_bonus("http://a.example/new") == 0.0
