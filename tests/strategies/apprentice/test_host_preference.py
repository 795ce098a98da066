"""Tests of the preference for hosts, and of the trials of hosts without fetched pages."""

from __future__ import annotations

import json

import pytest
from tests.strategies.apprentice.test_link_model import WORDS, learn_visit, make_model, page

from topicrawl.models import Link
from topicrawl.strategies.apprentice import host_preference
from topicrawl.strategies.apprentice.host_preference import HostPreference
from topicrawl.strategies.apprentice.link_model import LinkModel


def make_preference(relevance_by_host: dict[str, float], pages: int = 4) -> HostPreference:
    preference = HostPreference()
    for host, relevance in relevance_by_host.items():
        for number in range(pages):
            preference.add_page(f"http://{host}/{number}", relevance)
    return preference


def test_a_better_host_is_preferred_although_no_page_is_relevant() -> None:
    preference = make_preference({"cluster.example": 0.2, "music.example": 0.05, "tea.example": 0.05})
    assert preference.compute("cluster.example") > 0.9
    assert preference.compute("music.example") == preference.compute("new.example") == 0


def test_more_pages_give_a_stronger_preference_within_its_limits() -> None:
    others = {"music.example": 0.05, "tea.example": 0.05}
    few, many = (make_preference(others | {"good.example": 0.9}, pages) for pages in (4, 40))
    assert 0 < few.compute("good.example") < many.compute("good.example") == 3.0
    poor = make_preference({"good.example": 0.9, "better.example": 0.95, "poor.example": 0.0}, 40)
    assert poor.compute("poor.example") == -1.0


def test_a_single_host_is_not_preferred() -> None:
    assert make_preference({"only.example": 0.9}).compute("only.example") == pytest.approx(0)


def test_trials_end_at_a_good_host_and_grow_with_the_visits() -> None:
    poor = make_preference({"music.example": 0.05, "tea.example": 0.05})
    assert [poor.count_trials(visits) for visits in (1, 25, 100)] == [5, 13, 23]
    assert make_preference({"good.example": 0.9, "tea.example": 0.1}, 12).count_trials(100) == 0
    # One good page is not enough: the start page may name the topic without being about it.
    assert make_preference({"portal.example": 0.9, "tea.example": 0.1}, 1).count_trials(100) > 0


def test_the_state_is_restored_also_from_an_earlier_version() -> None:
    preference = make_preference({"a.example": 0.5, "b.example": 0.1, "c.example": 0.1})
    resumed = HostPreference()
    resumed.restore_state(json.loads(json.dumps(preference.get_state())))
    resumed.add_page("http://b.example/new", 0.4)
    preference.add_page("http://b.example/new", 0.4)
    assert resumed.get_state() == preference.get_state()
    assert resumed.compute("a.example") == preference.compute("a.example") > 0
    resumed.restore_state({"hosts": {"a.example": [2.0, 0.3, 4], "b.example": [0.4, 0.1, 4], "c.example": [0.4, 0, 4]}})
    assert resumed.compute("a.example") > 0
    resumed.restore_state(None)
    assert resumed.compute("a.example") == 0


def test_the_number_of_hosts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_preference, "_MAX_HOSTS", 2)
    preference = make_preference({"a.example": 0.9, "b.example": 0.1, "c.example": 0.1})
    assert not preference.is_known("a.example")
    assert preference.is_known("b.example")
    assert preference.compute("c.example") == 0


def learn_portal(mind: LinkModel, relevance: float) -> list[str]:
    """Learn a portal with links to ten manuals and some pages of the first. Return the best links afterwards."""
    manuals = [Link(f"http://m{n}.example/", source="http://p/", anchor=f"manual {n}", position=n) for n in range(10)]
    learn_visit(mind, page("http://p/", *manuals), relevance=0.05)
    chapters = [
        Link(f"http://m0.example/{n}", source=manuals[0].url, anchor="dengue fever", position=n) for n in range(20)
    ]
    learn_visit(mind, page(manuals[0].url, *chapters), manuals[0], relevance=relevance)
    for chapter in chapters[:8]:
        learn_visit(mind, page(chapter.url, words=WORDS), chapter, relevance=relevance)
    mind.rescore_links()
    return sorted(mind.pool.numbers, key=mind.pool.get_score, reverse=True)


def test_other_hosts_are_tried_if_the_known_hosts_are_poor() -> None:
    mind = make_model()
    best = learn_portal(mind, relevance=0.2)
    top = [url for url in best if mind.pool.get_score(url) == mind.pool.get_score(best[0])]
    assert sum(not url.startswith("http://m0.") for url in top) == 5


def test_no_other_host_is_tried_while_a_host_is_good() -> None:
    best = learn_portal(make_model(), relevance=0.95)
    assert all(url.startswith("http://m0.") for url in best[:10])
