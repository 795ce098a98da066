"""A handful of pages to learn from: ten on dengue fever, ten on railways, and two people who read them."""

from __future__ import annotations

from collections.abc import Sequence

from topicrawl.records import Link, Page, Sentence
from topicrawl.text.tokens import words

ON = (
    "Dengue fever is spread by the mosquito Aedes aegypti.",
    "The fever starts high, with pain behind the eyes.",
    "A mosquito net and dry gutters keep dengue away.",
    "The virus of dengue has four serotypes.",
    "Doctors treat the fever with fluids and rest.",
)
OFF = (
    "The steam locomotive was built in Derby for the main line.",
    "Passengers waited on the platform for the express train.",
    "Signals on the railway were painted red and green.",
    "The boiler was tested before the locomotive left the works.",
    "Freight wagons rolled through the night to the harbour.",
)


def url_of(kind: str, number: int) -> str:
    return f"http://made/{kind}/{number}"


def page_of(kind: str, number: int) -> Page:
    """Page n of a kind says all but one of its sentences, and links to the next pages and once to the other kind."""
    source, other = (ON, OFF) if kind == "dengue" else (OFF, ON)
    said = [text for place, text in enumerate(source) if place != number % 5] + [other[number % 5]] * (number % 3 == 0)
    url = url_of(kind, number)
    text = " ".join(said)
    anchors = {"dengue": "about dengue fever", "railway": "a steam locomotive"}
    leads = [(kind, (number + step) % 10) for step in (1, 2, 5)]
    leads.append(("railway" if kind == "dengue" else "dengue", number))
    links = tuple(
        Link(
            url_of(to, n), url, f"{anchors[to]} {n}", before=tuple(words(said[0]))[:5], after=tuple(words(said[1]))[:5],
            sentence=said[0], heading=kind, tag_path="body/p/a", position=place, depth=1,
        )
        for place, (to, n) in enumerate(leads)
    )  # fmt: skip
    sentences = tuple(Sentence(text, paragraph) for paragraph, text in enumerate(said))
    return Page(url, f"{kind} {number}", (kind,), text, tuple(words(text)), sentences, "en", links=links)


class Made:
    """Material of twenty pages."""

    def __init__(self) -> None:
        pages = [page_of(kind, number) for kind in ("dengue", "railway") for number in range(10)]
        self._pages = {page.url: page for page in pages}
        self.relevant: Sequence[str] = tuple(url_of("dengue", number) for number in range(10))
        self.irrelevant: Sequence[str] = tuple(url_of("railway", number) for number in range(10))
        self.sessions: Sequence[Sequence[str]] = (
            tuple(url_of(*step) for step in (("railway", 0), ("railway", 1), ("railway", 3), ("dengue", 3))),
            tuple(url_of(*step) for step in (("railway", 5), ("dengue", 5), ("dengue", 6), ("railway", 6))),
        )

    def page(self, url: str) -> Page | None:
        return self._pages.get(url)

    def parents(self, url: str, most: int = 5) -> Sequence[Link]:
        return [link for page in self._pages.values() for link in page.links if link.url == url][:most]
