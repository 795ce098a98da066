"""Chaos tests of a shared crawl: it loses no page and respects all delays; the log of the web server is the evidence.

TOPICRAWL_CHAOS=full runs the full version: 20,000 URLs, 4 workers, 20 kills of workers, 3 kills of the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers import chaos_site
from tests.helpers.chaos_cluster import NAME, ChaosCluster, Plan
from tests.helpers.markers import LONG
from tests.helpers.redis_server import MISSING, REASON, running

FULL = os.environ.get("TOPICRAWL_CHAOS") == "full"
SHORT = Plan(pages=300, hosts=30, workers=2, kills=2, delay=0.2, lease=1.5, cut=20_000)
WHOLE = Plan(
    pages=20_000,
    hosts=200,
    workers=4,
    kills=20,
    delay=0.2,
    lease=5.0,
    server_kills=3,
    cut=400_000,
    room=200_000,
    pause=5.0,
)
PLAN = WHOLE if FULL else SHORT
SLACK = 0.005  # seconds: resolution of the arrival times in the kernel


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ChaosCluster]:
    log = tmp_path / "requests.log"
    script = Path(chaos_site.__file__)
    command = [sys.executable, str(script), str(PLAN.pages), str(PLAN.hosts), str(log)]
    with (
        running(tmp_path / "redis") as redis,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site,
    ):
        assert site.stdout is not None
        chaos = ChaosCluster(tmp_path, redis, int(site.stdout.readline()), PLAN)
        try:
            yield chaos
        finally:
            chaos.close()
            site.kill()


@LONG
@pytest.mark.chaos
def test_faults_of_workers_and_server_lose_no_page_and_break_no_delay(cluster: ChaosCluster) -> None:
    cluster.start_crawl()
    cluster.wait_for(5)
    for _ in range(PLAN.workers - 1):
        cluster.start_worker()
    # Spread the faults over the crawl: inject the next one when the next part of the pages has been requested.
    faults = ["kill"] * PLAN.kills + ["server"] * PLAN.server_kills + ["freeze"]
    cluster.random.shuffle(faults)
    # Early, because the server only runs full while the queue still grows.
    faults.insert(1, "full")
    while_full = 0
    for number, fault in enumerate(faults, 1):
        cluster.wait_for(PLAN.pages * number // (len(faults) + 2))
        if fault == "kill":
            cluster.kill_worker()
        elif fault == "server":
            cluster.kill_server(PLAN.cut)
        elif fault == "freeze":
            cluster.freeze_worker()
        else:
            while_full = cluster.fill_server()
    assert set(cluster.wait_for_exit()) == {0}, (cluster.folder / "errors.log").read_text()[-2000:]

    fetched = cluster.count_fetches()
    assert set(fetched) == {f"/p/{n}" for n in range(PLAN.pages)}, "no page was lost"
    assert len(cluster.stored_pages()) == PLAN.pages
    gaps = cluster.request_gaps()
    violations = [gap for gap in gaps if gap < PLAN.delay - SLACK]
    assert not violations, f"of {len(gaps)} requests, these were too early: {violations}"
    merged = cluster.folder / "all"
    gather = [sys.executable, "-m", "topicrawl", "gather", str(merged), *map(str, cluster.directories())]
    subprocess.run(gather, check=True, stderr=subprocess.DEVNULL)
    assert len(cluster.stored_pages(merged)) == PLAN.pages
    if FULL:
        # The pause of the short version is too short for this check.
        assert not while_full, "no requests while the server is full"
        again = sum(fetched.values()) - PLAN.pages
        sys.stdout.write(
            f"{PLAN.pages} pages, {faults}: none lost, {again} fetched again, closest requests to a host "
            f"{gaps[0]:.4f} s apart (delay {PLAN.delay}), {cluster.count_refused()} results of stale leases rejected\n"
        )


@LONG
@pytest.mark.chaos
def test_a_wiped_server_is_never_reported_as_complete(cluster: ChaosCluster) -> None:
    cluster.start_crawl()
    cluster.wait_for(20)
    cluster.run_command("FLUSHALL")
    assert cluster.wait_for_exit() == [6]
    assert "gone from Redis" in (cluster.folder / "errors.log").read_text()
    # The same command must not treat the empty server as a new crawl.
    cluster.workers.clear()
    cluster.start_crawl()
    assert cluster.wait_for_exit() == [6]
    assert (cluster.folder / NAME).exists()


@LONG
@pytest.mark.chaos
@pytest.mark.skipif(MISSING, reason=REASON)
@pytest.mark.parametrize("strategy", ["best_first", "apprentice"])
def test_four_workers_find_nearly_the_same_pages_as_one_machine(strategy: str) -> None:
    script = Path(__file__).parent.parent.parent / "bench" / "cluster_same.py"
    command = [sys.executable, str(script), strategy, "--pages", "300", "--strict"]
    subprocess.run(command, check=True, timeout=600)
