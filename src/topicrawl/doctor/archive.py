"""Checks of the archive: every stored page is at the position that the store records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.collection.directory import ARCHIVE_END, CHECKED_RECORDS, UNREADABLE_STEPS
from topicrawl.database import Database, translate_errors
from topicrawl.doctor.databases import AREA, query_count, set_fact
from topicrawl.doctor.finding import CheckLimits, Finding
from topicrawl.errors import TopicrawlError

_MAX_REPORTED = 3  # damaged pages that are listed one by one
_REFETCH_ADVICE = "resume the crawl: it fetches the pages again"
_REPAIR_ADVICE = "use --repair: the crawl then fetches the damaged pages again when it resumes"
_RESTORE_ADVICE = "restore it from a backup"
_RECORD_ENDS = (
    "SELECT segment, start + length AS stop FROM visits WHERE segment IS NOT NULL"
    " UNION ALL SELECT segment, start + length FROM versions WHERE segment IS NOT NULL"
)


def check_archive(directory: Path, store: Database, limits: CheckLimits, *, busy: bool) -> Iterator[Finding]:
    """Check the lengths of the files, then read a sample of the records. `busy`: a crawl is writing to the archive."""
    yield from _check_files(directory / "warc", store, busy=busy)
    yield from _check_records(directory, store, limits)


def _check_files(folder: Path, store: Database, *, busy: bool) -> Iterator[Finding]:
    with translate_errors(store.path):
        rows = store.execute(f"SELECT segment, max(stop), count(*) FROM ({_RECORD_ENDS}) GROUP BY segment").fetchall()
    ends = {int(segment): (int(end), int(pages)) for segment, end, pages in rows}
    sizes = {int(path.name[:5]): path.stat().st_size for path in folder.glob("[0-9]" * 5 + ".warc.gz")}
    is_damaged = False
    for segment, (end, pages) in ends.items():
        name = f"warc/{segment:05d}.warc.gz"
        if segment not in sizes:
            is_damaged = True
            fix = _REFETCH_ADVICE if segment == max(ends) else _RESTORE_ADVICE
            yield AREA.problem("archive", f"{name} is missing, with {pages} pages", fix)
        elif sizes[segment] < end:
            is_damaged = True
            lost = query_count(
                store, f"SELECT count(*) FROM ({_RECORD_ENDS}) WHERE segment = {segment} AND stop > {sizes[segment]}"
            )
            fix = _REFETCH_ADVICE if segment == max(ends) else _RESTORE_ADVICE
            yield AREA.problem("archive", f"{name} is truncated: {lost} of its {pages} pages are lost", fix)
    last = max(ends, default=0)
    tail = sum(size for segment, size in sizes.items() if segment > last)
    tail += max(0, sizes.get(last, 0) - max(ends[last][0], _find_synced_end(store, last))) if last else 0
    if tail and not busy:
        says = f"{tail} bytes after the last page, left by a run that was killed"
        yield AREA.note("archive", says, "nothing: the crawl truncates the file when it resumes")
    if not is_damaged:
        total = sum(sizes.values()) / 1e6
        yield AREA.ok("archive", f"{len(ends)} files, {total:.1f} MB; the lengths match the store")


def _find_synced_end(store: Database, segment: int) -> int:
    """Return the end of the records of a segment that belong to stored results, with revisits and error pages."""
    with translate_errors(store.path):
        row = store.execute("SELECT value FROM facts WHERE name=?", (ARCHIVE_END,)).fetchone()
    match json.loads(row[0]) if row else None:
        case [int(number), int(offset)] if number == segment:
            return offset
    return 0


def _check_records(directory: Path, store: Database, limits: CheckLimits) -> Iterator[Finding]:
    """Read a sample of the archived pages, evenly spread over the crawl and including the last ones."""
    pages = query_count(store, "SELECT count(*) FROM visits WHERE segment IS NOT NULL")
    if not pages:
        yield AREA.note("records", "no pages are stored yet")
        return
    every = max(1, pages // limits.sample) if limits.sample else 1
    sql = "SELECT step, url, segment, start, length FROM visits WHERE segment IS NOT NULL"
    with translate_errors(store.path):
        # Selected by step number, because SQLite would scan to each OFFSET from the start.
        rows = store.execute(f"{sql} AND (step % {every} = 0 OR step > (SELECT max(step) - 5 FROM visits))").fetchall()
    records, done = WarcArchive(directory), 0
    lost: list[tuple[int, str, RecordLocation, str]] = []  # step, URL, location, reason
    for step, url, segment, start, length in rows:
        if limits.is_exhausted():
            yield AREA.note("records", f"{done} of {len(rows)} checked; {limits.timeout_message}")
            break
        if done % 100 == 0:
            limits.progress(f"reading page {done} of {len(rows)}")
        done += 1
        location = RecordLocation(segment, start, length)
        if reason := _find_read_error(records, str(url), location):
            lost.append((step, url, location, reason))
    for _, url, location, reason in lost[:_MAX_REPORTED]:
        yield AREA.problem("record", f"{url}: {reason}", _choose_advice(store, location))
    sample = f" (an even sample of {pages})" if done < pages else ""
    says = f"{done - len(lost)} of {done} pages are readable{sample}"
    if lost:
        first = min((location for _, _, location, _ in lost), key=lambda spot: (spot.segment, spot.offset))
        fix = f"{_choose_advice(store, first)}; --sample 0 checks all pages"
        finding = AREA.problem("records", f"{says}; {len(lost)} are damaged", fix)
        yield finding._replace(repair=partial(set_fact, directory, UNREADABLE_STEPS, [step for step, *_ in lost]))
    else:
        yield AREA.ok("records", says)


def _choose_advice(store: Database, damaged: RecordLocation) -> str:
    """Return the advice for a damaged record: a crawl that resumes checks only the end of the archive by itself."""
    later = f"SELECT count(*) FROM visits WHERE (segment, start) > ({damaged.segment}, {damaged.offset})"
    return _REFETCH_ADVICE if query_count(store, later) < CHECKED_RECORDS else _REPAIR_ADVICE


def _find_read_error(records: WarcArchive, url: str, spot: RecordLocation) -> str:
    """Return the reason why a record cannot be read, or "" if it can."""
    try:
        response = records.read_response(spot)
    except TopicrawlError as error:
        return str(error)
    return "" if response.final_url == url else f"the record contains {response.final_url} instead"
