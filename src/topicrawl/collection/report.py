"""Questions that people ask a collection; reading only."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from topicrawl.collection.archive import Spot
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


def refused(store: Store, url: str) -> Refused | None:
    """A link to a URL that was not followed; a page that asked not to be kept has no address any more."""
    sql = (
        "SELECT coalesce(p.url, ''), l.anchor, l.refusal FROM links l LEFT JOIN pages p ON p.id = l.source "
        "WHERE l.target = ? AND l.refusal IS NOT NULL LIMIT 1"
    )
    for source, anchor, refusal in store.rows(sql, (fingerprint(url),)):
        return Refused(str(source), str(anchor), str(refusal))
    return None


def offered(store: Store, url: str) -> bool:
    """Whether any stored page links to a URL; looks at every link that is stored."""
    return bool(store.rows("SELECT 1 FROM links WHERE target = ? LIMIT 1", (fingerprint(url),)))
