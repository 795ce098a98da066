"""A crawl that Topicrawl made becomes a recorded web: one file of pages, and tables beside it if they are wanted.

Labels are the crawl's own judgement, not people's: good for trying a strategy again on the same topic, and flattering
for every strategy that follows the same judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from topicrawl.collection.archive import Archive
from topicrawl.collection.directory import topic_of
from topicrawl.collection.store import Store, Stored
from topicrawl.errors import CollectionError, DamagedError, SpaceError, UsageError
from topicrawl.lab.sample_record import RecordedTask, write_pages, write_tables
from topicrawl.records import Response


@dataclass
class Made:
    """What was written."""

    pages: int = 0
    lost: int = 0  # pages that no longer read back
    relevant: int = 0
    seeds: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)


def record(directory: Path, out: Path, *, labels: bool = False, threshold: float | None = None) -> Made:
    """Write the pages of a crawl into `out`; with labels, pages whose relevance reaches the threshold are on topic."""
    if not (directory / "topicrawl.sqlite").is_file():
        raise CollectionError(f"{directory} holds no crawl; name a directory that `topicrawl crawl` made")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists: name a directory that is new or empty")
    topic = topic_of(directory)
    store, archive = Store(directory / "topicrawl.sqlite", readonly=True), Archive(directory)
    made = Made()
    try:
        rows = list(store.visits("failure IS NULL"))
        write_pages(out, _responses(rows, archive, made), about=f"a crawl for {topic.name}")
        if not made.pages:
            raise UsageError(f"{directory}: not one page in it can be read")
        # Labels are for topics and separated by semicolons, so the name must hold none.
        name = " ".join(topic.name.replace(";", " ").split())
        least = topic.threshold if threshold is None else threshold
        on_topic = {row.url: (name,) for row in rows if labels and (row.relevance or 0.0) >= least}
        made.relevant = len(on_topic)
        words = tuple(topic.words)
        tasks = [RecordedTask(out.resolve().name, name, " ".join(words), [name], made.seeds, 0, len(on_topic))]
        if labels:
            write_tables(out, on_topic, {name: words}, tasks if made.seeds else [], made.moved)
    except OSError as error:
        raise SpaceError(f"{out} cannot be written: {error.strerror}") from error
    finally:
        archive.close()
        store.close()
    return made


def _responses(rows: list[Stored], archive: Archive, made: Made) -> Iterator[Response]:
    for row in rows:
        try:
            response = archive.read(row.spot) if row.spot is not None else None
        except DamagedError:
            response = None
        if response is None:
            made.lost += 1
            continue
        made.pages += 1
        made.moved |= {hop.url: response.final_url for hop in response.hops}
        if not row.source:
            made.seeds.append(row.requested)
        yield response
