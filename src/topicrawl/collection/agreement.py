"""Agreement between annotators: Cohen's kappa of the verdicts that two annotators gave on the same pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from topicrawl.collection.annotations import SELECT_UNDONE
from topicrawl.collection.store import CollectionStore

# The last verdict of each annotator on each page, without undone actions and verdicts on many pages at once.
_SELECT_VERDICTS = f"""
    SELECT annotator, page, url, label FROM annotations WHERE number IN (
        SELECT max(number) FROM annotations
        WHERE annotator <> '' AND origin = 'read' AND action NOT IN ({SELECT_UNDONE}) GROUP BY annotator, page
    ) AND label <> '' ORDER BY annotator, number
"""


class PairAgreement(Struct, frozen=True):
    """Agreement of two annotators."""

    one: str
    other: str
    pages: int  # pages with verdicts of both
    equal: int  # pages with the same verdict of both
    kappa: float | None  # None: no page in common, or all verdicts of both are the same one


class Disagreement(Struct, frozen=True):
    """Different verdicts on a page, by annotator."""

    url: str
    labels: dict[str, str]


class AgreementReport(Struct, frozen=True):
    """Verdicts of all named annotators and their agreement."""

    verdicts: dict[str, int]  # annotator → number of pages
    pairs: tuple[PairAgreement, ...]
    disagreements: tuple[Disagreement, ...]


def compute_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of pairs of labels: 1 is full agreement, 0 is the agreement expected by chance.

    Return None if there are no pairs, or if only one label occurs.

    >>> compute_kappa([("yes", "yes"), ("yes", "yes"), ("no", "no"), ("yes", "no")])
    0.5
    """
    if not pairs:
        return None
    one, other = Counter(label for label, _ in pairs), Counter(label for _, label in pairs)
    observed = sum(first == second for first, second in pairs) / len(pairs)
    expected = sum(one[label] * other[label] for label in one) / len(pairs) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def build_agreement_report(store: CollectionStore) -> AgreementReport:
    """Return the agreement of the annotators of a collection."""
    labels: dict[str, dict[int, str]] = {}
    urls: dict[int, str] = {}
    for annotator, page, url, label in store.iterate_typed_rows(tuple[str, int, str, str], _SELECT_VERDICTS):
        labels.setdefault(annotator, {})[page] = label
        urls[page] = url
    pairs = [_compare_annotators(labels, one, other) for one, other in combinations(labels, 2)]
    differing = []
    for page, url in urls.items():
        given = {name: verdicts[page] for name, verdicts in labels.items() if page in verdicts}
        if len(set(given.values())) > 1:
            differing.append(Disagreement(url, given))
    return AgreementReport({name: len(verdicts) for name, verdicts in labels.items()}, tuple(pairs), tuple(differing))


def _compare_annotators(labels: Mapping[str, Mapping[int, str]], one: str, other: str) -> PairAgreement:
    common = labels[one].keys() & labels[other].keys()
    pairs = [(labels[one][page], labels[other][page]) for page in common]
    return PairAgreement(one, other, len(pairs), sum(a == b for a, b in pairs), compute_kappa(pairs))


def find_second_opinions(store: CollectionStore, annotator: str) -> list[str]:
    """Return the URLs of the pages with a verdict of another user, and none of this annotator.

    The order is the same for all annotators and does not depend on the verdicts.
    """
    sql = f"""
        SELECT page, url FROM annotations WHERE origin = 'read' AND label <> '' AND action NOT IN ({SELECT_UNDONE})
        GROUP BY page HAVING NOT max(annotator = ?) ORDER BY page * 2654435761 % 1000003, page
    """
    return [url for _, url in store.query_typed_rows(tuple[int, str], sql, (annotator,))]
