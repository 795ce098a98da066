"""Spelling variants of URLs: rules, learned per host, that predict which links lead to pages that are already known.

A redirect or a duplicate shows that two URLs are one page. If a rule of this module maps both to the same key, this
confirms the rule for the host; two different pages with the same key contradict it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

import numpy as np
import xxhash
from msgspec import Struct, convert

from topicrawl.models import JsonValue
from topicrawl.serialization import PackedValues, pack_array, unpack_array

_MAX_PAGES = 20_000  # maximum number of remembered keys per rule; the oldest are dropped
_MAX_HOSTS = 5_000  # maximum number of hosts with counts; the oldest are dropped
_INDEX_FILE = re.compile(r"(?:(?:index|default)\.[a-z]{3,5})?$")
_PARAMETERS = re.compile(r";[^/]*")
_EXTENSION = re.compile(r"\.[a-z0-9]{2,5}$")
_WORD = re.compile(r"[^\W_]+")
_MIN_PLURAL = 4  # letters of a word that may be a plural


def _remove_location(url: str) -> str:
    """Remove what often selects the same page: scheme, `www.`, index file and trailing slash."""
    path, mark, query = url.partition("://")[2].removeprefix("www.").partition("?")
    return _INDEX_FILE.sub("", path).rstrip("/") + mark + query


def _keep_location(location: str) -> str:
    return location


def _reduce_spelling(location: str) -> str:
    """Reduce the last part of the path to its words: in lower case, sorted, without plural s and extension."""
    path, mark, query = location.partition("?")
    directory, slash, name = path.rpartition("/")
    if not slash:
        return path + mark + query
    words = _WORD.findall(_EXTENSION.sub("", unquote(unquote(name)).casefold()))
    reduced = sorted(word.removesuffix("s") if len(word) >= _MIN_PLURAL else word for word in words)
    return f"{directory}/{' '.join(reduced)}{mark}{query}"


def _remove_parameters(location: str) -> str:
    """Remove the query and the parameters of the path."""
    return _PARAMETERS.sub("", location.partition("?")[0])


#: Rules: name → function that returns the key of a URL, given the result of `_remove_location`.
RULES: Mapping[str, Callable[[str], str]] = {
    "location": _keep_location,
    "spelling": _reduce_spelling,
    "parameters": _remove_parameters,
}


class UrlVariantsState(Struct, frozen=True):
    """Stored state of the rules."""

    counts: dict[str, list[list[int]]]
    keys: list[PackedValues]
    pages: list[PackedValues]


class UrlVariants:
    """Counts of confirmations and contradictions of each rule on each host, and the keys of the known pages.

    A rule holds on a host if its confirmations c and contradictions d satisfy c ≥ 2·(d + 1).

    >>> variants = UrlVariants()
    >>> for name in ("Owl", "Bat"):
    ...     variants.add_page(f"http://a/wiki/{name}s", f"http://a/wiki/{name}")
    >>> variants.add_page("http://a/wiki/Barn_owl", "http://a/wiki/Barn_owl")
    >>> [variants.is_known_page(f"http://a/wiki/{name}") for name in ("Barn_Owls", "Owl_food")]
    [True, False]
    """

    def __init__(self) -> None:
        self._counts: dict[str, list[list[int]]] = {}  # host → confirmations and contradictions of each rule
        self._pages: list[dict[int, int]] = [{} for _ in RULES]  # by rule: hash of a key → hash of the page's URL
        self._rules_by_host: dict[str, list[int]] = {}  # host → numbers of the rules that hold

    @property
    def has_rules(self) -> bool:
        """Whether a rule holds on a host."""
        return bool(self._rules_by_host)

    def add_page(self, requested_url: str, page_url: str) -> None:
        """Learn that a request led to a page. The URLs differ after a redirect, and if the page is a duplicate."""
        page = _hash_text(page_url)
        location = _remove_location(page_url)
        for number, (compute_key, pages) in enumerate(zip(RULES.values(), self._pages, strict=True)):
            key = _hash_text(compute_key(location))
            known = pages.get(key)
            if known is None:
                pages[key] = page
                if len(pages) > _MAX_PAGES:
                    del pages[next(iter(pages))]
            elif known != page:
                self._count(page_url, number, confirms=False)
            if requested_url != page_url and _hash_text(compute_key(_remove_location(requested_url))) == key:
                self._count(requested_url, number, confirms=True)

    def _count(self, url: str, rule: int, *, confirms: bool) -> None:
        """Count a confirmation or a contradiction of a rule on the host of a URL."""
        host = _get_host_key(url)
        counts = self._counts.setdefault(host, [[0, 0] for _ in RULES])
        counts[rule][0 if confirms else 1] += 1
        self._update_rules(host)
        if len(self._counts) > _MAX_HOSTS:
            oldest = next(iter(self._counts))
            del self._counts[oldest]
            self._rules_by_host.pop(oldest, None)

    def _update_rules(self, host: str) -> None:
        holding = [rule for rule, (confirmed, refuted) in enumerate(self._counts[host]) if confirmed >= 2 * refuted + 2]
        if holding:
            self._rules_by_host[host] = holding
        else:
            self._rules_by_host.pop(host, None)

    def is_known_page(self, url: str) -> bool:
        """Return whether a rule that holds on the host maps an unknown URL to the key of a known page."""
        if not self._rules_by_host:
            return False
        rules = self._rules_by_host.get(_get_host_key(url))
        if rules is None:
            return False
        functions, location = list(RULES.values()), _remove_location(url)
        return any(_hash_text(functions[rule](location)) in self._pages[rule] for rule in rules)

    def get_state(self) -> dict[str, JsonValue]:
        """Return the counts and keys as plain values."""
        return {
            "counts": {host: [list(pair) for pair in counts] for host, counts in self._counts.items()},
            "keys": [pack_array(np.fromiter(pages, np.uint64, len(pages))) for pages in self._pages],
            "pages": [pack_array(np.fromiter(pages.values(), np.uint64, len(pages))) for pages in self._pages],
        }

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        saved = convert(state, UrlVariantsState, strict=False)
        self._counts = {host: [list(pair) for pair in counts] for host, counts in saved.counts.items()}
        self._pages = [
            dict(zip(unpack_array(keys, np.uint64).tolist(), unpack_array(pages, np.uint64).tolist(), strict=True))
            for keys, pages in zip(saved.keys, saved.pages, strict=True)
        ]
        self._rules_by_host = {}
        for host in self._counts:
            self._update_rules(host)


def _get_host_key(url: str) -> str:
    """Return the host of a URL without `www.`."""
    return url.split("/", 3)[2].removeprefix("www.")


def _hash_text(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace"))
