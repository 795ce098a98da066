"""Relevant pages of a crawl, from annotations and from the stored relevance scores."""

from __future__ import annotations

from dataclasses import dataclass

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.store import CollectionStore, StoredVisit

_CURRENT_URLS = (
    "(SELECT annotations.url FROM annotations WHERE label = '{label}'"
    " AND number IN (SELECT max(number) FROM annotations GROUP BY page))"
)
_RELEVANT_URLS, _IRRELEVANT_URLS = (_CURRENT_URLS.format(label=label) for label in ("relevant", "irrelevant"))
#: SQL condition on the table `visits`: whether a page is relevant. The last verdict on a page decides, else its stored
#: relevance. The parameter is the minimum relevance.
IS_RELEVANT = f"(visits.url IN {_RELEVANT_URLS} OR (visits.relevance >= ? AND visits.url NOT IN {_IRRELEVANT_URLS}))"


@dataclass(frozen=True, slots=True)
class PageRelevance:
    """Relevant and irrelevant pages of a crawl by URL, with the source of each decision.

    >>> decisions = PageRelevance(frozenset({"a"}), frozenset({"b"}), frozenset({"b", "c"}), frozenset({"a", "d"}))
    >>> sorted(decisions.relevant), sorted(decisions.irrelevant)
    (['a', 'c'], ['b', 'd'])
    """

    annotated_relevant: frozenset[str]  # marked as relevant by the user or by the language-model reviewer
    annotated_irrelevant: frozenset[str]
    scored_relevant: frozenset[str]  # the stored relevance score reaches the threshold
    scored_irrelevant: frozenset[str]
    annotated_by_model: frozenset[str] = frozenset()  # annotated pages whose label is a verdict of the reviewer

    @property
    def user_relevant(self) -> frozenset[str]:
        """Pages that the user marked as relevant."""
        return self.annotated_relevant - self.annotated_by_model

    @property
    def relevant(self) -> frozenset[str]:
        """Relevant pages by score, corrected by the annotations."""
        return (self.scored_relevant - self.annotated_irrelevant) | self.annotated_relevant

    @property
    def irrelevant(self) -> frozenset[str]:
        """Irrelevant pages by score, corrected by the annotations."""
        return (self.scored_irrelevant - self.annotated_relevant) | self.annotated_irrelevant


def load_page_relevance(store: CollectionStore, threshold: float) -> PageRelevance:
    """Load the decisions of a crawl. A page is relevant by score if its stored score is at least `threshold`."""
    scored: dict[bool, set[str]] = {True: set(), False: set()}
    sql = "SELECT url, coalesce(relevance, 0.0) >= ? FROM visits WHERE failure IS NULL"
    for url, is_relevant in store.iterate_typed_rows(tuple[str, int], sql, (threshold,)):
        scored[bool(is_relevant)].add(url)
    annotated: dict[bool | None, set[str]] = {True: set(), False: set(), None: set()}
    by_model: set[str] = set()
    for annotation in annotation_log.list_current_annotations(store).values():
        annotated[annotation.is_relevant].add(annotation.url)
        if annotation.is_by_reviewer:
            by_model.add(annotation.url)
    return PageRelevance(*map(frozenset, (annotated[True], annotated[False], scored[True], scored[False], by_model)))


def is_relevant(store: CollectionStore, visit: StoredVisit, threshold: float) -> bool:
    """Return whether the page of a visit is relevant: by the last verdict on it, else by its stored relevance."""
    annotation = annotation_log.find_annotation(store, visit.url)
    decision = annotation.is_relevant if annotation is not None else None
    return (visit.relevance or 0.0) >= threshold if decision is None else decision


def list_seed_pages(store: CollectionStore, count: int) -> list[str]:
    """Return the final URLs of the first `count` seeds of a crawl that were fetched."""
    sql = "SELECT url FROM visits WHERE source = '' AND failure IS NULL ORDER BY step LIMIT ?"
    return [str(url) for (url,) in store.query_rows(sql, (count,))]
