"""A shared crawl loses nothing and stays polite whatever happens to workers and server; the web server's log is judge.

TOPICRAWL_CHAOS=full does it at full length: 20,000 URLs, 4 workers, 20 kills of workers, 3 of the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chaos.cluster import NAME, Attacked, Plan
from tests.longer import LONG
from tests.redis_server import MISSING, REASON, running

FULL = os.environ.get("TOPICRAWL_CHAOS") == "full"
SHORT = Plan(pages=300, hosts=30, workers=2, kills=2, delay=0.2, lease=1.5, cut=20_000)
WHOLE = Plan(
    pages=20_000, hosts=200, workers=4, kills=20, delay=0.2, lease=5.0, server_kills=3, cut=400_000, room=200_000,
    pause=5.0,
)  # fmt: skip
PLAN = WHOLE if FULL else SHORT
SLACK = 0.005  # seconds: a tick of the clock by which the kernel notes when something came


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Attacked]:
    log = tmp_path / "requests.log"
    script = Path(__file__).parent / "site.py"
    command = [sys.executable, str(script), str(PLAN.pages), str(PLAN.hosts), str(log)]
    with (
        running(tmp_path / "redis") as redis,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site,
    ):
        assert site.stdout is not None
        found = Attacked(tmp_path, redis, int(site.stdout.readline()), PLAN)
        try:
            yield found
        finally:
            found.close()
            site.kill()


@LONG
@pytest.mark.chaos
def test_kills_freezes_restarts_and_a_cut_log_lose_no_page_and_break_no_delay(attacked: Attacked) -> None:
    attacked.first()
    attacked.wait_for(5)
    for _ in range(PLAN.workers - 1):
        attacked.worker()
    # Attacks are spread over the crawl: the next one when the next part of the pages has been asked for.
    attacks = ["kill"] * PLAN.kills + ["server"] * PLAN.server_kills + ["freeze"]
    attacked.random.shuffle(attacks)
    # While the queue still grows, a server runs full by itself.
    attacks.insert(1, "full")
    while_full = 0
    for number, attack in enumerate(attacks, 1):
        attacked.wait_for(PLAN.pages * number // (len(attacks) + 2))
        if attack == "kill":
            attacked.kill()
        elif attack == "server":
            attacked.kill_server(PLAN.cut)
        elif attack == "freeze":
            attacked.freeze()
        else:
            while_full = attacked.fill_server()
    assert set(attacked.ended()) == {0}, (attacked.folder / "errors.log").read_text()[-2000:]

    fetched = attacked.fetched()
    assert set(fetched) == {f"/p/{n}" for n in range(PLAN.pages)}, "no page was lost"
    assert len(attacked.kept()) == PLAN.pages
    gaps = attacked.gaps()
    hasty = [gap for gap in gaps if gap < PLAN.delay - SLACK]
    assert not hasty, f"of {len(gaps)} requests, those too soon after another: {hasty}"
    whole = attacked.folder / "all"
    gather = [sys.executable, "-m", "topicrawl", "gather", str(whole), *map(str, attacked.directories())]
    subprocess.run(gather, check=True, stderr=subprocess.DEVNULL)
    assert len(attacked.kept(whole)) == PLAN.pages
    if FULL:
        # In the short one the pause is too short to be sure of that.
        assert not while_full, "nothing is asked for while the server is full"
        again = sum(fetched.values()) - PLAN.pages
        sys.stdout.write(
            f"{PLAN.pages} pages, {attacks}: none lost, {again} fetched again, closest requests to a host "
            f"{gaps[0]:.4f} s apart (delay {PLAN.delay}), {attacked.refused()} late acknowledgements refused\n"
        )


@LONG
@pytest.mark.chaos
def test_a_wiped_server_is_never_reported_as_complete(attacked: Attacked) -> None:
    attacked.first()
    attacked.wait_for(20)
    attacked.ask("FLUSHALL")
    assert attacked.ended() == [6]
    assert "gone from Redis" in (attacked.folder / "errors.log").read_text()
    # Nor does the same command take the empty server for a new crawl.
    attacked.workers.clear()
    attacked.first()
    assert attacked.ended() == [6]
    assert (attacked.folder / NAME).exists()


@LONG
@pytest.mark.chaos
@pytest.mark.skipif(MISSING, reason=REASON)
@pytest.mark.parametrize("strategy", ["best_first", "apprentice"])
def test_four_workers_find_as_much_as_one_machine_and_mostly_the_same(strategy: str) -> None:
    script = Path(__file__).parent.parent.parent / "bench" / "cluster_same.py"
    command = [sys.executable, str(script), strategy, "--pages", "300", "--strict"]
    subprocess.run(command, check=True, timeout=600)
