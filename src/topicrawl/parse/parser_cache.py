"""Caches that the parser keeps between pages. The owner of the parse function, such as the crawl, creates them."""

from __future__ import annotations

from dataclasses import dataclass, field

from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.urls import LinkCache


@dataclass(frozen=True, slots=True)
class ParserCache:
    """Resolved links and term ids of words, for all pages of one crawl or of one recording.

    The results of the parser do not depend on the cache. A call without a cache uses an empty one.
    """

    links: LinkCache = field(default_factory=LinkCache)
    vocabularies: VocabularyCache = field(default_factory=VocabularyCache)
