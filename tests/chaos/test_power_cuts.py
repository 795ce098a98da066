"""A crawl loses no page if a power failure removes the last writes of its files, each by a different amount.

The first tests cut bytes off the files of a killed crawl, so they run everywhere. The others cut the power of a real
file system: ext4 on a loop device that is shut down without writing its caches.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest
from tests.helpers import redis_server
from tests.helpers.chaos_crawl import (
    ChaosSite,
    list_faults,
    read_pages,
    run_site,
    start_crawl,
    wait_for_requests,
)
from tests.helpers.lossy_disk import LossyDisk, mount_lossy_disk
from tests.helpers.markers import LONG

from topicrawl.database import sync_path

PAGES, HOSTS, REDIRECTS = 400, 50, 7
STORE, FRONTIER, ARCHIVE = "topicrawl.sqlite-wal", "frontier.sqlite-wal", "warc/00001.warc.gz"
CONCURRENCY = 32
OPTIONS = ("--delay", "0", "--concurrency", str(CONCURRENCY))
TIMEOUT = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosSite]:
    with run_site(tmp_path_factory.mktemp("site"), PAGES, HOSTS, redirects=REDIRECTS) as running:
        yield running


@pytest.fixture(scope="module")
def killed(site: ChaosSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a crawl that was killed when it had requested half of the pages."""
    directory = tmp_path_factory.mktemp("killed") / "crawl"
    kill_crawl(start_crawl(directory, site, *OPTIONS), site, PAGES // 2)
    assert all((directory / name).stat().st_size > 100_000 for name in (STORE, FRONTIER))
    return directory


def kill_crawl(process: subprocess.Popen[bytes], site: ChaosSite, pages: int, *, after: int = 0) -> None:
    wait_for_requests(process, site, pages, after=after)
    process.kill()
    process.wait()


def cut_file(path: Path, size: int) -> None:
    """Cut bytes off the end of a file; delete it if it is not longer."""
    with path.open("r+b") as file:
        left = path.stat().st_size - size
        file.truncate(max(left, 0))
    if left <= 0:
        path.unlink()


def check_resumed_crawl(directory: Path, site: ChaosSite, *options: str) -> None:
    """Resume a crawl: it must fetch the lost pages, hardly any others, and the doctor must find no fault.

    A kept page may be requested again through a redirect whose record is lost, but no more pages than were in flight.
    """
    pages, kept, before = set(range(site.pages)), read_pages(directory, skip_damaged=True), len(site.read_requests())
    assert start_crawl(directory, site, *OPTIONS, *options).wait(timeout=TIMEOUT) == 0
    assert pages - read_pages(directory) == set()
    fetched = set(site.count_requests(after=before))
    assert pages - kept <= fetched
    assert len(fetched & kept) <= CONCURRENCY
    assert list_faults(directory) == []


_ALL = 1 << 40
_RANDOM = Random(20261118)
CUTS: list[dict[str, int]] = [
    {STORE: 70_000},
    {STORE: _ALL},
    {FRONTIER: 70_000},
    {FRONTIER: _ALL},
    {ARCHIVE: 20_000},
    {STORE: 150_000, ARCHIVE: 5_000},
    {STORE: 20_000, FRONTIER: 200_000, ARCHIVE: 40_000},
    *({name: int(10 ** _RANDOM.uniform(2, 5.5)) for name in (STORE, FRONTIER, ARCHIVE)} for _ in range(2)),
]


@LONG
@pytest.mark.chaos
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_lost_ends_of_files_lose_no_page(killed: Path, site: ChaosSite, tmp_path: Path, cuts: dict[str, int]) -> None:
    directory = Path(shutil.copytree(killed, tmp_path / "crawl"))
    for name, size in cuts.items():
        cut_file(directory / name, size)
    check_resumed_crawl(directory, site)


@LONG
@pytest.mark.chaos
def test_a_worker_fetches_pages_again_that_only_redis_knows(site: ChaosSite, tmp_path: Path) -> None:
    directory = tmp_path / "worker"
    with redis_server.running(tmp_path / "redis") as server:
        shared, before = ("--frontier", f"{server.address}#dengue"), len(site.read_requests())
        kill_crawl(start_crawl(directory, site, *OPTIONS, *shared), site, PAGES // 2, after=before)
        for name, size in ((STORE, 200_000), (ARCHIVE, 5_000)):
            cut_file(directory / name, size)
        check_resumed_crawl(directory, site, *shared)


#: Files that are written to the device before each power cut, as the kernel may do at any time and in any order.
WRITTEN: list[tuple[str, ...]] = [
    (),
    (FRONTIER,),
    (FRONTIER, ARCHIVE),
    (STORE,),
    (STORE, FRONTIER),
    (ARCHIVE,),
    (STORE, ARCHIVE),
    (FRONTIER,),
    (STORE, FRONTIER, ARCHIVE),
    (FRONTIER, ARCHIVE),
    (STORE, FRONTIER),
    (FRONTIER,),
]
PAGES_PER_RUN = 40  # new pages that each run fetches


def cut_power(disk: LossyDisk, directory: Path, process: subprocess.Popen[bytes], written: tuple[str, ...]) -> None:
    """Cut the power while the crawl runs, after some files have been written to the device."""
    for name in written:
        if (directory / name).exists():
            sync_path(directory / name)
    disk.cut_power()
    process.kill()
    process.wait()
    disk.unmount()
    disk.mount()


@LONG
@pytest.mark.chaos
@pytest.mark.parametrize(("is_shared", "cuts"), [(False, len(WRITTEN)), (True, 5)], ids=["local", "worker"])
def test_power_cuts_lose_no_page(tmp_path: Path, cuts: int, *, is_shared: bool) -> None:
    pages = PAGES_PER_RUN * (cuts + 1)
    with (
        mount_lossy_disk(tmp_path) as disk,
        run_site(tmp_path, pages, HOSTS, redirects=REDIRECTS) as site,
        redis_server.running(tmp_path / "redis") if is_shared else nullcontext() as server,
    ):
        directory = disk.path / "crawl"
        shared = ("--frontier", f"{server.address}#dengue") if server is not None else ()
        for cut, written in enumerate(WRITTEN[:cuts], 1):
            process = start_crawl(directory, site, *OPTIONS, *shared)
            # Each run fetches new pages, besides those that the last power cut removed.
            wait_for_requests(process, site, PAGES_PER_RUN * cut)
            cut_power(disk, directory, process, written)
            assert (directory / "topic.toml").read_text(), "the topic is written before the first request"
        check_resumed_crawl(directory, site, *shared)
