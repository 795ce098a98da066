"""Naive Bayes over what is known of a URL before it is fetched: Hati, Kumar and Mishra 2010, sections 4 and 5.

The paper asks a search engine to describe a URL and a tool for words related to an anchor. Here descriptions come from
a file, or from search engines where the user lets them be asked, and related words from WordNet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nextafter
from typing import Any, NamedTuple

from topicrawl.errors import StrategyError
from topicrawl.records import Around, Link, Page, Place, Visit
from topicrawl.strategies.guided import PARENTS, Guided, Parents
from topicrawl.strategies.link_evidence import added, flat, unflat, url_words
from topicrawl.strategies.material import Material, file_text
from topicrawl.strategies.strategy import Setting
from topicrawl.text.cohesive import cohesive_text
from topicrawl.text.keyword_table import Related
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.wordnet import wordnet
from topicrawl.urls import canonical

#: What a URL is about, in some words; None: unknown.
Describe = Callable[[str], str | None]


class Known(NamedTuple):
    """What pages say about one URL."""

    pages: int  # how many of them
    relevance: float  # of these pages, summed
    description: Mapping[int, float]  # how often keywords stand in the URL's description
    anchor: int  # keywords that are related to words of anchors, as bits
    cohesive: int  # keywords in cohesive texts


@dataclass
class Hati(Guided):
    """A link is worth how likely it is relevant by its parents, its description, its anchor and the text around it.

        P(Relevant | X) = P(X | Relevant) · P(Relevant) / Σ over both classes

    X, each yes or no: `parents`, the mean cosine of the pages that link to the URL with the topic's keyword table,
    > .7; `description`, the cosine of the URL's description with it, > .8; `anchor`, the share of the keywords that are
    related to a word of its anchors, ≥ .7; `cohesive`, the share of the keywords in the sentences around its links,
    ≥ .7. A cosine is over the keywords alone. At most five pages have a say. The paper leaves the last limit open, and
    the order of the queue too: here it is the posterior, and nothing is pruned.

    A URL that neither the file `descriptions` (lines of url⇥text) nor a search engine describes is described by those
    who link to it: by their anchors and the words around them, and by its own address.

    Seven rows of table 8; the paper's X is (no, yes, no, yes), but it multiplies as if the anchor were yes. The first
    is 256/381, the second 384/509:

    >>> from topicrawl.strategies.guides import Guide, Recipe
    >>> rows = ["NYYY", "YYYY", "NNYY", "YYNN", "YYNY", "NNYN", "NYNY"]
    >>> table_8 = [tuple(float(letter == "Y") for letter in row) for row in rows]
    >>> guide = Guide.fit(Recipe("nb", Hati().thresholds(), smoothing=False), table_8, [True] * 5 + [False] * 2)
    >>> round(guide.predict((0, 1, 0, 1)), 6), round(guide.predict((0, 1, 1, 1)), 6)
    (0.671916, 0.75442)
    """

    name = "hati"
    family = "learning"
    paper = "Hati et al. 2010, 5"
    attributes = ("parents", "description", "anchor", "cohesive")
    context = Around.ALL

    k: int = 10
    parents: float = 0.7  # to be exceeded
    description: float = 0.8  # to be exceeded
    anchor: float = 0.7  # to be reached
    cohesive: float = 0.7  # to be reached
    descriptions: str = ""  # file with lines of url⇥text

    def thresholds(self) -> tuple[float, ...]:
        # Guides ask whether a threshold is exceeded; to reach one is to exceed the number just below it.
        return self.parents, self.description, nextafter(self.anchor, -1.0), nextafter(self.cohesive, -1.0)

    def related(self) -> Related | None:
        return wordnet().related

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        path = self.descriptions
        told = _described(file_text(path, self.name), path) if path else {}
        self.describe: Describe = lambda url: told.get(url) or setting.describe(url)

    def _read(self, links: Sequence[Link], page: Page | None) -> dict[str, Known]:
        """URL → what a page says about it."""
        relevance = self.plain.cosine(self.plain.counts(page.words)) if page is not None else 0.0
        text = page.text if page is not None else ""
        found: dict[str, Known] = {}
        near: dict[str, int] = {}  # sentence → keywords in its cohesive text
        at = 0
        for link in links:
            if link.sentence not in near:
                cohesive, at = cohesive_text(text, link.sentence, at)
                near[link.sentence] = self.plain.found(tokenise(cohesive))
            anchor = tokenise(link.anchor or link.alt)
            described = self.describe(link.url)
            told = tokenise(described) if described else (*url_words(link.url), *anchor, *link.before, *link.after)
            counts = self.plain.counts(told) if self.plain.found(told) else {}
            known = Known(1, relevance, counts, self.table.found(anchor), near[link.sentence])
            found[link.url] = known if link.url not in found else _joined(found[link.url], known, pages=0)
        return found

    def _values(self, known: Known) -> tuple[float, ...]:
        described = self.plain.cosine(known.description) if known.description else 0.0
        mean = min(1.0, known.relevance / known.pages)
        return mean, described, self.table.share(known.anchor), self.plain.share(known.cohesive)

    def example(self, url: str, material: Material, parents: Parents) -> tuple[float, ...] | None:
        found: Known | None = None
        for link in parents(url):
            (known,) = self._read([link], material.page(link.source)).values()
            found = known if found is None else _joined(found, known)
        return None if found is None else self._values(found)

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        places = {url: self._place(known) for url, known in self._read(links, visit.page).items()}
        return [places[link.url] for link in links]

    def combine(self, old: Place, new: Place) -> Place:
        if not isinstance(old.carry, list) or not isinstance(new.carry, list) or old.carry[0] == PARENTS:
            return old  # a seed, or enough have spoken
        return self._place(_joined(_known(old.carry), _known(new.carry)))

    def described(self, place: Place, text: str) -> Place:
        """The place of a waiting link when an engine has described it."""
        if not isinstance(place.carry, list):
            return place  # a seed
        return self._place(_known(place.carry)._replace(description=self.plain.counts(tokenise(text))))

    def _place(self, known: Known) -> Place:
        values = self._values(known)
        parts = tuple(zip(self.attributes, values, strict=True))
        carry = [known.pages, round(known.relevance, 6), flat(known.description), known.anchor, known.cohesive]
        return Place(self.judge.predict(values), carry, parts)  # type: ignore[arg-type]  # lists of plain values


def _known(carry: Sequence[Any]) -> Known:
    pages, relevance, description, anchor, cohesive = carry
    return Known(pages, relevance, unflat(description), anchor, cohesive)


def _joined(one: Known, other: Known, *, pages: int = 1) -> Known:
    """What two links say together; `pages` is 0 when both stand on one page."""
    return Known(
        one.pages + pages,
        one.relevance + other.relevance * pages,
        added(one.description, other.description),
        one.anchor | other.anchor,
        one.cohesive | other.cohesive,
    )


def _described(text: str, path: str) -> dict[str, str]:
    """URL → description, of lines of url⇥text."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        url, tab, told = line.partition("\t")
        address = canonical(url.strip())
        if address is None or not tab:
            raise StrategyError(f"{path}:{number}: expected a URL, a tab and its description, found {line[:80]!r}")
        found[address] = f"{found[address]} {told}" if address in found else told
    return found
