"""Facets of the search page: for each property of the matching pages, links that narrow the query to one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from topicrawl.search.models import FacetCounts

_MAX_VALUES = 8  # values of a facet on the page
_TITLES = {
    "host": "Host",
    "language": "Language",
    "type": "Type",
    "month": "Fetched in",
    "relevance": "Relevance",
    "verdict": "Verdict",
    "tag": "Tag",
}
_VERDICT_LABELS = {"none": "not reviewed", "irrelevant": "not relevant"}


class FacetLink(NamedTuple):
    """A value of a facet, its number of pages, and the query that selects them."""

    label: str
    pages: int
    query: str


def build_facet_links(query: str, facets: FacetCounts) -> list[tuple[str, list[FacetLink]]]:
    """Return the title and the links of each facet that has several values.

    >>> build_facet_links("owl", {"language": {"en": 3, "de": 1}, "type": {"text/html": 4}})
    [('Language', [FacetLink(label='en', pages=3, query='owl language:en'), \
FacetLink(label='de', pages=1, query='owl language:de')])]
    >>> build_facet_links("owl", {"relevance": {"0.75": 2, "0.25": 1, "0.50": 4}})[0][1][0]
    FacetLink(label='at least 0.50', pages=6, query='owl relevance:0.50')
    >>> build_facet_links("owl", {"month": {"2026-12": 2, "2026-01": 1}})[0][1][0].query
    'owl since:2026-12-01 before:2027-01-01'
    """
    builders: dict[str, Callable[[Mapping[str, int]], Iterator[tuple[str, int, str]]]] = {
        "month": _list_months,
        "relevance": _list_relevance_bands,
    }
    links = []
    for name, title in _TITLES.items():
        counts = facets.get(name, {})
        if len(counts) > 1:
            values = builders[name](counts) if name in builders else _list_values(name, counts)
            found = [FacetLink(label, count, f"{query} {condition}") for label, count, condition in values]
            links.append((title, found[:_MAX_VALUES]))
    return links


def _list_values(name: str, counts: Mapping[str, int]) -> Iterator[tuple[str, int, str]]:
    for value, count in counts.items():
        label = _VERDICT_LABELS.get(value, value) if name == "verdict" else value
        quoted = f'"{value}"' if " " in value else value
        if value and '"' not in value:
            yield label, count, f"{name}:{quoted}"


def _list_months(counts: Mapping[str, int]) -> Iterator[tuple[str, int, str]]:
    for value in sorted(counts, reverse=True):
        year, month = int(value[:4]), int(value[5:])
        after = f"{year + month // 12}-{month % 12 + 1:02}"
        yield value, counts[value], f"since:{value}-01 before:{after}-01"


def _list_relevance_bands(counts: Mapping[str, int]) -> Iterator[tuple[str, int, str]]:
    """Yield the lower borders of the bands, with all pages of at least this relevance."""
    for value in sorted(counts)[1:]:
        total = sum(count for border, count in counts.items() if border >= value)
        yield f"at least {value}", total, f"relevance:{value}"
