"""Questions that people ask a collection; reading only."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from topicrawl.collection.store import Store
from topicrawl.urls import fingerprint, host


class Inlink(NamedTuple):
    """A link to a page, as it stood on another."""

    source: str
    anchor: str
    score: float | None
    refusal: str | None


def harvest(store: Store, threshold: float) -> tuple[int, int]:
    """How many pages are kept, and how many of them are relevant."""
    sql = "SELECT count(*), count(*) FILTER (WHERE relevance >= ?) FROM visits WHERE failure IS NULL"
    ((pages, relevant),) = store.db.execute(sql, (threshold,))
    return int(pages), int(relevant)


def hosts(store: Store) -> Counter[str]:
    """How many pages of each host are kept."""
    return Counter(host(url) for (url,) in store.db.execute("SELECT url FROM pages"))


def failures(store: Store) -> dict[str, int]:
    """How often each failure was final, most frequent first."""
    sql = "SELECT failure, count(*) FROM visits WHERE failure IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    return {str(name): int(count) for name, count in store.db.execute(sql)}


def inlinks(store: Store, url: str, *, most: int = 1) -> list[Inlink]:
    """Links to a URL from pages that are kept."""
    sql = (
        "SELECT p.url, l.anchor, l.score, l.refusal FROM links l JOIN pages p ON p.id = l.source "
        "WHERE l.target = ? LIMIT ?"
    )
    return [Inlink(*row) for row in store.db.execute(sql, (fingerprint(url), most))]
