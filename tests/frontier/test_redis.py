"""A frontier in Redis refuses servers that would lose links, outlives their troubles, and serves many workers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.redis_server import MISSING, REASON, RedisServer, running

from topicrawl.errors import ClusterError, SettingError, WipedError
from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.redis import Redis
from topicrawl.frontier.redis_crawl import first_facts
from topicrawl.frontier.redis_links import closed, mark, text_of
from topicrawl.frontier.redis_server import Server, check, connected
from topicrawl.frontier.redis_turns import FRESH
from topicrawl.records import Link, Place

GOOD = {"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1", "role": "master"}
needs_redis = pytest.mark.skipif(MISSING, reason=REASON)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"redis_version": "6.2.14"}, "upgrade it to Redis 7.0"),
        ({"maxmemory_policy": "allkeys-lru"}, "CONFIG SET maxmemory-policy noeviction"),
        ({"aof_enabled": "0"}, "CONFIG SET appendonly yes"),
        ({"role": "slave", "master_host": "10.0.0.7"}, "name its master (10.0.0.7)"),
        ({"cluster_enabled": "1"}, "not sharded"),
    ],
    ids=["old", "evicting", "without a log", "replica", "sharded"],
)  # fmt: skip
def test_a_server_that_would_lose_links_is_refused_with_what_mends_it(wrong: dict[str, str], line: str) -> None:
    check(GOOD, "redis://r")
    with pytest.raises(SettingError) as refused:
        check(GOOD | wrong, "redis://r")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_valkey_is_as_good_as_redis() -> None:
    check(GOOD | {"redis_version": "7.2.4", "valkey_version": "8.0.1"}, "redis://r")


def test_a_server_that_says_it_is_too_old_is_refused_before_anything_is_asked_of_it() -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while words := await reader.readline():
            command = []
            for _ in range(int(words[1:])):
                length = int((await reader.readline())[1:])
                command.append((await reader.readexactly(length + 2)).strip())
            asked.append(command[0])
            said = b"redis_version:6.2.14\r\nrun_id:old\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
            writer.write(b"$%d\r\n%b\r\n" % (len(said), said) if command[0] == b"INFO" else b"+OK\r\n")
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            with pytest.raises(SettingError, match="upgrade it to Redis"):
                await connected(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")

    asyncio.run(run())
    assert set(asked) <= {b"INFO", b"CLIENT", b"SELECT", b"HELLO"}


@needs_redis
@pytest.mark.parametrize(
    ("options", "user", "line"),
    [
        (("--appendonly", "no"), "", "CONFIG SET appendonly yes"),
        (("--maxmemory-policy", "allkeys-lru"), "", "noeviction"),
        (("--requirepass", "secret"), "", "ACL SETUSER"),
        (("--requirepass", "secret"), ":wrong@", "ACL SETUSER"),
        (("--user", "reader", "on", ">pw", "~*", "+@read", "+info"), "reader:pw@", "ACL SETUSER"),
        (("--user", "writer", "on", ">pw", "~*", "+@all", "-function"), "writer:pw@", "function.*ACL SETUSER"),
    ],
    ids=["no log", "evicting", "no password", "wrong password", "no permission", "no functions"],
)  # fmt: skip
def test_a_real_server_that_will_not_do_is_refused_at_once(
    tmp_path: Path, options: tuple[str, ...], user: str, line: str
) -> None:
    with running(tmp_path, *options) as server:
        address = server.address.replace("//", f"//{user}")
        with pytest.raises(SettingError, match=line) as refused:
            asyncio.run(connected(address))
    assert "secret" not in str(refused.value)
    assert "wrong@" not in str(refused.value)


@needs_redis
def test_a_user_with_the_rights_that_the_refusal_names_will_do(tmp_path: Path) -> None:
    rule = "worker on >pw ~{topicrawl}* +@all -@admin -@dangerous +info +keys +bgrewriteaof"
    with running(tmp_path, "--user", *rule.split()) as server:
        asyncio.run(used(server.address.replace("//", "//worker:pw@"), one_page))


@needs_redis
def test_a_server_that_was_rid_of_the_function_is_given_it_again(tmp_path: Path) -> None:
    async def twice(first: Redis, second: Redis) -> None:
        await one_page(first, second)
        await first.server.ask("FUNCTION", "FLUSH", "SYNC")
        assert await second.add([Offer(Link("http://c.org/"), Place(0.5))]) == 1
        assert [lease.link.url for lease in await first.lease(2)] == ["http://c.org/", "http://b.org/"]

    with running(tmp_path) as server:
        asyncio.run(used(server.address, twice))


def test_where_nobody_answers_that_is_said() -> None:
    with pytest.raises(ClusterError, match="no answer from Redis"):
        asyncio.run(connected("redis://127.0.0.1:1/0"))


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(SettingError, match="redis://host:6379/0"):
        asyncio.run(connected("http://127.0.0.1/"))


async def used(address: str, use: Callable[[Redis, Redis], Awaitable[None]], rules: Rules | None = None) -> None:
    """Let two workers do something with a new crawl."""
    servers = [await connected(address) for _ in range(2)]
    facts = first_facts(rules or Rules(delay=0.0, parallel=0, lease_seconds=60.0))
    base = f"{{topicrawl}}:{facts['epoch']}"
    await servers[0].ask("HSET", f"{base}:c", *(text for pair in facts.items() for text in pair))
    first, second = (Redis(server, base, facts["epoch"], f"w{n}") for n, server in enumerate(servers))
    try:
        await use(first, second)
    finally:
        for server in servers:
            await server.close()


async def in_trouble(frontier: Redis) -> None:
    """Wait until a worker has noticed that its server is not well."""
    for _ in range(3000):
        if frontier.server.trouble:
            return
        await asyncio.sleep(0.01)


async def one_page(first: Redis, second: Redis) -> None:
    assert await first.add([Offer(Link("http://a.org/"), Place(0.5))]) == 1
    (lease,) = await second.lease(5)
    assert await first.lease(5) == []
    assert await second.complete(lease, "fetched", [Offer(Link("http://b.org/"), Place(0.1))])
    assert not await second.complete(lease, "fetched")
    assert [entry.link.url for entry in await first.best(9)] == ["http://b.org/"]


@needs_redis
def test_a_lease_that_is_over_is_given_to_another_worker_and_refused_from_the_first(redis_server: RedisServer) -> None:
    async def use(first: Redis, second: Redis) -> None:
        await first.add([Offer(Link("http://a.org/"), Place(0.5))])
        (stale,) = await first.lease(1)
        # Nobody sleeps here: the lease is made to end now.
        await first.server.ask("ZADD", f"{first.base}:ends", 1, mark(stale.link.url))
        (lease,) = await second.lease(1)
        assert (lease.link.url, lease.attempts) == ("http://a.org/", 2)
        assert not await first.complete(stale, "fetched", [Offer(Link("http://b.org/"), Place(0.5))])
        assert await first.find("http://b.org/") is None
        assert await second.complete(lease, "fetched")

    asyncio.run(used(redis_server.address, use, Rules(delay=0.0, lease_seconds=60.0)))


@needs_redis
def test_scores_that_differ_in_their_last_digit_are_told_apart_and_equal_ones_go_as_they_came(
    redis_server: RedisServer,
) -> None:
    scores = (
        0.5,
        -0.0,
        -1e-300,
        0.5 + 2**-53,
        0.0,
        -2.5,
        1e300,
        -2.5 - 2**-51,
        0.5,
        5e-324,
        4096.0,
        1.0,
        0.1 + 0.2,
        0.3,
    )

    async def use(first: Redis, second: Redis) -> None:
        urls = {f"http://h{n}.org/": score for n, score in enumerate(scores)}
        await first.add([Offer(Link(url), Place(score)) for url, score in urls.items()])
        # A second link of a host makes it better than it was.
        await second.add(
            [Offer(Link("http://h5.org/best"), Place(1e301)), Offer(Link("http://h0.org/worse"), Place(-9.0))]
        )
        leases = [lease for n in (1, 2, 12) for lease in await second.lease(n)]
        best = sorted(urls, key=urls.__getitem__, reverse=True)
        assert [lease.link.url for lease in leases] == ["http://h5.org/best", *best]

    asyncio.run(used(redis_server.address, use, Rules(delay=0.0, parallel=0)))


@needs_redis
def test_a_worker_that_leaves_gives_back_what_is_its_own(redis_server: RedisServer) -> None:
    async def use(first: Redis, second: Redis) -> None:
        await first.add([Offer(Link(f"http://{name}.org/"), Place(0.5)) for name in "abc"])
        assert len(await first.lease(2)) == 2
        (kept,) = await second.lease(2)
        await first.close()
        assert (await second.counts()).leased == 1
        assert await second.complete(kept, "fetched")

    asyncio.run(used(redis_server.address, use))


@needs_redis
def test_a_state_that_was_wiped_is_never_taken_for_an_empty_frontier(tmp_path: Path) -> None:
    async def use(first: Redis, second: Redis) -> None:
        await first.add([Offer(Link("http://a.org/"), Place(0.5))])
        await second.server.ask("FLUSHALL")
        for call in (first.next_ready(), first.lease(1), second.add([])):
            with pytest.raises(WipedError, match="gone from Redis"):
                await call
        assert WipedError.exit_code not in (0, ClusterError.exit_code)

    with running(tmp_path) as server:
        asyncio.run(used(server.address, use))


@needs_redis
def test_a_full_server_is_waited_for_and_a_killed_one_too(tmp_path: Path) -> None:
    async def use(first: Redis, second: Redis) -> None:
        await first.add([Offer(Link("http://a.org/"), Place(0.5))])
        (lease,) = await first.lease(1)
        await second.server.ask("CONFIG", "SET", "maxmemory", 1)
        task = asyncio.create_task(first.complete(lease, "fetched", [Offer(Link("http://b.org/"), Place(0.5))]))
        await in_trouble(first)
        assert "raise its maxmemory" in first.server.trouble
        await second.server.ask("CONFIG", "SET", "maxmemory", 0)
        assert await task
        server.kill()
        task = asyncio.create_task(first.find("http://b.org/"))
        await in_trouble(first)
        await asyncio.to_thread(server.start)
        assert (await task).state == "waiting"
        # Its log may have lost its end, and with it that a worker has a host and is about to ask it.
        assert await first.lease(1) == []
        assert 0 < await first.next_ready() <= FRESH

    with running(tmp_path) as server:
        asyncio.run(used(server.address, use))


@needs_redis
def test_a_log_that_was_torn_inside_a_transaction_is_never_carried_out_by_half(tmp_path: Path) -> None:
    """What Redis leaves of such a transaction would be carried out when the server is started a second time."""

    async def use(first: Redis, second: Redis) -> None:
        await first.add([Offer(Link("http://a.org/"), Place(0.5))])
        await first.add([Offer(Link(f"http://b.org/{n}"), Place(0.9)) for n in range(5)])
        server.kill()
        os.truncate(server.log, server.log.stat().st_size - 20)
        await asyncio.to_thread(server.start)
        await second.add([Offer(Link("http://c.org/"), Place(0.1))])
        server.kill()
        await asyncio.to_thread(server.start)
        assert [entry.link.url for entry in await first.best(9)] == ["http://a.org/", "http://c.org/"]

    # Else a busy disk may lose more than was cut off.
    with running(tmp_path, "--appendfsync", "always") as server:
        asyncio.run(used(server.address, use))


@needs_redis
def test_buckets_of_known_links_are_split_as_they_fill(redis_server: RedisServer) -> None:
    async def use(first: Redis, second: Redis) -> None:
        urls = [f"http://a.org/{n}" for n in range(2500)]
        for at in range(0, 2500, 500):
            await first.settle(urls[at : at + 500], "fetched")
        buckets = int(await first.server.ask("HGET", f"{first.base}:c", "buckets"))
        sizes = [await first.server.ask("HLEN", f"{first.base}:known:{n}") for n in range(buckets)]
        assert buckets == 13
        assert sum(sizes) == 2500
        assert max(sizes) < 512
        for url in urls[::50]:
            found: Any = await second.find(url)
            assert (found.state, found.reason) == ("done", "fetched")

    asyncio.run(used(redis_server.address, use))


def test_texts_that_utf_8_cannot_hold_are_made_fit() -> None:
    assert text_of(Link("http://a/x", "http://b/", "\ud800")) == b"0\0http://a/x\0http://b/\0?"


def test_a_reason_that_nobody_knows_any_more_is_said_to_be_unknown() -> None:
    assert closed("http://a/", b"12", {}).reason == "unknown"


def test_a_server_is_shown_without_its_password() -> None:
    assert Server("redis://me:secret@127.0.0.1:1/2").shown == "redis://me@127.0.0.1:1/2"
