"""The permanent part of a filter, chosen from example pages, and thresholds tuned on them (Kluev 2000, section 4,
steps 2 to 4; Tables 1 and 2).

In the paper an expert picks 20 to 100 elements of each class from lists of what the examples (the core) say. Here the
choice is made for the user, who may edit it. An element is the better, the more of the core's pages say it and the
rarer it is in the language; where there are irrelevant examples, they must say it less. Thresholds are set so that 60
to 70 % of the core pass; the core needs some pages for that, so for a few the paper's own values are the highest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import NamedTuple

from topicrawl.records import Page
from topicrawl.relevance.sieve import Key, Said, Shares, Sieve, said
from topicrawl.text.collocations import neighbours, shown, terms_in_clauses
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Filter, Thresholds, Topic
from topicrawl.topic.filter import SIZES

#: Kluev 2000, Table 2; VSM is .18 for one collection and .25 for the other.
PRINTED = Shares(terms=0.5, pairs=0.1, triples=0.08, vsm=0.18)
LEAST, MOST = 20, 100  # elements of a class
PASSING = 0.65  # of the core: 60 to 70 %
FEW = 10  # pages; fewer tell little about pages that were not among them
_SEVERAL = 4  # pages
_PARTS = 5  # of the core, to measure each by a filter chosen from the others
_FRAMED = 3  # pages; fewer tell nothing about what all pages of a site have


class Tally(NamedTuple):
    """Elements of one class: how many pages say each, and how often all pages do."""

    pages: Counter[Key]
    times: Counter[Key]


def tallies(spoken: Iterable[Said]) -> dict[str, Tally]:
    """What pages say, class by class."""
    found = {name: Tally(Counter(), Counter()) for name in SIZES}
    for one in spoken:
        for name, size in SIZES.items():
            counts = Counter(key for key in neighbours(one.terms, size) if not any(map(str.isnumeric, key)))
            found[name].pages.update(counts.keys())
            found[name].times.update(counts)
    return found


@dataclass(frozen=True)
class Core:
    """Example pages of a topic."""

    lexicon: Lexicon
    own: frozenset[str]
    relevant: Sequence[Page]
    irrelevant: Sequence[Page] = ()

    def filter(self, least: int = LEAST, most: int = MOST) -> Filter:
        """The elements that mark the core's pages, by how they are written, with their relative frequencies."""
        core = tallies(said(page, self.lexicon, self.own) for page in self.relevant)
        others = tallies(said(page, self.lexicon, self.own) for page in self.irrelevant)
        texts = [f"{page.title}\n{page.text}" for page in self.relevant]
        parts = {}
        for name, size in SIZES.items():
            keys = self._significant(core[name], others[name].pages, least, most)
            written = shown(texts, self.lexicon, size, keys)
            greatest = max((core[name].times[key] for key in keys), default=1)
            parts[name] = {written[key]: core[name].times[key] / greatest for key in keys if key in written}
        return Filter(**parts)

    def _significant(self, core: Tally, others: Mapping[Key, int], least: int, most: int) -> list[Key]:
        count, against = len(self.relevant), max(1, len(self.irrelevant))
        worth: dict[Key, float] = {}
        for key, pages in core.pages.items():
            ahead = pages / count - others.get(key, 0) / against
            # What a single page of several says is that page's matter.
            if ahead > 0 and core.times[key] > 1 and (pages > 1 or count < _SEVERAL):
                worth[key] = ahead * sum(map(self.lexicon.idf, key)) / len(key)
        ranked = sorted(worth, key=lambda key: (-worth[key], -core.times[key]))
        frequent = sum(core.pages[key] >= count / 10 for key in ranked)
        return sorted(ranked, key=lambda key: core.pages[key] < count / 10)[: min(most, max(frequent, least))]

    def thresholds(self, filter: Filter | None = None) -> Thresholds:
        """Thresholds that 60 to 70 % of the core pass, by one metric or another; a passage needs half of VSM's.

        Pages say more of a filter that was chosen from them than others do. So without a given filter, each fifth of
        the core is measured by a filter chosen from the rest.
        """
        rows = _measured(self, filter) if filter is not None else [row for part in self._parts() for row in part]
        tuned = min((_at(rows, rank) for rank in range(len(rows))), key=lambda it: abs(passing(rows, it) - PASSING))
        if len(rows) < FEW:
            tuned = Shares(*map(min, tuned, PRINTED))
        # A metric by which no page of the core is anything keeps the threshold of the paper.
        at = Shares(*(floor(value * 1e4) / 1e4 or printed for value, printed in zip(tuned, PRINTED, strict=True)))
        return Thresholds(at.vsm, at.terms, at.pairs, at.triples, at.vsm / 2)

    def _parts(self) -> Iterator[list[Shares]]:
        for part in range(min(_PARTS, len(self.relevant))):
            aside = self.relevant[part::_PARTS]
            rest = [page for number, page in enumerate(self.relevant) if number % _PARTS != part] or aside
            yield _measured(replace(self, relevant=aside), replace(self, relevant=rest).filter())


def _measured(core: Core, filter: Filter) -> list[Shares]:
    sieve = Sieve.of(filter, core.lexicon, core.own)
    return [sieve.shares(sieve.said(page)) for page in core.relevant]


def _at(rows: Sequence[Shares], rank: int) -> Shares:
    """The values that so many pages fall short of, metric by metric."""
    return Shares(*(sorted(values)[rank] for values in zip(*rows, strict=True)))


def passing(rows: Sequence[Shares], at: Shares) -> float:
    """The share of pages that reach one of the thresholds.

    >>> passing([Shares(0.5, 0, 0, 0), Shares(0, 0, 0, 0.1)], Shares(0.5, 0.1, 0.08, 0.18))
    0.5
    """
    reached = [any(0 < limit <= value for value, limit in zip(row, at, strict=True)) for row in rows]
    return sum(reached) / len(rows)


def fitted(topic: Topic, relevant: Sequence[Page] = (), irrelevant: Sequence[Page] = ()) -> tuple[Filter, Thresholds]:
    """The topic's filter and thresholds: as the topic has them, else from examples, else from its words.

    >>> filter, thresholds = fitted(Topic.of("dengue fever"))
    >>> list(filter.terms), list(filter.pairs), thresholds.terms, thresholds.vsm
    (['dengue', 'fever'], ['dengue fever'], 0.5, 0.16)
    """
    core = Core(topic.lexicon, topic.own, unframed(relevant), unframed(irrelevant))
    filter = topic.filter or (core.filter() if relevant else _of_words(topic))
    if relevant:
        found = core.thresholds(topic.filter or None)
    else:
        # A topic of a few words has a threshold that was set for so few; a whole filter has the paper's.
        vsm = PRINTED.vsm if topic.filter else topic.threshold
        found = Thresholds(vsm, PRINTED.terms, PRINTED.pairs, PRINTED.triples)
    values = {**found.set(), **topic.thresholds.set()}
    if topic.thresholds.passage is None:
        values["passage"] = values["vsm"] / 2
    return filter, Thresholds(**values)


def _of_words(topic: Topic) -> Filter:
    """A filter of the topic's words; a name of two or three words is taken for a phrase, a longer one for a list."""
    terms = terms_in_clauses(topic.name, topic.lexicon, topic.own)
    parts = {"terms": dict(topic.words)}
    for name in ("pairs", "triples") if len(terms) <= SIZES["triples"] else ():
        keys = list(neighbours(terms, SIZES[name]))
        parts[name] = dict.fromkeys(shown([topic.name], topic.lexicon, SIZES[name], keys).values(), 1.0)
    return Filter(**parts)


def unframed(pages: Sequence[Page]) -> list[Page]:
    r"""Pages without the lines that more than half of them have: these are the frame of a site, not its content.

    >>> pages = [Page(f"http://a/{n}", text=f"About us\nOwls {n}") for n in range(3)]
    >>> [page.text for page in unframed(pages)]
    ['Owls 0', 'Owls 1', 'Owls 2']
    """
    if len(pages) < _FRAMED:
        return list(pages)
    lines = Counter(line for page in pages for line in set(page.text.split("\n")))
    frame = {line for line, count in lines.items() if count > len(pages) / 2}
    texts = ["\n".join(line for line in page.text.split("\n") if line not in frame) for page in pages]
    return [replace(page, text=text, words=tuple(tokenise(text))) for page, text in zip(pages, texts, strict=True)]
