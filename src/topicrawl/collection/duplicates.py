"""Pages that repeat others: Kluev 2000, section 4, step 6.

A page is a duplicate of one that is here already when

- its text is the same to the letter, by digest;
- or it shares nine of ten shingles with it, and their lengths differ by no more than 500 characters;
- or their addresses say so, and half of the shingles agree: names that differ only in their suffix, or one names the
  other as its canonical form. Kluev took the names' word for it; but the page about a paper is often called like it.

What is compared is the text without the lines that are nothing but a link: a menu that all pages of a site share
makes them no duplicates, and the same document in another format has no menu. Marks (see `minhash.py`) find the few
pages that are worth comparing; the others are read from the archive and compared shingle by shingle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import filterfalse
from operator import attrgetter
from typing import NamedTuple, Protocol

from topicrawl.records import Page
from topicrawl.text.minhash import bands
from topicrawl.text.shingles import resemblance
from topicrawl.text.tokens import words
from topicrawl.urls import fingerprint

_COMPARED = 3  # candidates of a page at the most
_SUFFIXES = "s?html?|xhtml|php|aspx?|jsp|txt|text|md|pdf|e?ps|dvi|tex|docx?|odt|rtf|epub|g?z|bz2|zip"
_NAMED = re.compile(rf"(https?://[^?]*/[^/?]+?)(?:\.(?:{_SUFFIXES}))+", re.I)
_anchor = attrgetter("anchor")


@dataclass(frozen=True, slots=True)
class Sameness:
    """From where two pages are the same."""

    resemblance: float = 0.9  # share of common shingles
    window: int = 500  # characters by which their lengths may differ
    related: float = 0.5  # share of common shingles when their addresses say that they are the same
    shortest: int = 30  # words: what has fewer is a picture, a form or a menu, and its words do not tell it apart


class Twin(NamedTuple):
    """What a page repeats, and how one can tell."""

    url: str
    how: str


class Known(Protocol):
    """The pages that are kept already."""

    def steps(self, marks: Sequence[int]) -> dict[int, int]:
        """Mark → the step of the page that left it."""

    def step_at(self, url: str) -> int | None:
        """The step of the page at an address."""

    def page(self, step: int) -> Page | None:
        """A page as it was read; None when it no longer can be."""


class Marks(NamedTuple):
    """What leads from a page to those that may be the same."""

    text: list[int]  # its digest and its bands
    names: list[int]  # its name without the suffix, and its canonical address
    own: int  # its own address, which others may have named as canonical

    def kept(self) -> list[int]:
        return [*self.text, *self.names]


class Duplicates:
    """Tells which pages repeat others; pages are asked for in the order in which they are kept."""

    def __init__(self, known: Known, sameness: Sameness | None = None) -> None:
        self._known = known
        self._sameness = sameness or Sameness()
        self._fresh: dict[str, tuple[Marks, Page]] = {}  # by address: looked at and not stored yet

    def twin(self, page: Page) -> Twin | None:
        """The page that this one repeats; None: it is new, and its marks are to be stored with it."""
        text = prose(page)
        marks = self._marks(page, text)
        for other, related in self._candidates(page, marks):
            if other.url != page.url and (how := self._same(page, text, other, related)):
                return Twin(other.url, how)
        self._fresh[page.url] = marks, page
        return None

    def stored(self, url: str) -> list[int]:
        """The marks of a page that is being stored."""
        fresh = self._fresh.pop(url, None)
        return fresh[0].kept() if fresh is not None else []

    def _marks(self, page: Page, text: str) -> Marks:
        of_text: list[int] = []
        if len(page.words) >= self._sameness.shortest:
            of_text = bands(text)
            if page.digest:
                of_text.append(int.from_bytes(bytes.fromhex(page.digest)[:8], "little", signed=True))
        names = [fingerprint(f"name {named[1]}")] if (named := _NAMED.fullmatch(page.url)) else []
        if page.canonical and page.canonical != page.url:
            names.append(fingerprint(f"canonical {page.canonical}"))
        return Marks(of_text, names, fingerprint(f"canonical {page.url}"))

    def _candidates(self, page: Page, marks: Marks) -> Iterable[tuple[Page, bool]]:
        """Pages that share marks, those with most of them first; and whether their addresses are related."""
        asked = {*marks.text, *marks.names, marks.own}
        for old, other in self._fresh.values():
            if not asked.isdisjoint(old.kept()) or other.url == page.canonical:
                names = {*marks.names, marks.own}
                yield other, not names.isdisjoint(old.names) or other.url == page.canonical
        found = self._known.steps([*marks.text, *marks.names, marks.own])
        related = {step for mark, step in found.items() if mark == marks.own or mark in marks.names}
        if page.canonical and page.canonical != page.url and (step := self._known.step_at(page.canonical)) is not None:
            related.add(step)
        shared = Counter({step: len(marks.text) for step in related})
        shared.update(found.values())
        for step, _ in shared.most_common(_COMPARED):
            if (known := self._known.page(step)) is not None:
                yield known, step in related

    def _same(self, page: Page, text: str, other: Page, related: bool) -> str:
        """How one can tell that two pages are the same; "" when they are not."""
        limit = self._sameness
        if len(page.words) < limit.shortest or len(other.words) < limit.shortest:
            return ""
        if page.digest == other.digest:
            return f"the same text as {other.url}"
        its_text = prose(other)
        if not related and abs(len(text) - len(its_text)) > limit.window:
            return ""
        share = resemblance(words(text), words(its_text))
        if share >= limit.resemblance:
            return f"nearly the same text as {other.url} ({share:.0%} of the shingles)"
        if related and share >= limit.related:
            return f"another form of {other.url} ({share:.0%} of the shingles)"
        return ""


def prose(page: Page) -> str:
    r"""The text of a page without the lines that are nothing but a link.

    >>> from topicrawl.records import Link
    >>> prose(Page("u", text="Home\nOwls hunt at night.\nNext", links=(Link("h", anchor="Home"),)))
    'Owls hunt at night.\nNext'
    """
    anchors = set(map(_anchor, page.links))
    return "\n".join(filterfalse(anchors.__contains__, page.text.split("\n")))
