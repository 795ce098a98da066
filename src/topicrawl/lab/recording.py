"""Convert a crawl directory to a recorded web: a WARC file, optionally with tables of labels, topics and tasks.

The labels are the relevance decisions of the crawl, corrected by the annotations of the user. They are suitable for
testing a strategy again on the same topic, but they favour strategies that use the same relevance model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_relevance import load_page_relevance
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.errors import CollectionError, DamagedError, SpaceError, UsageError
from topicrawl.models import Response
from topicrawl.sample_web.recording import RecordedTask, write_pages, write_tables


@dataclass
class RecordingSummary:
    """Summary of a written recording."""

    pages: int = 0
    unreadable: int = 0  # pages that cannot be read from the archive
    relevant: int = 0
    seeds: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)


def record_crawl(
    directory: Path, target: Path, *, labels: bool = False, threshold: float | None = None
) -> RecordingSummary:
    """Write the pages of a crawl as a recorded web to the directory `target`, which must be new or empty.

    With `labels`, the function also writes the tables; pages with a relevance of at least `threshold` (default: that of
    the topic) are on the topic. Raise `CollectionError` or `UsageError` if there is nothing to write, `SpaceError` if
    the target cannot be written.
    """
    if not (directory / "topicrawl.sqlite").is_file():
        raise CollectionError(f"{directory} holds no crawl; specify a directory created by `topicrawl crawl`")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists: specify a directory that is new or empty")
    topic = load_crawl_topic(directory)
    store, archive = CollectionStore(directory / "topicrawl.sqlite", readonly=True), WarcArchive(directory)
    summary = RecordingSummary()
    try:
        rows = list(store.iterate_visits("failure IS NULL"))
        write_pages(target, _read_responses(rows, archive, summary), description=f"a crawl for {topic.name}")
        if not summary.pages:
            raise UsageError(f"{directory}: the crawl contains no readable page")
        # Semicolons separate labels, so the name of a label must not contain one.
        name = " ".join(topic.name.replace(";", " ").split())
        min_relevance = topic.threshold if threshold is None else threshold
        relevant = load_page_relevance(store, min_relevance).relevant
        on_topic = {row.url: (name,) for row in rows if labels and row.url in relevant}
        summary.relevant = len(on_topic)
        words = tuple(topic.words)
        tasks = [RecordedTask(target.resolve().name, name, " ".join(words), [name], summary.seeds, 0, len(on_topic))]
        if labels:
            write_tables(target, on_topic, {name: words}, tasks if summary.seeds else [], summary.redirects)
    except OSError as error:
        raise SpaceError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        archive.close()
        store.close()
    return summary


def _read_responses(rows: list[StoredVisit], archive: WarcArchive, summary: RecordingSummary) -> Iterator[Response]:
    for row in rows:
        try:
            response = archive.read_response(row.location) if row.location is not None else None
        except DamagedError:
            response = None
        if response is None:
            summary.unreadable += 1
            continue
        summary.pages += 1
        final_url = response.final_url
        summary.redirects |= {hop.url: final_url for hop in response.hops if hop.url != final_url}
        if not row.source:
            summary.seeds.append(row.requested)
        yield response
