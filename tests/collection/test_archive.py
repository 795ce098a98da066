"""The WARC archive: written records are readable after kills, truncation and full disks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.helpers.markers import LONG
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.models import RedirectHop, Response

with warnings.catch_warnings():
    # The package emits deprecation warnings about its own classes on import.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator as FastwarcIterator


def page(number: int, size: int = 300) -> Response:
    url = f"https://example.org/{number}"
    body = Random(number).randbytes(size)
    return Response(url, url, 200, {"content-type": "text/html"}, body, at=1_790_000_000.0 + number)


def fill_archive(
    directory: Path, pages: int = 3, *, segment_bytes: int = 1 << 30
) -> tuple[WarcArchive, list[RecordLocation]]:
    archive = WarcArchive(directory, segment_bytes=segment_bytes, random=Random(1))
    spots = [archive.write_fetch(page(number)) for number in range(pages)]
    return archive, spots


def segments(directory: Path) -> list[Path]:
    return sorted((directory / "warc").iterdir())


def foreign(directory: Path) -> list[tuple[str, str]]:
    """Return type and URL of all records in order, as two other readers see them, after checking the digests."""
    first, second = [], []
    for path in segments(directory):
        with path.open("rb") as file:
            for record in WarcioIterator(file, check_digests="raise"):
                record.content_stream().read()
                assert record.digest_checker.passed
                first.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or ""))
        with path.open("rb") as file:
            for found in FastwarcIterator(file, parse_http=False):
                assert found.verify_block_digest()
                second.append((found.headers["WARC-Type"], found.headers.get("WARC-Target-URI") or ""))
    assert first == second
    return first


def fetches(*numbers: int) -> list[tuple[str, str]]:
    return [(kind, f"https://example.org/{n}") for n in numbers for kind in ("request", "response")]


def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path / "crawl")
    archive.sync_to_disk()
    archive.close()
    assert not (tmp_path / "crawl").exists()


def test_every_page_is_there_as_soon_as_write_returns(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path)
    for number in range(3):
        spot = archive.write_fetch(page(number))
        assert WarcArchive(tmp_path).read_response(spot) == page(number)
        assert segments(tmp_path)[0].stat().st_size == spot.end
    assert foreign(tmp_path) == [("warcinfo", ""), *fetches(0, 1, 2)]


def test_a_spot_is_the_response_not_its_redirects_or_its_request(tmp_path: Path) -> None:
    response = replace(page(1), url="https://example.org/old", hops=(RedirectHop("https://example.org/old", 301),))
    archive = WarcArchive(tmp_path)
    spot = archive.write_fetch(response, address="192.0.2.1")
    assert archive.read_response(spot) == response
    assert foreign(tmp_path)[1:] == [("response", "https://example.org/old"), *fetches(1)]


def test_segments_stay_within_their_limit_and_begin_with_who_wrote_them(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, segment_bytes=5_000, about={"operator": "a@example.org"})
    spots = [archive.write_fetch(page(number)) for number in range(12)]
    archive.sync_to_disk()
    paths = segments(tmp_path)
    assert [path.name for path in paths] == [f"{number:05d}.warc.gz" for number in range(1, len(paths) + 1)]
    assert len(paths) > 2
    assert all(path.stat().st_size <= 5_000 for path in paths)
    assert sorted({spot.segment for spot in spots}) == list(range(1, len(paths) + 1))
    assert [archive.read_response(spot) for spot in spots] == [page(number) for number in range(12)]
    assert foreign(tmp_path).count(("warcinfo", "")) == len(paths)
    for path in paths:
        with path.open("rb") as file:
            info = next(iter(WarcioIterator(file))).content_stream().read()
            assert b"software: topicrawl/" in info
            assert b"operator: a@example.org" in info


def test_a_page_larger_than_a_segment_has_one_for_itself(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path, segment_bytes=5_000)
    spots = [archive.write_fetch(page(number, size)) for number, size in enumerate([300, 20_000, 300])]
    assert [spot.segment for spot in spots] == [1, 2, 3]
    assert [len(archive.read_response(spot).body) for spot in spots] == [300, 20_000, 300]


def test_equal_randomness_makes_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        fill_archive(tmp_path / name)[0].close()
    assert segments(tmp_path / "a")[0].read_bytes() == segments(tmp_path / "b")[0].read_bytes()


def test_writing_goes_on_where_another_process_closed(tmp_path: Path) -> None:
    first, spots = fill_archive(tmp_path)
    first.close()
    again = WarcArchive(tmp_path)
    again.truncate_after(spots[-1])
    spots.append(again.write_fetch(page(3)))
    assert [again.read_response(spot) for spot in spots] == [page(number) for number in range(4)]
    assert foreign(tmp_path) == [("warcinfo", ""), *fetches(0, 1, 2, 3)]


def test_all_behind_the_last_known_spot_is_cut(tmp_path: Path) -> None:
    archive, spots = fill_archive(tmp_path, 12, segment_bytes=5_000)
    archive.truncate_after(spots[1])
    assert foreign(tmp_path) == [("warcinfo", ""), *fetches(0, 1)]
    assert [archive.is_readable(spot) for spot in spots] == [True] * 2 + [False] * 10
    assert archive.read_response(archive.write_fetch(page(9))) == page(9)
    archive.truncate_after(None)
    assert segments(tmp_path) == []
    assert archive.write_fetch(page(1)).segment == 1


@LONG
def test_torn_at_any_byte_the_rest_is_whole_and_new_pages_go_elsewhere(tmp_path: Path) -> None:
    made, spots = fill_archive(tmp_path / "made")
    made.close()
    last = spots[-1]
    for size in sorted({*range(spots[1].end, last.end, 4), last.end - 1}):
        crawl = tmp_path / "torn"
        shutil.copytree(tmp_path / "made", crawl)
        os.truncate(segments(crawl)[0], size)
        archive = WarcArchive(crawl)
        archive.truncate_after(last)
        assert [archive.is_readable(spot) for spot in spots] == [True, True, False]
        new = archive.write_fetch(page(3))
        assert new.segment == 2
        assert archive.read_response(new) == page(3)
        archive.close()
        kept = segments(crawl)[0].stat().st_size
        assert kept in (spots[1].end, last.offset)
        if size % 8 == 0:
            request = [("request", "https://example.org/2")] if kept == last.offset else []
            assert foreign(crawl) == [
                ("warcinfo", ""),
                *fetches(0, 1),
                *request,
                ("warcinfo", ""),
                *fetches(3),
            ]
        shutil.rmtree(crawl)


def test_whole_pages_behind_a_hole_are_kept(tmp_path: Path) -> None:
    archive, spots = fill_archive(tmp_path, 6)
    archive.close()
    with segments(tmp_path)[0].open("r+b") as file:
        file.seek(spots[1].offset + 20)
        file.write(bytes(200))
        file.truncate(spots[5].end - 1)
    archive.truncate_after(spots[5])
    assert [archive.is_readable(spot) for spot in spots] == [True, False, True, True, True, False]
    assert segments(tmp_path)[0].stat().st_size == spots[5].offset
    with pytest.raises(DamagedError, match=rf"00001\.warc\.gz at byte {spots[1].offset}: not one complete"):
        archive.read_response(spots[1])


def test_an_archive_inside_a_torn_page_is_not_taken_for_ours(tmp_path: Path) -> None:
    inner, _ = fill_archive(tmp_path / "inner")
    inner.close()
    body = segments(tmp_path / "inner")[0].read_bytes() + Random(1).randbytes(50_000)
    archive, spots = fill_archive(tmp_path / "outer")
    torn = archive.write_fetch(replace(page(3), body=body))
    os.truncate(segments(tmp_path / "outer")[0], torn.end - 10)
    archive.truncate_after(torn)
    assert foreign(tmp_path / "outer") == [("warcinfo", ""), *fetches(0, 1, 2), *fetches(3)[:1]]
    assert all(archive.is_readable(spot) for spot in spots)


@pytest.mark.parametrize("content", [None, b"", b"\x1f\x8b\x08 torn at once"])
def test_a_segment_that_is_gone_is_no_catastrophe(tmp_path: Path, content: bytes | None) -> None:
    archive, spots = fill_archive(tmp_path, 12, segment_bytes=5_000)
    last = spots[-1]
    path = segments(tmp_path)[-1]
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    archive = WarcArchive(tmp_path)
    archive.truncate_after(last)
    assert [archive.is_readable(spot) for spot in spots] == [spot.segment < last.segment for spot in spots]
    assert archive.write_fetch(page(1)).segment == last.segment + 1
    assert len(segments(tmp_path)) == last.segment


def test_what_cannot_be_opened_is_neither_whole_nor_called_damaged(tmp_path: Path) -> None:
    archive, spots = fill_archive(tmp_path)
    path = segments(tmp_path)[0]
    path.unlink()
    path.mkdir()
    with pytest.raises(CollectionError, match="cannot be read") as raised:
        archive.is_readable(spots[0])
    assert not isinstance(raised.value, DamagedError)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "warc").write_text("a file where the folder should be")
    with pytest.raises(CollectionError, match="warc"):
        WarcArchive(tmp_path).write_fetch(page(1))


FULL = """
import resource, sys
from pathlib import Path
from topicrawl.collection.archive import WarcArchive
from topicrawl.errors import SpaceError
from topicrawl.models import Response

def page(number):
    url = f"https://example.org/{number}"
    return Response(url, url, 200, {}, bytes(range(256)) * 4, at=1.0)

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

archive = WarcArchive(Path(sys.argv[1]))
written, refused = 0, 0
for size in (100, 20_000, 20_000, 40_000):
    limit(size)
    try:
        while True:
            spot = archive.write_fetch(page(written))
            written += 1
    except SpaceError:
        refused += 1
    sizes = [path.stat().st_size for path in Path(sys.argv[1], "warc").iterdir()]
    assert sizes == ([spot.end] if written else []), sizes
limit(resource.RLIM_INFINITY)
archive.write_fetch(page(written))
archive.close()
print(written + 1, refused)
"""


def test_a_full_disk_leaves_a_valid_archive_and_writing_goes_on_later(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True, timeout=30
    )
    written, refused = (int(word) for word in done.stdout.split())
    assert refused == 4
    assert written > 20
    assert foreign(tmp_path) == [("warcinfo", ""), *fetches(*range(written))]


def test_no_space_for_the_first_page_leaves_no_empty_segment(tmp_path: Path) -> None:
    (tmp_path / "warc").mkdir()
    archive = WarcArchive(tmp_path)
    (tmp_path / "warc" / "00001.warc.gz").symlink_to("/dev/full")
    with pytest.raises(SpaceError, match="free some space"):
        archive.write_fetch(page(1))
    assert segments(tmp_path) == []
    assert archive.write_fetch(page(1)).segment == 1


CHILD = """
import sys
from pathlib import Path
from random import Random
from topicrawl.collection.archive import WarcArchive, RecordLocation
from topicrawl.models import Response

directory, first, *last = sys.argv[1:]
archive = WarcArchive(Path(directory), segment_bytes=2_000_000)
archive.truncate_after(RecordLocation(*map(int, last)) if last else None)
number = int(first)
while True:
    body = Random(number).randbytes(Random(-number).choice([10, 3_000, 200_000]))
    url = f"https://example.org/{number}"
    spot = archive.write_fetch(Response(url, url, 200, {}, body, at=1.0 + number))
    print(spot.segment, spot.offset, spot.length, flush=True)
    number += 1
"""


@pytest.mark.chaos
def test_a_kill_at_any_instant_loses_no_page_that_was_acknowledged(tmp_path: Path) -> None:
    random = Random(11)
    known: list[RecordLocation] = []
    for _ in range(12):
        last = [str(part) for part in (known[-1].segment, known[-1].offset, known[-1].length)] if known else []
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), str(len(known)), *last],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        lines = [child.stdout.readline()]  # the child is writing: kill it at any moment from here
        time.sleep(random.uniform(0, 0.03))
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        child.stdout.close()
        assert child.wait(timeout=10) == -signal.SIGKILL
        known += [RecordLocation(*map(int, line.split())) for line in lines if line.endswith("\n")]
    archive = WarcArchive(tmp_path)
    archive.truncate_after(known[-1])
    for number, spot in enumerate(known):
        response = archive.read_response(spot)
        assert (response.url, response.at) == (f"https://example.org/{number}", 1.0 + number)
    assert [record for record in foreign(tmp_path) if record[1]] == fetches(*range(len(known)))
    assert len(known) > 24
