"""Quality of registered domains: repeated pages, keyword stuffing and mirrors, and the page budget of a domain.

Spam farms and mirrors spread over many hosts, so that limits per host do not stop them. The monitor keeps a moving
average of the badness of the pages of each registered domain. The badness of a page is 1 if it repeats a page, and
otherwise its degree of keyword stuffing:

    badness(d) += (badness(page) − badness(d)) / 6
    factor(d)   = 1                             if badness(d) ≤ .6
                  (1 − badness(d)) / .4         otherwise

The scores of links to the domain are multiplied by the factor. A domain with a factor below .25 is demoted behind all
other links. The average follows the last pages, so a domain recovers when its pages improve.

A host that mostly repeats pages of other hosts of its domain is a mirror. If most hosts of a domain are mirrors, as
with a wildcard name server, links to its mirrors and to its unknown hosts are demoted, and its other hosts are not. If
pages repeat pages with the same path on other hosts, links to paths that are known from other hosts are demoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from topicrawl.frontier.page_novelty import NoveltyMemory, SampledSlots, count_common_slots, find_hashed_slots
from topicrawl.text.public_suffix import RegisteredDomains
from topicrawl.urls import get_host

_WINDOW = 6  # pages; the weight of a page in the moving average is one part of this number
_TOLERATED_BADNESS = 0.6
_DEMOTED_FACTOR = 0.25
_MIN_NOVELTY = 0.05  # share of new words below which a page repeats the recent pages of its domain
# Long pages use up the vocabulary of an honest site, so known words alone are no repetition.
_MIN_COMMON_WORDS = 0.8  # share of the words that a page must have in common with the previous page of its domain
_MIN_DISTINCT_WORDS = 5  # distinct words that are necessary to rate a page: images and forms have few
_MIN_WORDS = 20  # words of a page that are necessary to recognise stuffing
_SHORT_PAGE_WORDS = 50  # words below which the limits of stuffing are doubled, because titles and menus weigh more
_SAMPLE_WORDS = 400  # words of a page that are counted
_MIN_MIRRORS = 3  # mirrors that a domain must have before its unknown hosts are demoted
_MAX_COMPARED_WORDS = 2000  # words of a page up to which all words are compared, not a sample
_MAX_HOSTS = 200  # hosts per domain whose pages are counted
_MAX_PATHS = 2000  # paths per domain that are remembered
_MAX_NEW_FETCHES = 4  # concurrent fetches from a domain that is new or suspected, or from new hosts of a domain
_TRUSTED_PAGES = 8  # pages after which a domain is no longer new
_TRUSTED_BADNESS = 0.3
# Rating a page of 1,700 words takes .1 ms. A domain whose pages are all good, or all bad, is therefore rated by a part
# of them; as soon as one differs, every page is rated again.
_SETTLED_PAGES = 12  # pages after which only a part is rated
_SETTLED_BADNESS = (0.02, 0.99)  # of a domain without bad pages, and of one without good pages
_RATING_INTERVAL = 10  # pages of which one is rated
_MAX_SAVED_DOMAINS = 2000

# On 2,700 pages of manuals and of university sites, the two most frequent words are at most 16 % of the words of 95 %
# of the pages, the five most frequent words 28 %, and the distinct words at least 23 % of the first 400 words.
_STUFFED_TOPIC_SHARE = (
    0.12,
    0.2,
)  # share of the two most frequent topic words of a suspicious and of a stuffed page
_STUFFED_TOP_SHARE = (0.3, 0.4)  # the same for the share of the five most frequent words with four letters or more
_STUFFED_TYPE_SHARE = (0.25, 0.15)  # the same for the share of distinct words


class DomainMonitorState(TypedDict):
    """Saved state of a `DomainMonitor`."""

    domains: list[tuple[str, int, float, int, dict[str, list[int]]]]


@dataclass(slots=True)
class _DomainRecord:
    """Pages of one registered domain."""

    pages: int = 0
    badness: float = 0.0
    copied_paths: int = 0  # pages that repeat the page with the same path on another host
    hosts: dict[str, list[int]] = field(default_factory=dict)  # host → pages of its own, pages of other hosts
    memory: NoveltyMemory | None = None
    paths: dict[int, str] = field(default_factory=dict)  # hash of path and query → first host with it, oldest first

    @property
    def is_settled(self) -> bool:
        """Whether the domain has many pages, and the recent ones were all good or all bad."""
        good, bad = _SETTLED_BADNESS
        return self.pages > _SETTLED_PAGES and (self.badness < good or self.badness > bad)

    @property
    def factor(self) -> float:
        """Factor of the scores of links to the domain."""
        return min(1.0, (1.0 - self.badness) / (1.0 - _TOLERATED_BADNESS))

    @property
    def has_mirrored_paths(self) -> bool:
        """Whether the hosts of the domain have the same pages at the same paths."""
        return self.copied_paths >= _MIN_MIRRORS

    @property
    def is_mirrored(self) -> bool:
        """Whether most hosts of the domain repeat the others."""
        mirrors = sum(_is_mirror(counts) for counts in self.hosts.values())
        return mirrors >= _MIN_MIRRORS and 2 * mirrors > len(self.hosts)


class DomainMonitor:
    """Monitor of the pages of registered domains.

    `topic_words` are in lower case, without stop words. `max_pages` is the page budget of a domain (0: no limit),
    `max_domains` the number of domains in memory.

    >>> monitor = DomainMonitor(frozenset({"dengue", "fever"}))
    >>> for number in range(20):
    ...     monitor.add_page(f"http://h{number}.farm.example/", ["dengue", "fever", "cure", "buy", "now"] * 20)
    >>> monitor.is_demoted("http://h99.farm.example/"), monitor.get_factor("http://honest.example/")
    (True, 1.0)
    """

    def __init__(
        self, topic_words: frozenset[str] = frozenset(), *, max_pages: int = 0, max_domains: int = 5000
    ) -> None:
        self._topic_words = topic_words
        self._max_pages = max_pages
        self._max_domains = max_domains
        self._registered_domains = RegisteredDomains()
        self._slots = SampledSlots()
        self._records: dict[str, _DomainRecord] = {}  # least recently seen first
        self._suspected: set[str] = set()  # domains with a factor below 1, and domains with mirrors
        self._full: set[str] = set()  # domains whose page budget is used up

    def get_domain(self, url: str) -> str:
        """Return the registered domain of a URL."""
        return self._registered_domains.get_domain(get_host(url))

    def add_page(self, url: str, words: Sequence[str]) -> None:
        """Learn from a stored page. `words` are in lower case."""
        record = self._touch_record(url)
        record.pages += 1
        self._remember_path(record, url)
        self._count_host(record, url, is_copy=False)
        if record.is_settled and record.pages % _RATING_INTERVAL:
            self._classify(self.get_domain(url), record)
            return
        record.memory = record.memory or NoveltyMemory()
        # A sample would miss a short text below the long menu of a manual.
        slots = find_hashed_slots(words) if len(words) <= _MAX_COMPARED_WORDS else self._slots.find_slots(words)
        if len(slots) < _MIN_DISTINCT_WORDS:
            self._classify(self.get_domain(url), record)
            return
        common = count_common_slots(slots, record.memory.previous_slots)
        resembles_previous = common >= _MIN_COMMON_WORDS * len(slots)
        repeats = record.memory.add_page(slots) < _MIN_NOVELTY and resembles_previous
        self._update(url, record, 1.0 if repeats else measure_stuffing(words, self._topic_words))

    def add_duplicate(self, url: str, original: str) -> None:
        """Learn from a page that repeats the stored page at the URL `original`, and is not stored itself."""
        record, domain = self._touch_record(url), self.get_domain(url)
        record.pages += 1
        if self.get_domain(original) == domain:
            is_copy = get_host(original) != get_host(url)
            self._count_host(record, url, is_copy=is_copy)
            record.copied_paths += is_copy and _get_path(original) == _get_path(url)
        self._update(url, record, 1.0)

    def rate_link(self, url: str) -> tuple[float, bool]:
        """Return the factor of the score of a link, from 0 to 1, and whether the link is demoted.

        A link is demoted if its domain is spam, or if its host is a mirror.
        """
        host = get_host(url)
        domain = self._registered_domains.get_domain(host)
        if domain not in self._suspected:
            return 1.0, False
        record = self._records[domain]
        factor = record.factor
        if record.has_mirrored_paths and record.paths.get(hash(_get_path(url)), host) != host:
            return factor, True
        if record.is_mirrored:
            counts = record.hosts.get(host)
            return factor, counts is None or _is_mirror(counts)
        return factor, factor < _DEMOTED_FACTOR

    def get_factor(self, url: str) -> float:
        """Return the factor of the scores of links to the registered domain of a URL, from 0 to 1."""
        return self.rate_link(url)[0]

    def is_demoted(self, url: str) -> bool:
        """Return whether links to the host of a URL are demoted."""
        return self.rate_link(url)[1]

    def is_budget_spent(self, url: str) -> bool:
        """Return whether the registered domain of a URL has reached its page budget."""
        return bool(self._full) and self.get_domain(url) in self._full

    @property
    def has_spent_budgets(self) -> bool:
        """Whether any domain has reached its page budget."""
        return bool(self._full)

    @property
    def has_suspects(self) -> bool:
        """Whether any domain is suspected. Callers check it before they ask about each link."""
        return bool(self._suspected)

    def may_fetch(self, url: str, fetching: int) -> bool:
        """Return whether a fetch may start while `fetching` others from the same registered domain are running.

        New and suspected domains, and the new hosts of all other domains, get few concurrent fetches, because a domain
        may have any number of hosts.
        """
        if fetching < _MAX_NEW_FETCHES:
            return True
        record = self._records.get(self.get_domain(url))
        if record is None or record.pages < _TRUSTED_PAGES or record.badness > _TRUSTED_BADNESS:
            return False
        counts = record.hosts.get(get_host(url))
        return counts is not None and not _is_mirror(counts)

    def get_state(self) -> DomainMonitorState:
        """Return the state of the most recent domains, without their words."""
        recent = list(self._records.items())[-_MAX_SAVED_DOMAINS:]
        return {
            "domains": [
                (name, each.pages, round(each.badness, 4), each.copied_paths, each.hosts) for name, each in recent
            ]
        }

    def restore_state(self, state: DomainMonitorState) -> None:
        """Restore a state that `get_state` returned."""
        for name, pages, badness, copied_paths, hosts in state["domains"]:
            counts = {host: [int(own), int(copies)] for host, (own, copies) in hosts.items()}
            record = _DomainRecord(int(pages), float(badness), int(copied_paths), counts)
            self._records[name] = record
            self._classify(name, record)

    def _touch_record(self, url: str) -> _DomainRecord:
        """Return the record of a domain as the most recent one, and forget the oldest one if there are too many."""
        domain = self.get_domain(url)
        record = self._records.pop(domain, None) or _DomainRecord()
        self._records[domain] = record
        if len(self._records) > self._max_domains:
            oldest = next(iter(self._records))
            del self._records[oldest]
            self._suspected.discard(oldest)
            self._full.discard(oldest)
        return record

    def _remember_path(self, record: _DomainRecord, url: str) -> None:
        record.paths.setdefault(hash(_get_path(url)), get_host(url))
        if len(record.paths) > _MAX_PATHS:
            del record.paths[next(iter(record.paths))]

    def _count_host(self, record: _DomainRecord, url: str, *, is_copy: bool) -> None:
        counts = record.hosts.setdefault(get_host(url), [0, 0])
        counts[is_copy] += 1
        if len(record.hosts) > _MAX_HOSTS:
            del record.hosts[next(iter(record.hosts))]

    def _update(self, url: str, record: _DomainRecord, badness: float) -> None:
        record.badness += (badness - record.badness) / _WINDOW
        self._classify(self.get_domain(url), record)

    def _classify(self, domain: str, record: _DomainRecord) -> None:
        if record.factor < 1.0 or record.has_mirrored_paths or record.is_mirrored:
            self._suspected.add(domain)
        else:
            self._suspected.discard(domain)
        if self._max_pages and record.pages >= self._max_pages:
            self._full.add(domain)


def measure_stuffing(words: Sequence[str], topic_words: frozenset[str]) -> float:
    """Return the degree of keyword stuffing of a page from 0 to 1; 0 for a page with few words.

    >>> measure_stuffing("the rain in spain stays mainly in the plain".split() * 10, frozenset({"rain"}))
    1.0
    >>> measure_stuffing([chr(97 + n % 26) + "x" * (n // 26) for n in range(300)], frozenset({"rain"}))
    0.0
    """
    sample = list(filter(str.isalpha, words[:_SAMPLE_WORDS]))
    if len(sample) < _MIN_WORDS:
        return 0.0
    counts = Counter(sample)
    topic = sum(sorted([counts.get(word, 0) for word in topic_words])[-2:])
    top = sorted([count for word, count in counts.items() if len(word) > 3])[-5:]
    size = len(sample) if len(sample) >= _SHORT_PAGE_WORDS else 2 * len(sample)
    return max(
        _scale(topic / size, *_STUFFED_TOPIC_SHARE),
        _scale(sum(top) / size, *_STUFFED_TOP_SHARE),
        _scale(len(counts) / len(sample), *_STUFFED_TYPE_SHARE),
    )


def _scale(value: float, low: float, high: float) -> float:
    """Return the position of a value between two limits, from 0 to 1. The first limit may be the larger one."""
    return max(0.0, min(1.0, (value - low) / (high - low)))


def _is_mirror(counts: Sequence[int]) -> bool:
    """Return whether a host has more pages of other hosts than pages of its own."""
    own, copies = counts
    return copies > own


def _get_path(url: str) -> str:
    """Return the path and the query of a canonical URL."""
    return url.split("/", 3)[3]
