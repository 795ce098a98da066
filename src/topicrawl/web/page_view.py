"""Plain-text view of a page: paragraphs with the words of the topic marked, and links as URLs.

A view contains only text, which the templates escape. No HTML of the page goes further than this module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from topicrawl import parse
from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.store import StoredVisit
from topicrawl.errors import DamagedError
from topicrawl.models import Failure, Link, Page, Response
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

MAX_CHARS = 60_000  # characters of a view
MAX_LINKS = 300
_CONTEXT_CHARS = 160  # characters on each side of a link
_WORD_PATTERN = re.compile(r"[\w’']+", re.UNICODE)

#: A piece of text, and whether it is a word of the topic.
TextPiece = tuple[str, bool]


@dataclass(frozen=True)
class PageView:
    """Plain-text view of a page."""

    url: str
    title: str
    language: str
    paragraphs: tuple[tuple[TextPiece, ...], ...]
    links: tuple[Link, ...]
    words: int
    shortened: bool = False
    trouble: str = ""  # error message if the page cannot be shown

    @property
    def marked(self) -> int:
        """Number of occurrences of words of the topic."""
        return sum(is_marked for paragraph in self.paragraphs for _, is_marked in paragraph)

    @property
    def found(self) -> list[tuple[str, int]]:
        """Words of the topic in the forms that occur on the page, with their counts, most frequent first."""
        forms = Counter(text.lower() for paragraph in self.paragraphs for text, is_marked in paragraph if is_marked)
        return forms.most_common(8)


def build_stored_view(archive: WarcArchive, visit: StoredVisit, topic: Topic) -> PageView:
    """Build the view of a page of a collection."""
    if visit.location is None:
        error_text = f"{visit.failure}: {visit.detail}" if visit.failure else "the page is not in the archive"
        return PageView(visit.url, visit.url, "", (), (), 0, trouble=error_text)
    try:
        response = replace(archive.read_response(visit.location), url=visit.requested, final_url=visit.url)
    except DamagedError as error:
        return PageView(visit.url, visit.url, "", (), (), 0, trouble=str(error))
    return build_response_view(response, visit.link, topic)


def build_response_view(response: Response, link: Link, topic: Topic) -> PageView:
    """Build the view of a response."""
    page = parse.parse_response(response, link, context=False)
    if isinstance(page, Failure):
        return PageView(response.final_url, response.final_url, "", (), (), 0, trouble=f"{page}: {response.detail}")
    return build_page_view(page, topic)


def build_page_view(page: Page, topic: Topic) -> PageView:
    """Build the view of a parsed page."""
    marker = TopicWordMarker(topic)
    text = page.text[:MAX_CHARS]
    paragraphs = tuple(tuple(marker.split_text(line)) for line in text.split("\n") if line.strip())
    distinct = {link.url: link for link in reversed(page.links)}
    links = tuple(link for link in page.links if distinct[link.url] is link)[:MAX_LINKS]
    return PageView(
        page.url, page.title or page.url, page.language, paragraphs, links, len(page.words), len(page.text) > MAX_CHARS
    )


@dataclass(frozen=True)
class LinkExcerpt:
    """The link that led to a page, with the text around it on the source page."""

    source: str
    heading: tuple[TextPiece, ...] = ()
    anchor: tuple[TextPiece, ...] = ()
    before: tuple[TextPiece, ...] = ()  # of the sentence that contains the link
    after: tuple[TextPiece, ...] = ()


def find_link_excerpt(archive: WarcArchive, source: StoredVisit, visit: StoredVisit, topic: Topic) -> LinkExcerpt:
    """Return the link on the page of the visit `source` that led to the page of `visit`.

    If the source page cannot be read or no longer contains the link, the result contains only the anchor text.
    """
    marker = TopicWordMarker(topic)
    anchor_only = LinkExcerpt(source.url, anchor=tuple(marker.split_text(visit.anchor)))
    if source.location is None:
        return anchor_only
    try:
        response = replace(archive.read_response(source.location), url=source.requested, final_url=source.url)
    except DamagedError:
        return anchor_only
    page = parse.parse_response(response, source.link)
    if isinstance(page, Failure):
        return anchor_only
    matching = [link for link in page.links if link.url == visit.requested]
    link = next((link for link in matching if link.anchor == visit.anchor), matching[0] if matching else None)
    if link is None:
        return anchor_only
    first, _, rest = link.sentence.partition(link.anchor) if link.anchor else (link.sentence, "", "")
    texts = (link.heading, visit.anchor, first[-_CONTEXT_CHARS:], rest[:_CONTEXT_CHARS])
    return LinkExcerpt(source.url, *(tuple(marker.split_text(text)) for text in texts))


class TopicWordMarker:
    """Marks the words of a topic in a text, in all their forms (by stem).

    >>> list(TopicWordMarker(Topic.of("dengue fever")).split_text("Fevers are hot"))
    [('Fevers', True), (' are hot', False)]
    """

    def __init__(self, topic: Topic) -> None:
        self._lexicon = topic.lexicon
        words = [token for word in topic.all_words for token in tokenise(word)]
        self._stems = {self._lexicon.stem(word) for word in words}
        self._cache: dict[str, bool] = {}

    def split_text(self, text: str) -> Iterator[TextPiece]:
        """Split a text into pieces: words of the topic and the text between them."""
        start = 0
        for match in _WORD_PATTERN.finditer(text):
            if self._is_topic_word(match[0].lower()):
                if match.start() > start:
                    yield text[start : match.start()], False
                yield match[0], True
                start = match.end()
        if start < len(text):
            yield text[start:], False

    def _is_topic_word(self, word: str) -> bool:
        cached = self._cache.get(word)
        if cached is None:
            cached = self._cache[word] = any(self._lexicon.stem(token) in self._stems for token in tokenise(word))
        return cached
