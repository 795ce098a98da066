"""Questions that people ask a collection; reading only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from topicrawl.collection.archive import Spot
from topicrawl.collection.links import Packed, StoredLink, leads_to, unpacked
from topicrawl.collection.store import Store
from topicrawl.urls import fingerprint, host


class Refused(NamedTuple):
    """A link that was not followed."""

    source: str
    anchor: str
    refusal: str


def counts(store: Store) -> tuple[int, int]:
    """The last step, and the number of pages kept."""
    ((step, pages),) = store.rows("SELECT coalesce(max(step), 0), count(*) FILTER (WHERE failure IS NULL) FROM visits")
    return int(str(step)), int(str(pages))


def harvest(store: Store, threshold: float) -> tuple[int, int]:
    """How many pages are kept, and how many of them are relevant."""
    sql = "SELECT count(*), count(*) FILTER (WHERE relevance >= ?) FROM visits WHERE failure IS NULL"
    ((pages, relevant),) = store.rows(sql, (threshold,))
    return int(str(pages)), int(str(relevant))


def discoveries(store: Store, threshold: float) -> Iterator[bool]:
    """Fetch by fetch, whether a relevant page was found."""
    sql = "SELECT failure IS NULL AND coalesce(relevance, 0) >= ? FROM visits ORDER BY step"
    return (bool(found) for (found,) in store.each(sql, (threshold,)))


def last_spot(store: Store) -> Spot | None:
    """Where the archive must end."""
    sql = "SELECT segment, start, length FROM visits WHERE segment IS NOT NULL ORDER BY segment DESC, start DESC"
    for segment, start, length in store.rows(f"{sql} LIMIT 1"):
        return Spot(int(str(segment)), int(str(start)), int(str(length)))
    return None


def hosts(store: Store) -> Counter[str]:
    """How many pages of each host are kept."""
    return Counter(host(str(url)) for (url,) in store.rows("SELECT url FROM pages"))


def failures(store: Store) -> dict[str, int]:
    """How often each failure was final, most frequent first."""
    sql = "SELECT failure, count(*) FROM visits WHERE failure IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    return {str(name): int(str(count)) for name, count in store.rows(sql)}


def best(store: Store, count: int) -> list[tuple[float, str]]:
    """The most relevant pages that are kept, and how relevant they are."""
    sql = "SELECT relevance, url FROM visits WHERE failure IS NULL AND relevance IS NOT NULL"
    rows = store.rows(f"{sql} ORDER BY relevance DESC, step LIMIT ?", (count,))
    return [(float(str(relevance)), str(url)) for relevance, url in rows]


def latest_failures(store: Store) -> dict[str, str]:
    """For each failure the address where it was last met, the most frequent failure first."""
    sql = "SELECT requested FROM visits WHERE failure = ? ORDER BY step DESC LIMIT 1"
    return {name: str(store.rows(sql, (name,))[0][0]) for name in failures(store)}


def links(store: Store, url: str) -> list[StoredLink]:
    """The links of a stored page, in their order."""
    rows = store.rows("SELECT targets, scores, refusals, anchors FROM links WHERE source = ?", (fingerprint(url),))
    return [link for row in rows for link in unpacked(_packed(row))]


def refused(store: Store, url: str) -> Refused | None:
    """A link to a URL that was not followed, with the page it stood on; looks at every page that has such links."""
    target = fingerprint(url)
    sql = "SELECT source, targets, scores, refusals, anchors FROM links WHERE refusals != ''"
    for source, *row in store.each(sql):
        link = leads_to(_packed(row), target)
        if link is not None and link.refusal is not None:
            pages = store.rows("SELECT url FROM pages WHERE id = ?", (source,))
            # A page that asked not to be kept has no address any more.
            return Refused(str(pages[0][0]) if pages else "", link.anchor, link.refusal)
    return None


def offered(store: Store, url: str) -> bool:
    """Whether any stored page links to a URL; looks at every page."""
    target = fingerprint(url)
    return any(
        leads_to(_packed(row), target) is not None
        for row in store.each("SELECT targets, scores, refusals, anchors FROM links")
    )


def _packed(row: Sequence[object]) -> Packed:
    targets, scores, refusals, anchors = row
    assert isinstance(targets, bytes)
    assert isinstance(scores, bytes)
    return Packed(targets, scores, str(refusals), str(anchors))
