"""Version checks of shared crawls: format of the data in Redis, and unknown settings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from tests.helpers.redis_server import RedisServer, running

from topicrawl import __version__
from topicrawl.cluster.worker_session import load_crawl_config
from topicrawl.errors import ClusterError
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.redis.server import connect_redis
from topicrawl.frontier.redis.shared_crawl import FORMAT_VERSION, SharedCrawl
from topicrawl.topic import Topic


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("versions")) as server:
        yield server


async def create_crawl(address: str, name: str, **changed: str) -> dict[str, str]:
    """Create a crawl, change its facts as another version would, and return them."""
    server = await connect_redis(address)
    try:
        crawl = SharedCrawl(server, name)
        facts = {"topic": Topic.of("owls").to_toml(), "settings": json.dumps({"pages": 7}), "identity": "{}"}
        await crawl.create(FrontierRules(), 0, facts)
        if changed:
            await crawl.set_facts(changed)
        return await crawl.get_facts()
    finally:
        await server.close()


def test_a_crawl_records_its_format_and_version(redis: RedisServer) -> None:
    facts = asyncio.run(create_crawl(redis.address, "own"))
    assert (facts["format"], facts["version"]) == (str(FORMAT_VERSION), __version__)


@pytest.mark.parametrize(
    ("format_", "line"),
    [(str(FORMAT_VERSION + 1), "upgrade Topicrawl"), ("0", "gather and start a new crawl")],
    ids=["newer", "older"],
)
def test_another_format_is_refused_with_advice(redis: RedisServer, format_: str, line: str) -> None:
    with pytest.raises(ClusterError) as refused:
        asyncio.run(create_crawl(redis.address, f"format-{format_}", format=format_, version="9.9.9"))
    for words in ("created by Topicrawl 9.9.9", f"format {format_}", __version__, line):
        assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_setting_of_a_newer_version_is_refused_and_one_of_an_older_version_ignored(
    redis: RedisServer,
) -> None:
    settings = json.dumps({"pages": 7, "phase_of_the_moon": 3})
    asyncio.run(create_crawl(redis.address, "newer", version="999.0.0", settings=settings))
    with pytest.raises(ClusterError, match="'phase_of_the_moon'"):
        asyncio.run(load_crawl_config(redis.address, "newer", {}))
    asyncio.run(create_crawl(redis.address, "older", version="0.0.1", settings=settings))
    _, config = asyncio.run(load_crawl_config(redis.address, "older", {"concurrency": 3}))
    assert (config.pages, config.concurrency) == (7, 3)
