"""The archive against the store: every kept page stands where the store says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from topicrawl.collection.archive import Archive, Spot
from topicrawl.database import Database, errors_of
from topicrawl.doctor.databases import AREA, count
from topicrawl.doctor.finding import Finding, Limits
from topicrawl.errors import TopicrawlError

_SHOWN = 3  # pages that are named
_FETCHED_AGAIN = "nothing, if they stand in the last file: the crawl fetches them again when it goes on; else a backup"
_SPOTS = (
    "SELECT segment, start + length AS stop FROM visits WHERE segment IS NOT NULL"
    " UNION ALL SELECT segment, start + length FROM versions WHERE segment IS NOT NULL"
)


def archive(directory: Path, store: Database, limits: Limits, *, busy: bool) -> Iterator[Finding]:
    """The files by their lengths, then the records themselves; `busy`: somebody is writing."""
    yield from _files(directory / "warc", store, busy=busy)
    yield from _records(directory, store, limits)


def _files(folder: Path, store: Database, *, busy: bool) -> Iterator[Finding]:
    with errors_of(store.path):
        rows = store.execute(f"SELECT segment, max(stop), count(*) FROM ({_SPOTS}) GROUP BY segment").fetchall()
    ends = {int(segment): (int(end), int(pages)) for segment, end, pages in rows}
    sizes = {int(path.name[:5]): path.stat().st_size for path in folder.glob("[0-9]" * 5 + ".warc.gz")}
    wrong = False
    for segment, (end, pages) in ends.items():
        name = f"warc/{segment:05d}.warc.gz"
        if segment not in sizes:
            wrong = True
            yield AREA.problem("archive", f"{name} is gone, and with it {pages} pages", "bring it back from a backup")
        elif sizes[segment] < end:
            wrong = True
            cut = count(store, f"SELECT count(*) FROM ({_SPOTS}) WHERE segment = {segment} AND stop > {sizes[segment]}")
            yield AREA.problem("archive", f"{name} is cut off: {cut} of its {pages} pages are lost", _FETCHED_AGAIN)
    last = max(ends, default=0)
    tail = sum(size for segment, size in sizes.items() if segment > last)
    tail += max(0, sizes.get(last, 0) - ends[last][0]) if last else 0
    if tail and not busy:
        says = f"{tail} bytes behind the last page, left by a run that was killed"
        yield AREA.note("archive", says, "nothing: the crawl cuts them off when it goes on")
    if not wrong:
        yield AREA.ok("archive", f"{len(ends)} files, {sum(sizes.values()) / 1e6:.1f} MB, as long as the store says")


def _records(directory: Path, store: Database, limits: Limits) -> Iterator[Finding]:
    """Read pages back, evenly spread over the crawl, the last ones among them."""
    pages = count(store, "SELECT count(*) FROM visits WHERE segment IS NOT NULL")
    if not pages:
        yield AREA.note("records", "no page is kept yet")
        return
    every = max(1, pages // limits.sample) if limits.sample else 1
    sql = "SELECT url, segment, start, length FROM visits WHERE segment IS NOT NULL"
    with errors_of(store.path):
        # By their numbers: an offset would be walked to again for each.
        rows = store.execute(f"{sql} AND (step % {every} = 0 OR step > (SELECT max(step) - 5 FROM visits))").fetchall()
    records, lost, done = Archive(directory), [], 0
    for url, segment, start, length in rows:
        if limits.over():
            yield AREA.note("records", f"{done} of {len(rows)} looked at; {limits.longer}")
            break
        if done % 100 == 0:
            limits.progress(f"reading page {done} of {len(rows)} back")
        done += 1
        if reason := _unreadable(records, str(url), Spot(segment, start, length)):
            lost.append((url, reason))
    for url, reason in lost[:_SHOWN]:
        yield AREA.problem("record", f"{url}: {reason}", _FETCHED_AGAIN)
    told = f"{done - len(lost)} of {done} pages read back" + (f" (of {pages}, evenly spread)" if done < pages else "")
    if lost:
        yield AREA.problem(
            "records", f"{told}; {len(lost)} do not", "--sample 0 looks at all; bring warc/ back from a backup"
        )
    else:
        yield AREA.ok("records", told)


def _unreadable(records: Archive, url: str, spot: Spot) -> str:
    try:
        found = records.read(spot)
    except TopicrawlError as error:
        return str(error)
    return "" if found.final_url == url else f"{found.final_url} stands in its place"
