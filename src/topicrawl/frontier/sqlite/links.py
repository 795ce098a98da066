"""Rows of links in an SQLite frontier: lookup, insert and update."""

from __future__ import annotations

from collections.abc import Mapping

from topicrawl.frontier.base import Offer
from topicrawl.frontier.entry import DONE, DROPPED, LEASED, WAITING, LinkRecord, OfferEffect
from topicrawl.frontier.sqlite.file import FrontierDatabase
from topicrawl.frontier.sqlite.reader import encode_priority, read_counts, to_json_list
from topicrawl.models import Priority, Refusal

_LOOKUP = """
    SELECT k.key, l.seq, l.host, l.state, l.score, l.attempts, l.depth, l.reason
    FROM json_each(?) j JOIN link_keys k ON k.key = j.value JOIN links l ON l.seq = k.seq
"""
_INSERT = """
    INSERT INTO links (seq, host, state, score, attempts, first, depth, url, source, anchor, priority)
    VALUES (?, ?, 0, ?, 0, ?, ?, ?, ?, ?, ?)
"""
_INSERT_KEY = "INSERT INTO link_keys VALUES (?, ?)"
_SET_LINK = """
    UPDATE links SET state = ?, score = ?, attempts = ?, first = coalesce(first, score), depth = ?,
    source = ?, anchor = ?, priority = ?, reason = NULL WHERE seq = ?
"""
_SET_PRIORITY = "UPDATE links SET score = ?, first = coalesce(first, score), priority = ? WHERE seq = ?"
_SET_SCORE = "UPDATE links SET score = ?, first = coalesce(first, score) WHERE seq = ?"
_SET_STATE = "UPDATE links SET state = ?, attempts = ?, reason = ? WHERE seq = ?"
_INSERT_LEASE = "INSERT INTO leased VALUES (?, ?)"
_DELETE_LEASE = "DELETE FROM leased WHERE seq = ?"
_IS_WAITING = "state = 0 AND seq NOT IN (SELECT seq FROM leased)"
_DROP_HOST = f"UPDATE links SET state = 3, reason = ? WHERE {_IS_WAITING} AND host = ?"
_SELECT_WORST = (
    f"SELECT score, seq FROM links INDEXED BY open_links WHERE {_IS_WAITING} ORDER BY score, seq DESC LIMIT 1 OFFSET ?"
)
_DROP_WORST = f"UPDATE links SET state = 3, reason = ? WHERE {_IS_WAITING} AND (score < ? OR score = ? AND seq >= ?)"


class FrontierLinkStore:
    """Rows of links, without scheduling logic. The caller opens the transaction of every change.

    `counts` and `leased_rows` are updated with the rows. If the transaction fails, the caller must restore them.
    """

    def __init__(self, database: FrontierDatabase) -> None:
        self._database = database
        self.source_rows: dict[str, int] = {}  # URL → row of the leased pages, which are the sources of new links
        counts = read_counts(database)
        self.counts = [counts.waiting, counts.leased, counts.done, counts.dropped]
        self.leased_rows: set[int] = set()  # leased rows
        (self.next_sequence,) = database.execute("SELECT coalesce(max(seq), 0) + 1 FROM links").fetchone()

    def find_records(self, offers: Mapping[int, Offer]) -> dict[int, LinkRecord]:
        """Return the stored records of the offered links by key, with the fields that an offer can change.

        The keys of links that are not stored are missing.
        """
        records = {}
        rows = self._database.execute(_LOOKUP, (to_json_list(offers),))
        for key, seq, host, state, score, attempts, depth, reason in rows:
            record = records[key] = LinkRecord(seq, host, offers[key].link, Priority(score))
            record.state = LEASED if seq in self.leased_rows else state
            record.attempts, record.depth, record.reason = attempts, depth, reason or ""
        return records

    def insert(self, records: Mapping[int, LinkRecord]) -> None:
        """Insert rows for new waiting links. `records` maps keys to records. The caller has counted the links."""
        self._database.executemany(_INSERT, [self._to_row(known) for known in records.values()])
        self._database.executemany(_INSERT_KEY, [(key, known.seq) for key, known in records.items()])

    def update(self, record: LinkRecord, change: OfferEffect) -> None:
        """Write the fields of a record that an offer changed: its priority, or also its state and link fields."""
        score, encoded = record.priority.score, encode_priority(record.priority)
        if change is OfferEffect.PRIORITY:
            self._database.execute(_SET_PRIORITY, (score, encoded, record.seq))
            return
        source, anchor = self._encode_source(record.source), _replace_surrogates(record.anchor)
        values = (record.state, score, record.attempts, record.depth, source, anchor, encoded, record.seq)
        self._database.execute(_SET_LINK, values)

    def rescore(self, scores: Mapping[int, float]) -> dict[int, int]:
        """Set the scores of waiting links by key. Return the host numbers of these links by key; skip other links."""
        rows = self._database.execute(_LOOKUP, (to_json_list(scores),)).fetchall()
        waiting = [row[:3] for row in rows if row[3] == WAITING and row[1] not in self.leased_rows]
        self._database.executemany(_SET_SCORE, [(scores[key], seq) for key, seq, _ in waiting])
        return {key: host for key, _, host in waiting}

    def lease(self, record: LinkRecord) -> None:
        """Mark a waiting link as leased in its record and in the database, and count an attempt.

        The caller opens the transaction. The row in `links` stays unchanged, because a lease is a row in `leased`.
        """
        record.state, record.attempts = LEASED, record.attempts + 1
        self._database.execute(_INSERT_LEASE, (record.seq, record.attempts))
        self.leased_rows.add(record.seq)
        self.update_counts(WAITING, LEASED)

    def end_lease(self, seq: int) -> None:
        """Delete the lease of a link from the database and from `leased_rows`. The counts do not change."""
        self._database.execute(_DELETE_LEASE, (seq,))
        self.leased_rows.discard(seq)

    def set_state(self, record: LinkRecord, before: int) -> None:
        """Write the state, attempts and reason of a record, and count the change from the state `before`."""
        self._database.execute(_SET_STATE, (record.state, record.attempts, record.reason or None, record.seq))
        self.update_counts(before, record.state)

    def complete(self, record: LinkRecord, reason: str) -> None:
        """End the lease of a link and mark it as done in the database.

        The record stays unchanged because the transaction may still fail.
        """
        self.end_lease(record.seq)
        self._database.execute(_SET_STATE, (DONE, record.attempts, reason, record.seq))
        self.update_counts(LEASED, DONE)

    def update_counts(self, before: int, after: int, count: int = 1) -> None:
        """Move `count` links from the state `before` to the state `after` in the counts."""
        self.counts[before] -= count
        self.counts[after] += count

    def drop_host(self, host: int) -> None:
        """Drop all waiting links of a host whose page budget is used up."""
        dropped = self._database.execute(_DROP_HOST, (Refusal.HOST_BUDGET.value, host)).rowcount
        self.update_counts(WAITING, DROPPED, dropped)

    def drop_worst(self, count: int) -> tuple[float, int]:
        """Drop the `count` worst waiting links and return the rank of the best of them: (−score, row)."""
        score, seq = self._database.execute(_SELECT_WORST, (count - 1,)).fetchone()
        dropped = self._database.execute(_DROP_WORST, (Refusal.DROPPED.value, score, score, seq)).rowcount
        self.update_counts(WAITING, DROPPED, dropped)
        return -score, seq

    def save_counts(self) -> None:
        """Write the number of dropped links. The other counts can be computed from the tables."""
        self._database.execute("UPDATE crawl SET dropped = ?", (self.counts[DROPPED],))

    def _to_row(self, record: LinkRecord) -> tuple[float | str | None, ...]:
        """Return the parameters of the `INSERT` statement."""
        score, first = record.priority.score, record.first_score
        return (
            record.seq,
            record.host_number,
            score,
            None if first == score else first,
            record.depth,
            _replace_surrogates(record.url),
            self._encode_source(record.source),
            _replace_surrogates(record.anchor),
            encode_priority(record.priority),
        )

    def _encode_source(self, url: str) -> int | str | None:
        """Return the row of the source page if that page is leased, else its URL or None."""
        return self.source_rows.get(url) or _replace_surrogates(url) or None


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which pages may contain and UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
