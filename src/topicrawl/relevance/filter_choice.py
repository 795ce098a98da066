"""The permanent part of a filter, chosen from example pages, and thresholds tuned on them (Kluev 2000, section 4,
steps 2 to 4; Tables 1 and 2).

In the paper an expert picks 20 to 100 elements of each class from lists of what the examples (the core) say. Here the
choice is made for the user, who may edit it. An element is the better, the more of the core's pages say it and the
rarer it is in the language; where there are irrelevant examples, they must say it less. Thresholds are set so that 60
to 70 % of the core pass; the core needs some pages for that, so for a few the paper's own values are the highest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor
from typing import NamedTuple

from topicrawl.records import Page
from topicrawl.relevance.sieve import Key, Said, Shares, Sieve, said
from topicrawl.text.collocations import collocations, neighbours, shown, terms_in_clauses
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


def counted(spoken: Said) -> dict[str, Counter[Key]]:
    """How often a page says the elements of each class; numbers are none."""
    found = {}
    for name, size in SIZES.items():
        counts = collocations(spoken.terms, size)
        found[name] = Counter({key: times for key, times in counts.items() if not any(map(str.isnumeric, key))})
    return found


def tallied(counts: Iterable[Mapping[str, Counter[Key]]]) -> dict[str, Tally]:
    """What pages say together, class by class."""
    found = {name: Tally(Counter(), Counter()) for name in SIZES}
    for one in counts:
        for name, tally in found.items():
            tally.pages.update(one[name].keys())
            tally.times.update(one[name])
    return found


@dataclass(frozen=True)
class Core:
    """Example pages of a topic."""

    lexicon: Lexicon
    own: frozenset[str]
    relevant: Sequence[Page]
    irrelevant: Sequence[Page] = ()

    @cached_property
    def spoken(self) -> list[Said]:
        return [said(page, self.lexicon, self.own) for page in self.relevant]

    @cached_property
    def counts(self) -> list[dict[str, Counter[Key]]]:
        return [counted(spoken) for spoken in self.spoken]

    @cached_property
    def others(self) -> dict[str, Tally]:
        return tallied(counted(said(page, self.lexicon, self.own)) for page in self.irrelevant)

    def filter(self) -> Filter:
        """The elements that mark the core's pages, by how they are written, with their relative frequencies."""
        chosen = self._chosen(self.counts)
        texts = [f"{page.title}\n{page.text}" for page in self.relevant]
        parts = {}
        for name, elements in chosen.items():
            written = shown(texts, self.lexicon, SIZES[name], elements)
            parts[name] = {written[key]: weight for key, weight in elements.items() if key in written}
        return Filter(**parts)

    def _chosen(self, counts: Sequence[Mapping[str, Counter[Key]]]) -> dict[str, dict[Key, float]]:
        """What marks some pages of the core: class → element → its frequency over the greatest."""
        parts = {}
        for name, tally in tallied(counts).items():
            keys = self._significant(tally, len(counts), self.others[name].pages)
            greatest = max((tally.times[key] for key in keys), default=1)
            parts[name] = {key: tally.times[key] / greatest for key in keys}
        return parts

    def _significant(self, core: Tally, count: int, others: Mapping[Key, int]) -> list[Key]:
        against = max(1, len(self.irrelevant))
        worth: dict[Key, float] = {}
        for key, pages in core.pages.items():
            ahead = pages / count - others.get(key, 0) / against
            # What a single page of several says is that page's matter.
            if ahead > 0 and core.times[key] > 1 and (pages > 1 or count < _SEVERAL):
                worth[key] = ahead * sum(map(self.lexicon.idf, key)) / len(key)
        ranked = sorted(worth, key=lambda key: (-worth[key], -core.times[key]))
        frequent = sum(core.pages[key] >= count / 10 for key in ranked)
        return sorted(ranked, key=lambda key: core.pages[key] < count / 10)[: min(MOST, max(frequent, LEAST))]

    def thresholds(self, filter: Filter | None = None) -> Thresholds:
        """Thresholds that 60 to 70 % of the core pass, by one metric or another; a passage needs half of VSM's.

        Pages say more of a filter that was chosen from them than others do. So without a given filter, each fifth of
        the core is measured by a filter chosen from the rest.
        """
        if filter is not None:
            sieve = Sieve.of(filter, self.lexicon, self.own)
            rows = [sieve.shares(spoken) for spoken in self.spoken]
        else:
            rows = [row for part in range(min(_PARTS, len(self.spoken))) for row in self._set_aside(part)]
        tuned = min((_at(rows, rank) for rank in range(len(rows))), key=lambda it: abs(passing(rows, it) - PASSING))
        if len(rows) < FEW:
            tuned = Shares(*map(min, tuned, PRINTED))
        # A metric by which no page of the core is anything keeps the threshold of the paper.
        at = Shares(*(floor(value * 1e4) / 1e4 or printed for value, printed in zip(tuned, PRINTED, strict=True)))
        return Thresholds(at.vsm, at.terms, at.pairs, at.triples, at.vsm / 2)

    def _set_aside(self, part: int) -> list[Shares]:
        """One part of the core, measured by a filter chosen from the others."""
        rest = [counts for number, counts in enumerate(self.counts) if number % _PARTS != part] or self.counts
        chosen = self._chosen(rest)
        terms = {term: weight for (term,), weight in chosen["terms"].items()}
        sieve = Sieve(self.lexicon, self.own, terms, chosen["pairs"], chosen["triples"])
        return [sieve.shares(spoken) for spoken in self.spoken[part::_PARTS]]


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
