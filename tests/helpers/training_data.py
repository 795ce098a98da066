"""Training data for tests: ten pages on dengue fever, ten on railways, and two browsing sessions."""

from __future__ import annotations

from collections.abc import Sequence

from topicrawl.models import Link, Page, Sentence
from topicrawl.text.tokenizer import tokenise

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


def build_url(kind: str, number: int) -> str:
    """Return the URL of page `number` of a kind."""
    return f"http://made/{kind}/{number}"


def build_page(kind: str, number: int) -> Page:
    """Return page `number` of a kind: all but one of its sentences, links to three next pages and to the other kind."""
    source, other = (ON, OFF) if kind == "dengue" else (OFF, ON)
    texts = [text for place, text in enumerate(source) if place != number % 5] + [other[number % 5]] * (number % 3 == 0)
    url = build_url(kind, number)
    text = " ".join(texts)
    anchors = {"dengue": "about dengue fever", "railway": "a steam locomotive"}
    targets = [(kind, (number + step) % 10) for step in (1, 2, 5)]
    targets.append(("railway" if kind == "dengue" else "dengue", number))
    links = tuple(
        Link(
            build_url(target_kind, n),
            url,
            f"{anchors[target_kind]} {n}",
            before=tuple(tokenise(texts[0]))[:5],
            after=tuple(tokenise(texts[1]))[:5],
            sentence=texts[0],
            heading=kind,
            tag_path="body/p/a",
            position=place,
            depth=1,
        )
        for place, (target_kind, n) in enumerate(targets)
    )
    sentences = tuple(Sentence(text, paragraph) for paragraph, text in enumerate(texts))
    return Page(url, f"{kind} {number}", (kind,), text, tuple(tokenise(text)), sentences, "en", links=links)


class SampleTrainingData:
    """Training data of twenty pages."""

    def __init__(self) -> None:
        pages = [build_page(kind, number) for kind in ("dengue", "railway") for number in range(10)]
        self._pages = {page.url: page for page in pages}
        self.relevant: Sequence[str] = tuple(build_url("dengue", number) for number in range(10))
        self.irrelevant: Sequence[str] = tuple(build_url("railway", number) for number in range(10))
        self.sessions: Sequence[Sequence[str]] = (
            tuple(build_url(*step) for step in (("railway", 0), ("railway", 1), ("railway", 3), ("dengue", 3))),
            tuple(build_url(*step) for step in (("railway", 5), ("dengue", 5), ("dengue", 6), ("railway", 6))),
        )

    def get_page(self, url: str) -> Page | None:
        """Return the page with this URL, or None."""
        return self._pages.get(url)

    def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
        """Return up to `most` links to this URL."""
        return [link for page in self._pages.values() for link in page.links if link.url == url][:limit]
