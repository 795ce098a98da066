"""What the first five pages with a link to a URL say about it: Safran et al. 2012, section III.1.D.

Found keywords are the bits of a number; counts are by the keyword's place in the table. Both can be pooled without
the pages at hand, so they travel with a waiting link in a few dozen characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from topicrawl.records import Carry, Link, Page
from topicrawl.strategies.guided import PARENTS
from topicrawl.text.keyword_table import KeywordTable
from topicrawl.text.tokens import words as tokenise


class Evidence(NamedTuple):
    """Of one URL, from one page or from several together."""

    pages: int  # how many pages had a say
    url: int  # keywords found in its address
    anchor: int  # keywords found in anchors
    parents: Mapping[int, float]  # how often keywords that matter on those pages stand there
    around: Mapping[int, float]  # and in the words around the links

    def carry(self) -> list[Carry]:
        """The evidence as plain values."""
        return [self.pages, self.url, self.anchor, flat(self.parents), flat(self.around)]

    @classmethod
    def of(cls, carry: Sequence[Any]) -> Evidence:
        """The evidence that gave these values."""
        pages, url, anchor, parents, around = carry
        return cls(pages, url, anchor, unflat(parents), unflat(around))

    def joined(self, other: Evidence) -> Evidence:
        """What two pages say together; of the sixth page on, only what was known.

        >>> one, two = Evidence(1, 1, 1, {0: 3.0}, {}), Evidence(1, 1, 2, {0: 1.0, 4: 2.0}, {})
        >>> one.joined(two)
        Evidence(pages=2, url=1, anchor=3, parents={0: 4.0, 4: 2.0}, around={})
        """
        if self.pages >= PARENTS:
            return self
        return Evidence(
            self.pages + other.pages,
            self.url | other.url,
            self.anchor | other.anchor,
            added(self.parents, other.parents),
            added(self.around, other.around),
        )


def url_words(url: str) -> list[str]:
    """The words of an address, without its scheme.

    >>> url_words("http://money.cnn.com/data/markets?q=caf%C3%A9")
    ['money', 'cnn', 'com', 'data', 'markets', 'q', 'café']
    """
    rest = url.partition("://")[2]
    return tokenise(unquote(rest) if "%" in rest else rest)


class Reader:
    """Reads the evidence of links off a page.

    `table` sees WordNet's synonyms, as the paper has it for addresses and anchors; `plain` does not. On pages and
    around links a keyword counts when it is among the `k` heaviest terms there.
    """

    def __init__(self, table: KeywordTable, plain: KeywordTable, *, k: int, rare: bool, texts: bool = True) -> None:
        self._table, self._plain, self._k, self._rare = table, plain, k, rare
        self._texts = texts  # whether pages and the words around links are looked at

    def read(self, links: Sequence[Link], page: Page | None) -> dict[str, Evidence]:
        """URL → what the page says about it with all its links there."""
        parents = self._counted(page.words) if page is not None else {}
        found: dict[str, Evidence] = {}
        for link in links:
            anchor = self._table.found(tokenise(link.anchor or link.alt))
            near = (*link.before, *link.after)
            # Most links have no keyword near them, and that is seen sooner than counted.
            around = self._counted(near) if self._plain.found(near) else {}
            known = found.get(link.url)
            if known is None:
                address = self._table.found(url_words(link.url))
                found[link.url] = Evidence(1, address, anchor, parents, around)
            else:
                pooled = added(known.around, around)
                found[link.url] = known._replace(anchor=known.anchor | anchor, around=pooled)
        return found

    def _counted(self, words: Sequence[str]) -> dict[int, float]:
        return self._plain.counts(words, heaviest=self._k, rare=self._rare) if self._texts else {}

    def values(self, evidence: Evidence) -> tuple[float, float, float, float]:
        """The four attributes: URL words, anchor text, parent pages, surrounding text, each 0 to 1."""
        return (
            self._table.subset(evidence.url),
            self._table.subset(evidence.anchor),
            self._plain.cosine(evidence.parents) if evidence.parents else 0.0,
            self._plain.cosine(evidence.around) if evidence.around else 0.0,
        )


def added(one: Mapping[int, float], other: Mapping[int, float]) -> Mapping[int, float]:
    """Counts of both."""
    if not one or not other:
        return one or other
    return {place: one.get(place, 0) + other.get(place, 0) for place in {**one, **other}}


def flat(counts: Mapping[int, float]) -> list[Carry]:
    """Counts as one plain list: a place, its count, and so on."""
    return [number for place, count in counts.items() for number in (place, round(count, 3))]


def unflat(numbers: Sequence[Any]) -> dict[int, float]:
    """The counts that gave this list."""
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
