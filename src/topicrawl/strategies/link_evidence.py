"""Evidence about a URL from the first five pages that link to it: Safran et al. 2012, section III.1.D.

Matched keywords are bits of an integer. Counts are keyed by the number of the keyword in the table. Both can be merged
without the pages, so the payload of a waiting link stores them in a few dozen characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from topicrawl.models import JsonValue, Link, Page
from topicrawl.strategies.classifier_guided import MAX_PARENTS
from topicrawl.text.compounds import split_compound
from topicrawl.text.keyword_table import KeywordTable
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

_MAX_CACHED_HOSTS = 10_000


class Evidence(NamedTuple):
    """Evidence about one URL from one or more pages."""

    pages: int  # number of pages
    url: int  # keywords in the URL, as bits
    anchor: int  # keywords in the anchor texts, as bits
    parents: Mapping[int, float]  # counts of the keywords on the pages
    around: Mapping[int, float]  # counts of the keywords around the links

    def to_payload(self) -> list[JsonValue]:
        """Return the evidence as plain values."""
        return [self.pages, self.url, self.anchor, flatten_counts(self.parents), flatten_counts(self.around)]

    @classmethod
    def from_payload(cls, payload: Sequence[Any]) -> Evidence:
        """Create the evidence from the values of `to_payload`."""
        pages, url, anchor, parents, around = payload
        return cls(pages, url, anchor, unflatten_counts(parents), unflatten_counts(around))

    def merge(self, other: Evidence) -> Evidence:
        """Merge the evidence of another page. From the sixth page on, the evidence does not change.

        >>> one, two = Evidence(1, 1, 1, {0: 3.0}, {}), Evidence(1, 1, 2, {0: 1.0, 4: 2.0}, {})
        >>> one.merge(two)
        Evidence(pages=2, url=1, anchor=3, parents={0: 4.0, 4: 2.0}, around={})
        """
        if self.pages >= MAX_PARENTS:
            return self
        return Evidence(
            self.pages + other.pages,
            self.url | other.url,
            self.anchor | other.anchor,
            add_counts(self.parents, other.parents),
            add_counts(self.around, other.around),
        )


def split_url_words(url: str) -> list[str]:
    """Return the words of a URL, without its scheme.

    >>> split_url_words("http://money.cnn.com/data/markets?q=caf%C3%A9")
    ['money', 'cnn', 'com', 'data', 'markets', 'q', 'café']
    """
    rest = url.partition("://")[2]
    return tokenise(unquote(rest) if "%" in rest else rest)


def split_host_compounds(host: str, lexicon: LanguageLexicon) -> list[str]:
    """Return the words of those labels of a host name that are compounds of known words.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> split_host_compounds("www.worldmarket.com", load_lexicon("en"))
    ['world', 'market']
    """
    parts = [split_compound(label, lexicon) for label in tokenise(host)]
    return [word for words in parts if len(words) > 1 for word in words]


class EvidenceExtractor:
    """Extract the evidence about links from a page.

    `expanded_table` matches WordNet synonyms too, as the paper does for URLs and anchor texts. `exact_table` matches
    only the keywords. On pages and around links, a keyword counts only if it is among the `k` terms with the largest
    weights. With `normalise`, counts on a page are per thousand words, so that a long page does not dominate. Compounds
    in host names count as their words, as in table 2 (`worldmarket`).
    """

    def __init__(
        self,
        expanded_table: KeywordTable,
        exact_table: KeywordTable,
        *,
        k: int,
        uses_idf: bool,
        reads_texts: bool = True,
        normalise: bool = False,
    ) -> None:
        self._expanded_table, self._exact_table, self._max_terms, self._uses_idf = (
            expanded_table,
            exact_table,
            k,
            uses_idf,
        )
        self._reads_texts = reads_texts  # whether page text and the words around links count
        self._normalise = normalise
        self._host_keywords: dict[str, int] = {}  # host → keywords in the compounds of its name, as bits

    def extract_evidence(self, links: Sequence[Link], page: Page | None) -> dict[str, Evidence]:
        """Return the evidence of a page for each URL that it links to (URL → evidence)."""
        parents = self._count_page_keywords(page) if page is not None else {}
        evidence: dict[str, Evidence] = {}
        for link in links:
            anchor = self._expanded_table.match_keywords(tokenise(link.anchor or link.alt))
            words_around = (*link.before, *link.after)
            # Most links have no keyword near them. Matching is faster than counting.
            around = self._count_keywords(words_around) if self._exact_table.match_keywords(words_around) else {}
            previous = evidence.get(link.url)
            if previous is None:
                address = self._match_url(link.url)
                evidence[link.url] = Evidence(1, address, anchor, parents, around)
            else:
                pooled = add_counts(previous.around, around)
                evidence[link.url] = previous._replace(anchor=previous.anchor | anchor, around=pooled)
        return evidence

    def _match_url(self, url: str) -> int:
        """Return the keywords in the words of a URL and in the compounds of its host name, as bits."""
        host = urlsplit(url).netloc
        bits = self._host_keywords.get(host)
        if bits is None:
            if len(self._host_keywords) >= _MAX_CACHED_HOSTS:
                self._host_keywords.clear()
            table = self._expanded_table
            bits = self._host_keywords[host] = table.match_keywords(split_host_compounds(host, table.lexicon))
        return bits | self._expanded_table.match_keywords(split_url_words(url))

    def _count_page_keywords(self, page: Page) -> dict[int, float]:
        """Return the counts of the keywords on a page."""
        counts = self._count_keywords(page.words)
        return {place: 1000 * count / len(page.words) for place, count in counts.items()} if self._normalise else counts

    def _count_keywords(self, words: Sequence[str]) -> dict[int, float]:
        """Return the counts of the keywords in a text."""
        return (
            self._exact_table.count_keywords(words, heaviest=self._max_terms, use_idf=self._uses_idf)
            if self._reads_texts
            else {}
        )

    def compute_attributes(self, evidence: Evidence) -> tuple[float, float, float, float]:
        """Return the four attributes, each from 0 to 1: URL words, anchor text, parent pages, surrounding text."""
        return (
            self._expanded_table.subset_similarity(evidence.url),
            self._expanded_table.subset_similarity(evidence.anchor),
            self._exact_table.cosine(evidence.parents) if evidence.parents else 0.0,
            self._exact_table.cosine(evidence.around) if evidence.around else 0.0,
        )


def add_counts(one: Mapping[int, float], other: Mapping[int, float]) -> Mapping[int, float]:
    """Return the sums of two dicts of counts."""
    if not one or not other:
        return one or other
    return {place: one.get(place, 0) + other.get(place, 0) for place in {**one, **other}}


def flatten_counts(counts: Mapping[int, float]) -> list[JsonValue]:
    """Return counts as one flat list: keyword number, count, keyword number, count, …"""
    return [number for place, count in counts.items() for number in (place, round(count, 3))]


def unflatten_counts(numbers: Sequence[Any]) -> dict[int, float]:
    """Create the counts from the list of `flatten_counts`."""
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
