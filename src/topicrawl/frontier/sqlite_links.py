"""The links of a frontier on disk: rows in, rows out."""

from __future__ import annotations

from collections.abc import Mapping

from topicrawl.frontier.contract import Offer
from topicrawl.frontier.known import DONE, DROPPED, LEASED, WAITING, Change, Known
from topicrawl.frontier.sqlite_file import File
from topicrawl.frontier.sqlite_look import json_list, read_counts, stored
from topicrawl.records import Place, Refusal

_LOOKUP = """
    SELECT k.key, l.seq, l.host, l.state, l.score, l.attempts, l.depth, l.reason
    FROM json_each(?) j JOIN known k ON k.key = j.value JOIN links l ON l.seq = k.seq
"""
_INSERT = """
    INSERT INTO links (seq, host, state, score, attempts, first, depth, url, source, anchor, place)
    VALUES (?, ?, 0, ?, 0, ?, ?, ?, ?, ?, ?)
"""
_KNOW = "INSERT INTO known VALUES (?, ?)"
_SET_LINK = """
    UPDATE links SET state = ?, score = ?, attempts = ?, first = coalesce(first, score), depth = ?,
    source = ?, anchor = ?, place = ?, reason = NULL WHERE seq = ?
"""
_SET_PLACE = "UPDATE links SET score = ?, first = coalesce(first, score), place = ? WHERE seq = ?"
_SET_SCORE = "UPDATE links SET score = ?, first = coalesce(first, score) WHERE seq = ?"
_SET_STATE = "UPDATE links SET state = ?, attempts = ?, reason = ? WHERE seq = ?"
_LEASE = "INSERT INTO leased VALUES (?, ?)"
_UNLEASE = "DELETE FROM leased WHERE seq = ?"
_IDLE = "state = 0 AND seq NOT IN (SELECT seq FROM leased)"
_DROP_HOST = f"UPDATE links SET state = 3, reason = ? WHERE {_IDLE} AND host = ?"
_WORST = f"SELECT score, seq FROM links INDEXED BY open_links WHERE {_IDLE} ORDER BY score, seq DESC LIMIT 1 OFFSET ?"
_DROP_WORST = f"UPDATE links SET state = 3, reason = ? WHERE {_IDLE} AND (score < ? OR score = ? AND seq >= ?)"


class StoredLinks:
    """Rows of links; nothing here knows of hosts or time."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.sources: dict[str, int] = {}  # URL → row of the pages that are out: new links stand on them
        counts = read_counts(file)
        self.counts = [counts.waiting, counts.leased, counts.done, counts.dropped]
        self.out: set[int] = set()  # rows on lease
        (self.next,) = file.execute("SELECT coalesce(max(seq), 0) + 1 FROM links").fetchone()

    def lookup(self, offers: Mapping[int, Offer]) -> dict[int, Known]:
        """What the file knows of these links, by key; as much of it as an offer can change."""
        found = {}
        rows = self._file.execute(_LOOKUP, (json_list(offers),))
        for key, seq, host, state, score, attempts, depth, reason in rows:
            known = found[key] = Known(seq, host, offers[key].link, Place(score))
            known.state = LEASED if seq in self.out else state
            known.attempts, known.depth, known.reason = attempts, depth, reason or ""
        return found

    def insert(self, new: Mapping[int, Known]) -> None:
        """Put new links in, by key; they wait."""
        self._file.executemany(_INSERT, [self._row(known) for known in new.values()])
        self._file.executemany(_KNOW, [(key, known.seq) for key, known in new.items()])

    def update(self, known: Known, change: Change) -> None:
        """Write down what an offer changed."""
        score, place = known.place.score, stored(known.place)
        if change is Change.PLACE:
            self._file.execute(_SET_PLACE, (score, place, known.seq))
            return
        source, anchor = self._source(known.source), _encodable(known.anchor)
        values = (known.state, score, known.attempts, known.depth, source, anchor, place, known.seq)
        self._file.execute(_SET_LINK, values)

    def rescore(self, scores: Mapping[int, float]) -> dict[int, int]:
        """Set the scores of those that wait, by key. Returns their hosts."""
        rows = self._file.execute(_LOOKUP, (json_list(scores),)).fetchall()
        waiting = [row[:3] for row in rows if row[3] == WAITING and row[1] not in self.out]
        self._file.executemany(_SET_SCORE, [(scores[key], seq) for key, seq, _ in waiting])
        return {key: host for key, _, host in waiting}

    def lease(self, known: Known) -> None:
        """Note that a link is out."""
        known.state, known.attempts = LEASED, known.attempts + 1
        self._file.execute(_LEASE, (known.seq, known.attempts))
        self.out.add(known.seq)
        self.moved(WAITING, LEASED)

    def unlease(self, seq: int) -> None:
        """Note that a link is not out any more."""
        self._file.execute(_UNLEASE, (seq,))
        self.out.discard(seq)

    def set_state(self, known: Known, before: int) -> None:
        """Write down a link's new state."""
        self._file.execute(_SET_STATE, (known.state, known.attempts, known.reason or None, known.seq))
        self.moved(before, known.state)

    def finish(self, known: Known, reason: str) -> None:
        """A link that was out is done; the record of it is left as it is, in case the transaction fails."""
        self.unlease(known.seq)
        self._file.execute(_SET_STATE, (DONE, known.attempts, reason, known.seq))
        self.moved(LEASED, DONE)

    def moved(self, before: int, after: int, count: int = 1) -> None:
        """Links changed their state."""
        self.counts[before] -= count
        self.counts[after] += count

    def drop_host(self, host: int) -> None:
        """Nothing more of this host."""
        dropped = self._file.execute(_DROP_HOST, (Refusal.HOST_BUDGET.value, host)).rowcount
        self.moved(WAITING, DROPPED, dropped)

    def drop_worst(self, count: int) -> tuple[float, int]:
        """Drop so many of the worst; returns the rank of the best of them."""
        score, seq = self._file.execute(_WORST, (count - 1,)).fetchone()
        dropped = self._file.execute(_DROP_WORST, (Refusal.DROPPED.value, score, score, seq)).rowcount
        self.moved(WAITING, DROPPED, dropped)
        return -score, seq

    def save_counts(self) -> None:
        """Write down how many were dropped; the others can be counted."""
        self._file.execute("UPDATE crawl SET dropped = ?", (self.counts[DROPPED],))

    def _row(self, known: Known) -> tuple[float | str | None, ...]:
        score, first = known.place.score, known.first_score
        return (
            known.seq, known.host, score, None if first == score else first, known.depth, _encodable(known.url),
            self._source(known.source), _encodable(known.anchor), stored(known.place),
        )  # fmt: skip

    def _source(self, url: str) -> int | str | None:
        return self.sources.get(url) or _encodable(url) or None


def _encodable(text: str) -> str:
    """Text as UTF-8 can hold it: a page may spell half a character."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
