"""A page as a reader sees it: its text in paragraphs, the topic's words marked, its links as plain addresses.

What comes out is text alone. Templates escape it; nothing of the page's own HTML goes further than this.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from topicrawl import parse
from topicrawl.collection.archive import Archive
from topicrawl.collection.store import Stored
from topicrawl.errors import DamagedError
from topicrawl.records import Failure, Link, Page, Response
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic

LONGEST = 60_000  # characters that are shown
MOST_LINKS = 300
_AROUND = 160  # characters beside a link
_WORD = re.compile(r"[\w’']+", re.UNICODE)

#: A piece of text, and whether it is one of the topic's words.
Piece = tuple[str, bool]


@dataclass(frozen=True)
class View:
    """A page for the reader's eyes."""

    url: str
    title: str
    language: str
    paragraphs: tuple[tuple[Piece, ...], ...]
    links: tuple[Link, ...]
    words: int
    shortened: bool = False
    trouble: str = ""  # why there is nothing to read

    @property
    def marked(self) -> int:
        """How often the topic's words occur."""
        return sum(is_marked for paragraph in self.paragraphs for _, is_marked in paragraph)

    @property
    def found(self) -> list[tuple[str, int]]:
        """The topic's words as they stand on the page, the most frequent first."""
        forms = Counter(text.lower() for paragraph in self.paragraphs for text, is_marked in paragraph if is_marked)
        return forms.most_common(8)


def stored_view(archive: Archive, visit: Stored, topic: Topic) -> View:
    """The view of a page of a collection."""
    if visit.spot is None:
        why = f"{visit.failure}: {visit.detail}" if visit.failure else "the page is not in the archive"
        return View(visit.url, visit.url, "", (), (), 0, trouble=why)
    try:
        response = replace(archive.read(visit.spot), url=visit.requested, final_url=visit.url)
    except DamagedError as error:
        return View(visit.url, visit.url, "", (), (), 0, trouble=str(error))
    return view_of(response, visit.link, topic)


def view_of(response: Response, link: Link, topic: Topic) -> View:
    """The view of a response."""
    page = parse.read(response, link, context=False)
    if isinstance(page, Failure):
        return View(response.final_url, response.final_url, "", (), (), 0, trouble=f"{page}: {response.detail}")
    return page_view(page, topic)


def page_view(page: Page, topic: Topic) -> View:
    """The view of a page."""
    marker = Marker(topic)
    text = page.text[:LONGEST]
    paragraphs = tuple(tuple(marker.pieces(line)) for line in text.split("\n") if line.strip())
    distinct = {link.url: link for link in reversed(page.links)}
    links = tuple(link for link in page.links if distinct[link.url] is link)[:MOST_LINKS]
    return View(
        page.url, page.title or page.url, page.language, paragraphs, links, len(page.words), len(page.text) > LONGEST
    )


@dataclass(frozen=True)
class Lead:
    """The link that led to a page, as it stood on the page before."""

    source: str
    heading: tuple[Piece, ...] = ()
    anchor: tuple[Piece, ...] = ()
    before: tuple[Piece, ...] = ()  # of the sentence around it
    after: tuple[Piece, ...] = ()


def lead(archive: Archive, before: Stored, visit: Stored, topic: Topic) -> Lead:
    """The link on the page `before` that led to a page; where that cannot be read any more, its anchor alone."""
    marker = Marker(topic)
    plain = Lead(before.url, anchor=tuple(marker.pieces(visit.anchor)))
    if before.spot is None:
        return plain
    try:
        response = replace(archive.read(before.spot), url=before.requested, final_url=before.url)
    except DamagedError:
        return plain
    page = parse.read(response, before.link)
    if isinstance(page, Failure):
        return plain
    same = [link for link in page.links if link.url == visit.requested]
    found = next((link for link in same if link.anchor == visit.anchor), same[0] if same else None)
    if found is None:
        return plain
    first, _, rest = found.sentence.partition(found.anchor) if found.anchor else (found.sentence, "", "")
    texts = (found.heading, visit.anchor, first[-_AROUND:], rest[:_AROUND])
    return Lead(before.url, *(tuple(marker.pieces(text)) for text in texts))


class Marker:
    """Finds the topic's words in a text, in any of their forms.

    >>> list(Marker(Topic.of("dengue fever")).pieces("Fevers are hot"))
    [('Fevers', True), (' are hot', False)]
    """

    def __init__(self, topic: Topic) -> None:
        self._lexicon = topic.lexicon
        words = [token for word in topic.all_words for token in tokenise(word)]
        self._stems = {self._lexicon.stem(word) for word in words}
        self._known: dict[str, bool] = {}

    def pieces(self, text: str) -> Iterator[Piece]:
        """The text cut at the topic's words."""
        start = 0
        for found in _WORD.finditer(text):
            if self._is_one(found[0].lower()):
                if found.start() > start:
                    yield text[start : found.start()], False
                yield found[0], True
                start = found.end()
        if start < len(text):
            yield text[start:], False

    def _is_one(self, word: str) -> bool:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = any(self._lexicon.stem(token) in self._stems for token in tokenise(word))
        return known
