"""Workers of other versions are told apart by the format of what is in Redis, and by settings they do not know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from tests.redis_server import RedisServer, running

from topicrawl import __version__
from topicrawl.errors import ClusterError
from topicrawl.frontier.contract import Rules
from topicrawl.frontier.redis_crawl import FORMAT, SharedCrawl
from topicrawl.frontier.redis_server import connected
from topicrawl.membership import invited
from topicrawl.topic import Topic


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("versions")) as server:
        yield server


async def told(address: str, name: str, **changed: str) -> dict[str, str]:
    """What workers read of a crawl that was made here, and changed as if by another version."""
    server = await connected(address)
    try:
        crawl = SharedCrawl(server, name)
        facts = {"topic": Topic.of("owls").toml(), "settings": json.dumps({"pages": 7}), "identity": "{}"}
        await crawl.make(Rules(), 0, facts)
        if changed:
            await crawl.set_facts(changed)
        return await crawl.facts()
    finally:
        await server.close()


def test_a_crawl_knows_its_format_and_the_version_that_made_it(redis: RedisServer) -> None:
    facts = asyncio.run(told(redis.address, "own"))
    assert (facts["format"], facts["version"]) == (str(FORMAT), __version__)


@pytest.mark.parametrize(
    ("format_", "line"), [(str(FORMAT + 1), "upgrade it"), ("0", "gather and start anew")], ids=["newer", "older"]
)
def test_another_format_is_refused_with_what_to_do(redis: RedisServer, format_: str, line: str) -> None:
    with pytest.raises(ClusterError) as refused:
        asyncio.run(told(redis.address, f"format-{format_}", format=format_, version="9.9.9"))
    for words in ("made by Topicrawl 9.9.9", f"format {format_}", __version__, line):
        assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_setting_of_a_newer_version_is_refused_and_one_of_an_older_version_left_out(redis: RedisServer) -> None:
    settings = json.dumps({"pages": 7, "phase_of_the_moon": 3})
    asyncio.run(told(redis.address, "newer", version="999.0.0", settings=settings))
    with pytest.raises(ClusterError, match="'phase_of_the_moon'"):
        asyncio.run(invited(redis.address, "newer", {}))
    asyncio.run(told(redis.address, "older", version="0.0.1", settings=settings))
    _, found = asyncio.run(invited(redis.address, "older", {"concurrency": 3}))
    assert (found.pages, found.concurrency) == (7, 3)
