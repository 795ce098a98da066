"""A shared crawl of the previous version, a Redis dump and the directory of a worker, can be resumed and exported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from tests.helpers import redis_server
from tests.helpers.markers import LONG
from tests.helpers.previous_version import extract_fixture, run_topicrawl, serve_sample_web
from tests.helpers.redis_server import RedisServer

pytestmark = pytest.mark.skipif(redis_server.MISSING, reason=redis_server.REASON)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """Start a server with the dump, then turn on its append-only file, which workers require."""
    extract_fixture("shared-crawl-0.1.tar.xz", tmp_path)
    with redis_server.running(tmp_path, "--dbfilename", "shared.rdb", "--appendonly", "no") as running:
        with redis.Redis.from_url(running.address) as client:
            client.config_set("appendonly", "yes")
        yield running


def count_exported(directory: Path) -> int:
    return len(run_topicrawl("export", directory, "--to", "jsonl", "--out", "-", "--no-card", "--all").splitlines())


def test_the_status_of_the_old_crawl_is_readable(server: RedisServer) -> None:
    (status,) = json.loads(run_topicrawl("cluster", "status", server.address, "--json"))
    assert (status["name"], status["state"], status["pages"], status["wanted"]) == ("shared", "running", 24, 24)
    assert (status["frontier"]["waiting"], status["frontier"]["hosts"]) == (180, 33)
    assert [worker["alive"] for worker in status["workers"]] == [False]


def test_the_old_directory_is_exported(tmp_path: Path, server: RedisServer) -> None:
    assert count_exported(tmp_path / "shared") == 24


@LONG
def test_a_worker_resumes_the_old_crawl(tmp_path: Path, server: RedisServer) -> None:
    directory = tmp_path / "shared"
    options = ("--frontier", f"{server.address}#shared", "--min-free", "0")
    with serve_sample_web():
        run_topicrawl("crawl", "--out", directory, "--pages", "40", *options)
    (status,) = json.loads(run_topicrawl("cluster", "status", server.address, "--json"))
    assert status["pages"] == 40
    assert count_exported(directory) == 40
