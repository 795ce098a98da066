"""Read-only queries on a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from topicrawl.collection.annotations import SELECT_CURRENT_LABELS
from topicrawl.collection.archive import RecordLocation
from topicrawl.collection.link_rows import PackedLinks, StoredLink, find_link, pack_target, unpack_links
from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.collection.store import HOST_OF_URL, CollectionStore
from topicrawl.urls import fingerprint

_RATE_WINDOW = 600.0  # seconds over which the speed of a crawl is measured, because relevant pages may be rare


# Verdicts that contradict the relevance of a page. A visit is found by its link or, after a redirect, by its page.
_SELECT_CHANGES = f"""
    WITH current_labels AS ({SELECT_CURRENT_LABELS}),
    labelled AS (
        SELECT v.step, v.relevance, label FROM current_labels c JOIN visits v ON v.id = c.page AND v.url = c.url
        WHERE v.failure IS NULL
        UNION
        SELECT v.step, v.relevance, label FROM current_labels c JOIN pages p ON p.id = c.page
        JOIN visits v ON v.step = p.step WHERE v.failure IS NULL
    )
    SELECT step, CASE label WHEN 'relevant' THEN 1 ELSE -1 END FROM labelled
    WHERE (label = 'relevant' AND NOT coalesce(relevance, 0) >= ?)
    OR (label = 'irrelevant' AND relevance >= ?)
"""


class IncomingLink(NamedTuple):
    """A link to a URL, with its source page."""

    source: str
    anchor: str
    refusal: str  # "" if the link was not refused


def get_progress(store: CollectionStore) -> tuple[int, int]:
    """Return the last step, 0 before the first visit, and the number of stored pages."""
    sql = "SELECT coalesce(max(step), 0), count(*) FILTER (WHERE failure IS NULL) FROM visits"
    return store.query_typed_rows(tuple[int, int], sql)[0]


def find_first_time(store: CollectionStore) -> float:
    """Return the time of the first visit, or 0 without visits."""
    return store.query_value(float, "SELECT coalesce((SELECT at FROM visits ORDER BY step LIMIT 1), 0.0)")


def count_relevant_pages(
    store: CollectionStore, threshold: float, changes: Sequence[tuple[int, int]] | None = None
) -> tuple[int, int]:
    """Return the number of stored pages, and how many of them are relevant.

    A page is relevant if its annotation says so, or without an annotation if its relevance is at least `threshold`.
    `changes` is the result of `list_relevance_changes`, if the caller has it.
    """
    changes = list_relevance_changes(store, threshold) if changes is None else changes
    sql = "SELECT count(*), count(*) FILTER (WHERE relevance >= ?) FROM visits WHERE failure IS NULL"
    pages, relevant = store.query_typed_rows(tuple[int, int], sql, (threshold,))[0]
    return pages, relevant + sum(change for _, change in changes)


def list_relevance_changes(store: CollectionStore, threshold: float) -> list[tuple[int, int]]:
    """Return the steps of the visits whose page is relevant by a verdict only (1), or by its relevance only (-1)."""
    return store.query_typed_rows(tuple[int, int], _SELECT_CHANGES, (threshold, threshold))


def compute_harvest_curve(
    store: CollectionStore, threshold: float, points: int, changes: Sequence[tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    """Return the harvest curve: (fetches, relevant pages), at about `points` points from (0, 0) to the last fetch.

    `changes` is the result of `list_relevance_changes`, if the caller has it.
    """
    changes = list_relevance_changes(store, threshold) if changes is None else changes
    last = store.query_value(int, "SELECT coalesce(max(step), 0) FROM visits")
    width = max(1, -(-last // points))
    sql = "SELECT (step - 1) / ?, count(*) FROM visits WHERE failure IS NULL AND relevance >= ? GROUP BY 1"
    counts = Counter(dict(store.query_typed_rows(tuple[int, int], sql, (width, threshold))))
    for step, change in changes:
        counts[(step - 1) // width] += change
    curve = [(0, 0)]
    for number in range(-(-last // width)):
        curve.append((min(last, (number + 1) * width), curve[-1][1] + counts[number]))
    return curve


def measure_recent_rates(store: CollectionStore, threshold: float, now: float) -> tuple[float, float]:
    """Return the stored pages and the relevant pages per second, in the last ten minutes before `now`."""
    sql = (
        "SELECT min(at), count(*) FILTER (WHERE failure IS NULL),"
        f" count(*) FILTER (WHERE failure IS NULL AND {IS_RELEVANT}) FROM visits WHERE at > ?"
    )
    rows = store.query_typed_rows(tuple[float | None, int, int], sql, (threshold, now - _RATE_WINDOW))
    first, pages, relevant = rows[0]
    seconds = now - first if first is not None else 0.0
    return (pages / seconds, relevant / seconds) if seconds > 0 else (0.0, 0.0)


def iterate_discoveries(store: CollectionStore, threshold: float) -> Iterator[bool]:
    """Yield for each visit, in the order of steps, whether it found a relevant page. Verdicts take precedence."""
    sql = f"SELECT failure IS NULL AND coalesce({IS_RELEVANT}, 0) FROM visits ORDER BY step"
    return (bool(found) for (found,) in store.iterate_rows(sql, (threshold,)))


def find_last_record(store: CollectionStore) -> RecordLocation | None:
    """Return the archive location of the last record that the database refers to, or None if there is none."""
    sql = "SELECT segment, start, length FROM visits WHERE segment IS NOT NULL ORDER BY segment DESC, start DESC"
    rows = store.query_typed_rows(tuple[int, int, int], f"{sql} LIMIT 1")
    return RecordLocation(*rows[0]) if rows else None


def list_records_before(
    store: CollectionStore, before: tuple[int, int], count: int
) -> list[tuple[int, RecordLocation]]:
    """Return the steps and archive locations of the last `count` visits before a segment and offset, last one first."""
    sql = (
        "SELECT step, segment, start, length FROM visits WHERE segment IS NOT NULL AND (segment, start) < (?, ?)"
        " ORDER BY segment DESC, start DESC LIMIT ?"
    )
    rows = store.query_typed_rows(tuple[int, int, int, int], sql, (*before, count))
    return [(step, RecordLocation(*location)) for step, *location in rows]


def count_pages_by_host(store: CollectionStore, *, limit: int = -1) -> Counter[str]:
    """Return the number of stored pages by host, of the `limit` hosts with the most pages."""
    sql = f"SELECT {HOST_OF_URL}, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
    return Counter(dict(store.query_typed_rows(tuple[str, int], sql, (limit,))))


def count_failures(store: CollectionStore) -> dict[str, int]:
    """Return the number of final failures by name, most frequent first."""
    sql = "SELECT failure, count(*) FROM visits WHERE failure IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    return dict(store.query_typed_rows(tuple[str, int], sql))


def list_best_pages(store: CollectionStore, count: int) -> list[tuple[float, str]]:
    """Return the relevance and URL of the most relevant stored pages, without those that were ruled irrelevant."""
    sql = f"SELECT relevance, url FROM visits WHERE failure IS NULL AND relevance IS NOT NULL AND {IS_RELEVANT}"
    return store.query_typed_rows(tuple[float, str], f"{sql} ORDER BY relevance DESC, step LIMIT ?", (0.0, count))


def find_latest_failures(store: CollectionStore) -> dict[str, str]:
    """Return the URL of the last occurrence of each failure, most frequent failure first."""
    sql = "SELECT requested FROM visits WHERE failure = ? ORDER BY step DESC LIMIT 1"
    return {name: str(store.query_rows(sql, (name,))[0][0]) for name in count_failures(store)}


def list_links(store: CollectionStore, url: str) -> list[StoredLink]:
    """Return the links of a stored page in their order; empty if the page is not stored or has no links."""
    sql = "SELECT targets, scores, refusals, anchors FROM links WHERE source = ?"
    rows = store.query_typed_rows(PackedLinks, sql, (fingerprint(url),))
    return [link for row in rows for link in unpack_links(row)]


def find_link_to(store: CollectionStore, url: str) -> IncomingLink | None:
    """Return a link of a stored page to a URL, a refused one if there is any, or None. Scans the links of all pages.

    The source is "" if the page with the link has a noindex directive and is therefore not stored.
    """
    target = fingerprint(url)
    # The search for the bytes of the id, also at other offsets, takes 15 ms for 50,000 pages.
    sql = "SELECT source, targets, scores, refusals, anchors FROM links WHERE instr(targets, ?)"
    rows = store.iterate_typed_rows(tuple[int, bytes, bytes, str, str], sql, (pack_target(target),))
    found = None
    for source, targets, scores, refusals, anchors in rows:
        link = find_link(PackedLinks(targets, scores, refusals, anchors), target)
        if link is None or (found is not None and link.refusal is None):
            continue
        pages = store.query_rows("SELECT url FROM pages WHERE id = ?", (source,))
        # A noindex page has no row in `pages`, so its URL is unknown.
        found = IncomingLink(str(pages[0][0]) if pages else "", link.anchor, link.refusal or "")
        if link.refusal is not None:
            break
    return found
