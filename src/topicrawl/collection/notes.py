"""Notes and tags that users add to pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from topicrawl.collection.store import CollectionStore, replace_surrogates
from topicrawl.errors import UsageError

MAX_NOTE_LENGTH = 2000  # characters
MAX_TAG_LENGTH = 40
MAX_TAGS = 20  # tags of a page


class PageNote(NamedTuple):
    """A note on a page."""

    number: int
    note: str
    annotator: str  # name of the user, or ""
    at: float  # seconds since 1970


def add_note(store: CollectionStore, page: int, note: str, *, annotator: str, at: float) -> int:
    """Add a note to the page with an id, synced to disk. Return the number of the note."""
    text = replace_surrogates(note.strip())
    if not text or len(text) > MAX_NOTE_LENGTH:
        raise UsageError(f"a note must have from 1 to {MAX_NOTE_LENGTH} characters")
    with store.db.durable_transaction():
        sql = "INSERT INTO page_notes (page, note, annotator, at) VALUES (?,?,?,?)"
        return int(store.db.execute(sql, (page, text, annotator, at)).lastrowid or 0)


def delete_note(store: CollectionStore, number: int) -> None:
    """Delete a note. Do nothing if there is no such note."""
    with store.db.durable_transaction():
        store.db.execute("DELETE FROM page_notes WHERE number=?", (number,))


def list_notes(store: CollectionStore, page: int) -> list[PageNote]:
    """Return the notes on a page, oldest first."""
    sql = "SELECT number, note, annotator, at FROM page_notes WHERE page=? ORDER BY number"
    return store.query_typed_rows(PageNote, sql, (page,))


def parse_tags(text: str) -> list[str]:
    """Split a list of tags at commas. Raise `UsageError` if a tag is too long, or if there are too many.

    >>> parse_tags("Case study,  case study, vector  control,")
    ['case study', 'vector control']
    """
    tags = dict.fromkeys(" ".join(replace_surrogates(tag).lower().split()) for tag in text.split(","))
    tags.pop("", None)
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in tags):
        raise UsageError(f"a page can have {MAX_TAGS} tags of {MAX_TAG_LENGTH} characters")
    return list(tags)


def set_tags(store: CollectionStore, page: int, tags: Iterable[str]) -> None:
    """Replace the tags of a page, synced to disk."""
    with store.db.durable_transaction():
        store.db.execute("DELETE FROM page_tags WHERE page=?", (page,))
        store.db.executemany("INSERT OR IGNORE INTO page_tags VALUES (?,?)", [(page, tag) for tag in tags])


def list_tags(store: CollectionStore, page: int) -> list[str]:
    """Return the tags of a page in alphabetical order."""
    return [tag for (tag,) in store.query_typed_rows(tuple[str], "SELECT tag FROM page_tags WHERE page=?", (page,))]


def count_tags(store: CollectionStore) -> dict[str, int]:
    """Return the number of pages of each tag, most frequent first."""
    sql = "SELECT tag, count(*) FROM page_tags GROUP BY tag ORDER BY 2 DESC, 1"
    return dict(store.query_typed_rows(tuple[str, int], sql))


def copy_notes(sources: Sequence[CollectionStore], target: CollectionStore) -> None:
    """Copy the notes and tags of several collections to another one."""
    with target.db.durable_transaction():
        for source in sources:
            notes = source.query_rows("SELECT page, note, annotator, at FROM page_notes ORDER BY number")
            target.db.executemany("INSERT INTO page_notes (page, note, annotator, at) VALUES (?,?,?,?)", notes)
            target.db.executemany(
                "INSERT OR IGNORE INTO page_tags VALUES (?,?)", source.query_rows("SELECT page, tag FROM page_tags")
            )
