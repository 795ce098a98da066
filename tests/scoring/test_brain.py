"""What the apprentice has in mind: it explains itself in words, and examples teach it before the first page."""

from __future__ import annotations

import pytest

from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.brain import Brain
from topicrawl.topic import Topic

WORDS = ("dengue", "fever", "is", "a", "fever", "of", "the", "tropics")


def brain() -> Brain:
    return Brain(Vsm(Topic.of("dengue fever")), rate=1.0, pool=1000)


def page(url: str, *links: Link, words: tuple[str, ...] = ("nothing", "of", "interest")) -> Page:
    return Page(url, links=tuple(links), words=words, text=" ".join(words))


def visited(mind: Brain, found: Page, link: Link | None = None, relevance: float | None = None) -> Visit:
    visit = Visit(1, link or Link(found.url), Place(1.0), found.url, found, relevance)
    mind.learn(visit)
    return visit


def test_the_words_that_led_to_relevant_pages_are_named() -> None:
    mind = brain()
    handouts = [Link(f"http://a/{n}", source="http://a/", anchor=f"handout {n}", position=n) for n in range(8)]
    visited(mind, page("http://a/", *handouts))
    for link in handouts[:6]:
        visited(mind, page(link.url, words=WORDS), link)
    reasons = dict(mind.reasons(handouts[6]))
    assert reasons["link text “handout”"] > 0
    assert reasons["siblings"] > 0
    assert reasons["always"] == -2.5
    assert mind.reasons(Link("http://never/seen")) == ()


def test_examples_teach_which_links_and_pages_are_wanted() -> None:
    wanted = page("http://e/1", words=("mosquito", "bites", "spread", "the", "virus"))
    other = page("http://e/2", words=("steam", "engines", "and", "trains"))
    parents = [(Link("http://e/1", source="http://p/", anchor="vector control"), 1.0)] * 5
    taught, untaught = brain(), brain()
    taught.teach([wanted], [other], parents)
    links = (
        Link("http://b/1", source="http://b/", anchor="vector control"),
        Link("http://b/2", source="http://b/", anchor="old engines", position=1),
    )
    start = page("http://b/", *links, words=("mosquito", "virus"))
    scores = [[place.score for place in mind.places(links, visited(mind, start))] for mind in (taught, untaught)]
    assert scores[0][0] - scores[0][1] > scores[1][0] - scores[1][1]
    again = brain()
    again.restore(taught.state())
    assert [place.score for place in again.places(links, visited(again, start))] == scores[0]


def test_a_word_that_no_link_had_before_is_worth_what_the_pages_are_that_hold_it() -> None:
    mind = brain()
    links = tuple(
        Link(f"http://b/{n}", source="http://b/", anchor=anchor, position=n)
        for n, anchor in enumerate(("aedes", "locomotive"))
    )
    visited(mind, page("http://b/", *links))
    for number in range(10):
        visited(mind, page(f"http://c/{number}", words=("aedes", *WORDS)))
        visited(mind, page(f"http://d/{number}", words=("locomotive", "of", "steam")))
    mind.revised()
    told, untold = (mind.pool.score(link.url) for link in links)
    assert told > 1.2 * untold
    assert dict(mind.reasons(links[0]))["link text “aed”"] > 0 > dict(mind.reasons(links[1]))["link text “locomot”"]
    again = brain()
    again.restore(mind.state())
    for each in (mind, again):
        visited(each, page("http://e/", words=("aedes", *WORDS)))
    assert again.revised() == mind.revised()
    assert [again.reasons(link) for link in links] == [mind.reasons(link) for link in links]


def test_a_crawl_begun_by_a_version_that_knew_no_worth_of_words_goes_on() -> None:
    mind, again = brain(), brain()
    visited(mind, page("http://b/", Link("http://b/1", source="http://b/", anchor="aedes"), words=WORDS))
    state = mind.state()
    again.restore({name: value for name, value in state.items() if name not in ("worth", "given")})
    assert again.pool.score("http://b/1") == mind.pool.score("http://b/1")
    again.revised()


def test_pages_without_the_topics_words_teach_nobody_to_like_them() -> None:
    mind = brain()
    dull = [Link(f"http://a/{n}", source="http://a/", anchor="imprint", position=n) for n in range(30)]
    visited(mind, page("http://a/", *dull))
    before = mind.pool.score(dull[-1].url)
    for link in dull[:-1]:
        visited(mind, page(link.url), link)
    mind.revised()
    assert mind.pool.score(dull[-1].url) < before


@pytest.mark.parametrize("is_guest", [True, False], ids=["a judge of one's own", "readers' verdicts"])
def test_what_others_think_of_pages_decides_what_is_learned(is_guest: bool) -> None:
    vsm = Vsm(Topic.of("dengue fever"))
    vsm.judge = Always() if is_guest else None
    mind = Brain(vsm, rate=1.0, pool=1000)
    links = [Link(f"http://a/{n}", source="http://a/", anchor=("train", "owl")[n % 2]) for n in range(12)]
    visited(mind, page("http://a/", *links), relevance=0.0)
    for number, link in enumerate(links[:10]):
        visited(mind, page(link.url), link, relevance=0.9 * (number % 2))
    trains, owls = (dict(mind.reasons(link)) for link in links[10:])
    assert owls["link text “owl”"] > 0 > trains["link text “train”"]


class Always:
    """A judge who likes everything; what counts here is what the visits say."""

    def score(self, page: Page) -> float:
        return 1.0

    def learn(self, page: Page, relevant: bool) -> None:
        raise AssertionError("nobody teaches")
