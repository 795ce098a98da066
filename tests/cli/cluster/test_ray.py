"""Workers on a local Ray cluster: killed workers are restarted, no page is lost, no process remains."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.redis_server import RedisServer, running

from topicrawl.cluster.ray_launcher import LaunchConfig, launch_workers


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(tmp_path / "redis") as server:
        yield server


@pytest.mark.chaos
@pytest.mark.filterwarnings("default")
def test_a_killed_worker_is_restarted_and_no_page_is_lost(run: Any, tmp_path: Path, redis: RedisServer) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'topicrawl[ray]'")
    import ray as real

    real.init(address="local", num_cpus=2, object_store_memory=80 << 20, include_dashboard=False, log_to_driver=False)
    killed: list[int] = []
    with live_site(make_chain_site(30)) as (site, asked):
        options = ("--delay", 0.2, "--allow-net", "127.0.0.0/8", "--min-free", 0, "--frontier", redis.address)
        assert run("crawl", "dengue fever", "--out", "owls", "--seed", f"{site}/0", "--pages", 1, *options).code == 0
        assert run("crawl", "--out", "owls", "--pages", 0, "--seconds", 0.1).code == 0

        def is_over() -> bool:
            if len(asked) > 5 and len(killed) < 2 and (found := workers(tmp_path, redis.address)):
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
            return False

        news = list(launch_workers(real, LaunchConfig(redis.address, "owls", 1, folder=str(tmp_path)), is_over))
    real.shutdown()
    assert len(killed) == 2
    assert [one.code for one in news if one.code is not None] == [-9, -9, 0]
    assert {f"/{n}" for n in range(30)} <= set(asked)
    assert not workers(tmp_path, redis.address)


def workers(folder: Path, address: str) -> list[int]:
    """Return the ids of the worker processes of this crawl, without the processes of Ray itself."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-m" in words and b"worker" in words and address.encode() in words:
            found.append(int(path.parent.name))
    return found
