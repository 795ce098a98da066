"""Link graph of a crawl: fetched pages, their links and the waiting URLs.

The graph stores numbers in arrays instead of URL objects: 100,000 URLs with two million links take about 40 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct, convert

from topicrawl.models import JsonValue
from topicrawl.serialization import PackedValues, pack_numbers, pack_texts, unpack_numbers, unpack_texts

_LINKS_PER_URL = 20  # average limit of links per URL
_WAITING, _FETCHED = 0, 1


class LinkGraphState(Struct, frozen=True):
    """Stored state of a link graph."""

    new: float
    urls: PackedValues
    weights: PackedValues
    degrees: PackedValues
    states: PackedValues
    pages: PackedValues
    targets: PackedValues


@dataclass
class LinkGraph:
    """Link graph with numbered URLs. Each URL is fetched or waiting and has a weight.

    >>> graph = LinkGraph(new_weight=0.1)
    >>> graph.add_page("http://a/", ["http://b/", "http://c/"])
    [1, 2]
    >>> graph.is_waiting(0), graph.is_waiting(1)
    (False, True)
    """

    new_weight: float  # weight of a new URL
    urls: dict[str, int] = field(default_factory=dict)  # URL → number, in the order of the numbers
    weights: array[float] = field(default_factory=lambda: array("d"))
    out_degrees: array[int] = field(
        default_factory=lambda: array("I")
    )  # out-degree of each page, including dropped links
    states: bytearray = field(default_factory=bytearray)
    pages: array[int] = field(default_factory=lambda: array("I"))  # pages with links, in fetch order
    targets: array[int] = field(default_factory=lambda: array("i"))  # link targets, page by page; −1: dropped

    def get_or_add_number(self, url: str) -> int:
        """Return the number of a URL. A new URL gets the next number."""
        number = self.urls.get(url)
        if number is None:
            number = self.urls[url] = len(self.urls)
            self.weights.append(self.new_weight)
            self.out_degrees.append(0)
            self.states.append(_WAITING)
        return number

    def mark_fetched(self, url: str) -> bool:
        """Mark a URL as fetched. Return whether it was waiting."""
        number = self.get_or_add_number(url)
        was_waiting = self.states[number] == _WAITING
        self.states[number] = _FETCHED
        return was_waiting

    def add_page(self, url: str, targets: Sequence[str]) -> list[int]:
        """Add a fetched page with its distinct links, and return their numbers. A known page is ignored."""
        if not self.mark_fetched(url) or not targets:
            return []
        numbers = [self.get_or_add_number(target) for target in targets]
        page = self.urls[url]
        self.pages.append(page)
        self.out_degrees[page] = len(numbers)
        self.targets.extend(numbers)
        return numbers

    def is_waiting(self, number: int) -> bool:
        """Return whether the URL with this number is waiting."""
        return self.states[number] == _WAITING

    def exceeds_limit(self, max_urls: int) -> bool:
        """Return whether the graph exceeds a limit on URLs, or twenty times as many links."""
        return len(self.urls) > max_urls or len(self.targets) > _LINKS_PER_URL * max_urls

    def keep_heaviest(self, count: int) -> None:
        """Keep only the `count` URLs with the largest weights. Among equal weights, older URLs are kept."""
        import numpy as np

        heaviest = np.argsort(-np.array(self.weights), kind="stable")[:count]
        kept = np.sort(heaviest)
        renumbered = np.full(len(self.urls) + 1, -1, dtype=np.int32)  # the last entry is for dropped links
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        degrees, pages = np.array(self.out_degrees), np.array(self.pages, dtype=np.int64)
        page_kept = renumbered[pages] >= 0
        targets = renumbered[np.array(self.targets)][np.repeat(page_kept, degrees[pages])]
        names = list(self.urls)
        self.urls = {names[number]: place for place, number in enumerate(kept)}
        self.weights = array("d", np.array(self.weights)[kept].tobytes())
        self.out_degrees = array("I", degrees[kept].tobytes())
        self.states = bytearray(np.array(self.states)[kept].tobytes())
        self.pages = array("I", renumbered[pages[page_kept]].astype(np.uint32).tobytes())
        self.targets = array("i", targets.tobytes())

    def get_state(self) -> JsonValue:
        """Return the graph as plain values."""
        return {
            "new": self.new_weight,
            "urls": pack_texts(self.urls),
            "weights": pack_numbers("d", self.weights),
            "degrees": pack_numbers("I", self.out_degrees),
            "states": pack_numbers("B", self.states),
            "pages": pack_numbers("I", self.pages),
            "targets": pack_numbers("i", self.targets),
        }

    @classmethod
    def from_state(cls, state: JsonValue) -> LinkGraph:
        """Create a graph from the values of `get_state`."""
        saved = convert(state, LinkGraphState, strict=False)
        return cls(
            saved.new,
            {url: number for number, url in enumerate(unpack_texts(saved.urls))},
            array("d", unpack_numbers("d", saved.weights)),
            array("I", map(int, unpack_numbers("I", saved.degrees))),
            bytearray(map(int, unpack_numbers("B", saved.states))),
            array("I", map(int, unpack_numbers("I", saved.pages))),
            array("i", map(int, unpack_numbers("i", saved.targets))),
        )


def deduplicate_urls(urls: Iterable[str], exclude: Sequence[str] = ()) -> list[str]:
    """Return the distinct URLs in their order, without those in `exclude`.

    >>> deduplicate_urls(["b", "a", "b", "c"], exclude=("a",))
    ['b', 'c']
    """
    return [url for url in dict.fromkeys(urls) if url not in exclude]
