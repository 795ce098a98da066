"""The link graph of a crawl as far as it is known: fetched pages, their links, and the URLs that wait.

Numbers instead of URLs, arrays instead of objects: a hundred thousand URLs with two million links take some 40 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from topicrawl.packing import numbers_of, packed_numbers, packed_texts, texts_of
from topicrawl.records import Carry

_LINKS = 20  # links that are kept for each URL, on average
_WAITING, _FETCHED = 0, 1


@dataclass
class LinkGraph:
    """URLs by number; each is fetched or waits, and has a weight.

    >>> graph = LinkGraph(new=0.1)
    >>> graph.add("http://a/", ["http://b/", "http://c/"])
    [1, 2]
    >>> graph.waits(0), graph.waits(1)
    (False, True)
    """

    new: float  # weight of a URL that is seen for the first time
    urls: dict[str, int] = field(default_factory=dict)  # URL → its number, in the order of numbers
    weights: array[float] = field(default_factory=lambda: array("d"))
    degrees: array[int] = field(default_factory=lambda: array("I"))  # links of each page, those forgotten included
    states: bytearray = field(default_factory=bytearray)
    pages: array[int] = field(default_factory=lambda: array("I"))  # numbers of the pages with links, as fetched
    targets: array[int] = field(default_factory=lambda: array("i"))  # their links, page by page; −1: forgotten

    def number(self, url: str) -> int:
        """The URL's number; a new one is given."""
        known = self.urls.get(url)
        if known is None:
            known = self.urls[url] = len(self.urls)
            self.weights.append(self.new)
            self.degrees.append(0)
            self.states.append(_WAITING)
        return known

    def done(self, url: str) -> bool:
        """Take the URL out of those that wait; whether it did."""
        number = self.number(url)
        waited = self.states[number] == _WAITING
        self.states[number] = _FETCHED
        return waited

    def add(self, url: str, targets: Sequence[str]) -> list[int]:
        """A fetched page and its distinct links; returns the numbers of their URLs. A page counts once."""
        if not self.done(url) or not targets:
            return []
        numbers = [self.number(target) for target in targets]
        page = self.urls[url]
        self.pages.append(page)
        self.degrees[page] = len(numbers)
        self.targets.extend(numbers)
        return numbers

    def waits(self, number: int) -> bool:
        """Whether the URL of that number was not fetched."""
        return self.states[number] == _WAITING

    def too_large(self, urls: int) -> bool:
        return len(self.urls) > urls or len(self.targets) > _LINKS * urls

    def keep_heaviest(self, count: int) -> None:
        """Forget all but the URLs with the largest weights; of equal ones, the older stay."""
        import numpy as np

        heaviest = np.argsort(-np.array(self.weights), kind="stable")[:count]
        kept = np.sort(heaviest)
        renumbered = np.full(len(self.urls) + 1, -1, dtype=np.int32)  # the last one is for what was forgotten before
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        degrees, pages = np.array(self.degrees), np.array(self.pages, dtype=np.int64)
        stays = renumbered[pages] >= 0
        targets = renumbered[np.array(self.targets)][np.repeat(stays, degrees[pages])]
        names = list(self.urls)
        self.urls = {names[number]: place for place, number in enumerate(kept)}
        self.weights = array("d", np.array(self.weights)[kept].tobytes())
        self.degrees = array("I", degrees[kept].tobytes())
        self.states = bytearray(np.array(self.states)[kept].tobytes())
        self.pages = array("I", renumbered[pages[stays]].astype(np.uint32).tobytes())
        self.targets = array("i", targets.tobytes())

    def packed(self) -> Carry:
        return {
            "new": self.new,
            "urls": packed_texts(self.urls),
            "weights": packed_numbers("d", self.weights),
            "degrees": packed_numbers("I", self.degrees),
            "states": packed_numbers("B", self.states),
            "pages": packed_numbers("I", self.pages),
            "targets": packed_numbers("i", self.targets),
        }

    @classmethod
    def unpacked(cls, state: dict[str, Carry]) -> LinkGraph:
        return cls(
            float(str(state["new"])),
            {url: number for number, url in enumerate(texts_of(state["urls"]))},
            array("d", numbers_of("d", state["weights"])),
            array("I", map(int, numbers_of("I", state["degrees"]))),
            bytearray(map(int, numbers_of("B", state["states"]))),
            array("I", map(int, numbers_of("I", state["pages"]))),
            array("i", map(int, numbers_of("i", state["targets"]))),
        )


def distinct(urls: Iterable[str], but: Sequence[str] = ()) -> list[str]:
    """URLs in their order without repeats, and without the page's own.

    >>> distinct(["b", "a", "b", "c"], but=("a",))
    ['b', 'c']
    """
    return [url for url in dict.fromkeys(urls) if url not in but]
