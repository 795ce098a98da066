"""Pages that repeat others: Kluev 2000, section 4, step 6.

A page is a duplicate of one that is here already when

- its text is the same to the letter, by digest;
- or it shares nine of ten shingles with it, and their lengths differ by no more than 500 characters;
- or their addresses say so, and half of the shingles agree: names that differ only in their suffix, or one names the
  other as its canonical form. Kluev took the names' word for it; but the page about a paper is often called like it.

What is compared is the text without the lines that are nothing but a link: a menu that all pages of a site share
makes them no duplicates, and the same document in another format has no menu. Where such lines are more than half of
a page, they are compared as well: it may be a list, and then the rest is what all lists of a site share.

Marks (see `minhash.py`) find the few pages that are worth comparing; these are read from the archive and compared
shingle by shingle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import filterfalse
from operator import attrgetter
from struct import pack
from typing import NamedTuple, Protocol

from topicrawl.records import Page, Twin
from topicrawl.text.minhash import bands
from topicrawl.text.shingles import WIDTH, resemblance
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


class Known(Protocol):
    """The pages that are kept already."""

    def steps(self, marks: Iterable[int]) -> dict[int, int]:
        """Mark → the step of the page that left it."""

    def add(self, marks: Iterable[int], step: int) -> None:
        """Remember what leads to a page that is being kept."""

    def step_at(self, url: str) -> int | None:
        """The step of the page at an address."""

    def page(self, step: int) -> Page | None:
        """A page as it was read; None when it no longer can be."""


class Trace(NamedTuple):
    """What is compared of a page, and the marks that lead from it to pages that may be the same."""

    prose: str
    text: list[int]  # marks of its digest and its bands
    names: list[int]  # of its name without the suffix, and of its canonical address
    own: int  # of its own address, which others may have named as canonical

    @classmethod
    def of(cls, page: Page, shortest: int) -> Trace:
        prose, links = parted(page)
        text: list[int] = []
        if len(page.words) >= shortest:
            # What has the same rest and other links is another list, so it gets other marks.
            text = bands(prose, abs(fingerprint(links)) if links else 0)
            if page.digest:
                text.append(int.from_bytes(bytes.fromhex(page.digest)[:8], "little", signed=True))
        names = [fingerprint(f"name {named[1]}")] if (named := _NAMED.fullmatch(page.url)) else []
        if page.canonical and page.canonical != page.url:
            names.append(fingerprint(f"canonical {page.canonical}"))
        return cls(prose, text, names, fingerprint(f"canonical {page.url}"))

    def packed(self) -> bytes:
        """The marks by which it is found, as they are stored."""
        return pack(f"<{len(self.text) + len(self.names)}q", *self.text, *self.names)


class Duplicates:
    """Tells which pages repeat others; pages are asked for in the order in which they are kept."""

    def __init__(self, known: Known, sameness: Sameness | None = None) -> None:
        self._known = known
        self._sameness = sameness or Sameness()
        self._fresh: dict[str, tuple[Trace, Page]] = {}  # by address: looked at and not stored yet

    def twin(self, page: Page) -> Twin | None:
        """The page that this one repeats; None: it is new, and its marks are to be stored with it."""
        trace = Trace.of(page, self._sameness.shortest)
        for other, related in self._candidates(page, trace):
            if other.url != page.url and (how := self._same(page, trace.prose, other, related)):
                return Twin(other.url, how)
        self._fresh[page.url] = trace, page
        return None

    def stored(self, url: str, step: int) -> bytes | None:
        """The marks of a page that is being stored, as they are stored with it."""
        fresh = self._fresh.pop(url, None)
        if fresh is None:
            return None
        trace, _ = fresh
        self._known.add((*trace.text, *trace.names), step)
        return trace.packed()

    def _candidates(self, page: Page, marks: Trace) -> Iterable[tuple[Page, bool]]:
        """Pages that share marks, those with most of them first; and whether their addresses are related."""
        asked = [*marks.text, *marks.names, marks.own]
        for old, other in self._fresh.values():
            related = (
                marks.own in old.names or page.canonical == other.url or any(it in old.names for it in marks.names)
            )
            if related or any(mark in old.text for mark in marks.text):
                yield other, related
        found = self._known.steps(asked)
        named = self._known.step_at(page.canonical) if page.canonical and page.canonical != page.url else None
        if not found and named is None:
            return
        yield from self._compared(marks, found, named)

    def _compared(self, marks: Trace, found: dict[int, int], named: int | None) -> Iterable[tuple[Page, bool]]:
        related = {step for mark, step in found.items() if mark == marks.own or mark in marks.names}
        if named is not None:
            related.add(named)
        shared = Counter({step: len(marks.text) for step in related})
        shared.update(found.values())
        for step, _ in shared.most_common(_COMPARED):
            if (known := self._known.page(step)) is not None:
                yield known, step in related

    def _same(self, page: Page, text: str, other: Page, related: bool) -> str:
        """How one can tell that two pages are the same; "" when they are not."""
        limit = self._sameness
        if min(len(page.words), len(other.words)) < (WIDTH if related else limit.shortest):
            return ""
        if page.digest == other.digest:
            return f"the same text as {other.url}"
        its_text, _ = parted(other)
        if not related and abs(len(text) - len(its_text)) > limit.window:
            return ""
        share = resemblance(words(text), words(its_text))
        if 2 * len(text) < len(page.text) and not related:
            share = min(share, resemblance(page.words, other.words))
        if share >= limit.resemblance:
            return f"nearly the same text as {other.url} ({share:.0%} of the shingles)"
        if related and share >= limit.related:
            return f"another form of {other.url} ({share:.0%} of the shingles)"
        return ""


def marks_of(page: Page) -> bytes:
    """The marks of a page, for who stores it without asking whether it repeats another."""
    return Trace.of(page, Sameness().shortest).packed()


def parted(page: Page) -> tuple[str, str]:
    r"""The lines of a page that are more than a link, as one; and the others where they are the most.

    >>> from topicrawl.records import Link
    >>> home = Link("h", anchor="Home")
    >>> parted(Page("u", text="Home\nOwls hunt at night.\nNext", links=(home,)))
    ('Owls hunt at night. Next', '')
    >>> parted(Page("u", text="Home\nOwls", links=(home,)))
    ('Owls', 'Home')
    """
    anchors = set(map(_anchor, page.links))
    lines = page.text.split("\n")
    prose = " ".join(filterfalse(anchors.__contains__, lines))
    return prose, " ".join(filter(anchors.__contains__, lines)) if 2 * len(prose) < len(page.text) else ""
