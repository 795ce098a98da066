"""What people walked through on their way to relevant pages: the training set of the HMM crawlers (Batsakis 2007, 3.4).

Where there are sessions, they are the walks. Where there are only examples, the links of the material are walked back
from each relevant page, as the context graphs of section 2.5 do. A page is relevant when it is an example of it, or,
where there are no examples or they are not all, when the judge of the crawl finds it so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from topicrawl.errors import StrategyError
from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.material import Material
from topicrawl.text.tokens import words as tokenise

_BACK = 5  # walks to each relevant example where there are no sessions
_NO_WORD = re.compile(r"[\W_]+")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Limits:
    """How much of the material is looked at."""

    sessions: int
    pages: int  # different pages that are read
    levels: int
    judged: bool = False  # whether pages without a label are judged although there are examples


@dataclass
class Walks:
    """Walks over pages that could be read; all are named by where their redirects end."""

    walks: list[tuple[str, ...]] = field(default_factory=list)
    relevant: set[str] = field(default_factory=set)
    terms: dict[str, Counter[str]] = field(default_factory=dict)  # page → how often each term occurs in it
    examples: frozenset[str] = frozenset()  # of the relevant pages, those that are so by somebody's word

    def levels(self, walk: Sequence[str], levels: int) -> list[int]:
        """For each page of a walk, the clicks to the next relevant one; `levels` - 1 stands for that and more.

        >>> Walks(relevant={"c"}).levels("abcd", 4), Walks(relevant={"e"}).levels("abcde", 3)
        ([2, 1, 0, 3], [2, 2, 2, 1, 0])
        """
        found = []
        clicks = levels - 1
        for url in reversed(walk):
            clicks = 0 if url in self.relevant else min(clicks + 1, levels - 1)
            found.append(clicks)
        return found[::-1]

    def positive(self) -> Walks:
        """Only what leads to a relevant page: walks up to their last one, and no others."""
        cut = [walk[: max(at for at, url in enumerate(walk) if url in self.relevant) + 1] for walk in self._arriving()]
        used = {url for walk in cut for url in walk}
        terms = {url: terms for url, terms in self.terms.items() if url in used}
        return Walks(cut, self.relevant, terms, self.examples)

    def _arriving(self) -> Iterator[tuple[str, ...]]:
        return (walk for walk in self.walks if not self.relevant.isdisjoint(walk))


class Gathering:
    """Reads the material, no more of it than the limits allow."""

    def __init__(self, material: Material, vsm: Vsm, limits: Limits) -> None:
        self._material = material
        self._vsm = vsm
        self._limits = limits
        self._judges = limits.judged or not material.relevant
        self._ends: dict[str, str] = {}  # address → where its redirects end, "" when there is no page
        self._unwanted = frozenset(material.irrelevant)
        self._found = Walks()

    def walks(self, strategy: str) -> Walks:
        """The training set, or what is missing for one."""
        material = self._material
        if not material.sessions and not material.relevant:
            raise StrategyError(
                f"{strategy} learns from browsing sessions or examples, and there are none: make a model of them with "
                f"`topicrawl train hmm` and name it: {strategy}:model=FILE (the lab takes --sessions, --examples)"
            )
        half = self._limits.pages // 2
        self._found.examples = frozenset(filter(None, map(self._read, spread(material.relevant, half))))
        self._found.relevant |= self._found.examples
        if material.relevant and not self._found.examples:
            raise StrategyError(
                f"{strategy}: none of the {len(material.relevant)} relevant examples is in the web to learn from, "
                f"the first is {material.relevant[0]}"
            )
        if not material.relevant:
            self._judge()
        arriving = self._sessions()
        if not arriving and self._found.relevant:
            self._walk_back()
        if not self._found.relevant:
            raise StrategyError(
                f"{strategy}: no page of the {len(material.sessions)} browsing sessions is relevant "
                f"(similarity ≥ {self._vsm.topic.threshold:g}): name relevant pages with --examples"
            )
        self._examples()
        return self._found

    def _judge(self) -> None:
        """Look for relevant pages in sessions without labels: first where the address says so, then much-read ones."""
        visits = Counter(url for walk in self._material.sessions for url in walk)
        named = self._vsm.phrases([_NO_WORD.sub(" ", url) for url in visits])
        order = sorted(zip(named, visits.items(), strict=True), key=lambda item: (-item[0], -item[1][1], item[1][0]))
        for _, (url, _) in order[: self._limits.pages // 2]:
            self._read(url)

    def _sessions(self) -> bool:
        """Walk the sessions, those first that arrive; did any?"""
        named = {*self._material.relevant, *self._found.relevant}
        arriving = [walk for walk in self._material.sessions if not named.isdisjoint(walk)]
        others = [walk for walk in self._material.sessions if named.isdisjoint(walk)]
        most = self._limits.sessions
        for walk in (*spread(arriving, most), *spread(others, max(0, most - len(arriving)))):
            new = sum(url not in self._ends for url in dict.fromkeys(walk))
            if len(self._found.terms) + new <= self._limits.pages:
                self._keep(walk)
        return any(not self._found.relevant.isdisjoint(walk) for walk in self._found.walks)

    def _walk_back(self) -> None:
        """From each relevant page over the links that lead to it; walk n goes by the n-th of them at each step."""
        for url in sorted(self._found.relevant):
            for number in range(_BACK):
                walk = [url]
                while len(walk) < self._limits.levels and len(self._found.terms) < self._limits.pages:
                    parents = [link.source for link in self._material.parents(walk[0], number + 1)]
                    new = [parent for parent in parents if parent not in walk]
                    if not new:
                        break
                    walk.insert(0, new[-1])
                if len(walk) > 1:
                    self._keep(walk)

    def _examples(self) -> None:
        """Examples that lie on no walk are walks of one page."""
        walked = {url for walk in self._found.walks for url in walk}
        self._found.walks += [(url,) for url in sorted(self._found.relevant - walked)]
        room = max(0, self._limits.pages - len(self._found.terms))
        for url in spread(self._material.irrelevant, room):
            end = self._read(url)
            if end and end not in walked and end not in self._found.relevant:
                self._found.walks.append((end,))

    def _keep(self, walk: Sequence[str]) -> None:
        ends = [end for end in map(self._read, walk) if end]
        # A page that was loaded again is not a click.
        kept = tuple(end for place, end in enumerate(ends) if not place or end != ends[place - 1])
        if kept:
            self._found.walks.append(kept)

    def _read(self, url: str) -> str:
        if url not in self._ends:
            page = self._material.page(url)
            self._ends[url] = page.url if page is not None else ""
            if page is not None and page.url not in self._found.terms:
                self._found.terms[page.url] = self._counted(page)
                if self._judges and url not in self._unwanted and self._vsm.score(page) >= self._vsm.topic.threshold:
                    self._found.relevant.add(page.url)
        return self._ends[url]

    def _counted(self, page: Page) -> Counter[str]:
        return Counter(self._vsm.lexicon.terms((*tokenise(page.title), *page.words)))


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of some items, evenly from the first to the last: a file may be sorted.

    >>> spread("abcdef", 3), spread("ab", 3)
    (['a', 'c', 'e'], ['a', 'b'])
    """
    taken = min(most, len(items))
    return [items[place * len(items) // taken] for place in range(taken)]
