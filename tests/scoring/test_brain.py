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
