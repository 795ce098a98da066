"""Review groups of a collection in memory, for a server that answers many requests.

The groups depend only on the pages, so a new verdict changes labels and builds nothing again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from topicrawl.collection.annotations import (
    Annotation,
    AnnotationLabel,
    annotate_pages,
    list_annotations_since,
)
from topicrawl.collection.review import (
    AppliedDecision,
    ReviewCandidate,
    ReviewGroup,
    build_groups,
    decide_groups,
    get_user_label,
    load_candidates,
)
from topicrawl.collection.store import CollectionStore
from topicrawl.urls import fingerprint

_REGROUP_INTERVAL = 5.0  # seconds between two groupings while a crawl adds pages
_SELECT_STATE = "SELECT (SELECT coalesce(max(step), 0) FROM visits), (SELECT count(*) FROM revisits)"


class ReviewIndex:
    """Pages and review groups of a collection. `update` must be called before the first use."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.groups: list[ReviewGroup] = []
        self._pages: dict[int, ReviewCandidate] = {}
        self._group_of: dict[int, tuple[ReviewGroup, int]] = {}  # page id → group, position in it
        self._sample_positions: dict[int, int] = {}  # page id → position in the sample of its group
        self._last_step = self._revisits = self._last_annotation = -1
        self._regrouped_at = float("-inf")

    @property
    def pages(self) -> Iterable[ReviewCandidate]:
        """All pages."""
        return self._pages.values()

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return len(self._pages)

    def find_page(self, page: int) -> tuple[ReviewCandidate, ReviewGroup] | None:
        """Return the page with an id and its group, or None."""
        place = self._group_of.get(page)
        return (place[0].pages[place[1]], place[0]) if place is not None else None

    def update(self, store: CollectionStore) -> None:
        """Read the pages and annotations that were added since the last call."""
        step, revisits = store.query_typed_rows(tuple[int, int], _SELECT_STATE)[0]
        is_due = time.monotonic() - self._regrouped_at > _REGROUP_INTERVAL
        if self._last_step < 0 or ((step, revisits) != (self._last_step, self._revisits) and is_due):
            self._load_pages(store, step, revisits)
        rows = list_annotations_since(store, self._last_annotation)
        if rows:
            self._last_annotation = rows[-1].number
            self._apply_annotations(rows)

    def _load_pages(self, store: CollectionStore, step: int, revisits: int) -> None:
        """Load new pages and build the groups. After revisits, or if the visits were rolled back, load all pages."""
        is_complete = revisits != self._revisits or step < self._last_step
        (last,) = store.query_typed_rows(tuple[int], "SELECT coalesce(max(number), 0) FROM annotations")[0]
        if is_complete:
            self._pages.clear()
        # Annotations after `last` are applied by `update`, those of new pages are loaded with them.
        new = load_candidates(store, self.threshold, after=-1 if is_complete else self._last_step)
        self._pages.update((page.id, page) for page in new)
        if is_complete:
            self._last_annotation = last
        self._last_step, self._revisits = step, revisits
        self.groups = build_groups(list(self._pages.values()), self.threshold)
        self._group_of, self._sample_positions = {}, {}
        for group in self.groups:
            self._group_of.update((page.id, (group, number)) for number, page in enumerate(group.pages))
            self._sample_positions.update((page.id, number) for number, page in enumerate(group.sample))
        self._regrouped_at = time.monotonic()

    def _apply_annotations(self, rows: Iterable[Annotation]) -> None:
        """Set the labels of annotated pages; the last row of a page counts."""
        for page_id, row in {row.page: row for row in rows}.items():
            page = self._pages.get(page_id)
            if page is None:
                continue
            label, is_reviewed = get_user_label(row)
            self._pages[page_id] = changed = page._replace(label=label, is_reviewed=is_reviewed)
            group, number = self._group_of[page_id]
            group.pages[number] = changed
            if page_id in self._sample_positions:
                group.sample[self._sample_positions[page_id]] = changed

    def review_pages(
        self,
        store: CollectionStore,
        labels: Mapping[str, AnnotationLabel],
        *,
        origin: str,
        at: float,
        annotator: str = "",
    ) -> tuple[int, list[AppliedDecision]]:
        """Add verdicts on pages as one action, and decide on the groups whose samples are complete.

        `labels` maps the final URL of a page to its label. Return the number of the action and the decisions.
        """
        action = annotate_pages(store, labels, origin=origin, at=at, annotator=annotator)
        self.update(store)
        changed = {fingerprint(url) for url in labels}
        names = {place[0].name for page in changed if (place := self._group_of.get(page)) is not None}
        groups = [group for group in self.groups if group.name in names]
        decisions = decide_groups(store, groups, changed, at=at, annotator=annotator)
        self.update(store)
        return action, decisions
