"""Redis frontier: server checks, outages, leases of several workers, and encoding."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.helpers.redis_server import MISSING, REASON, RedisServer, running

from topicrawl.errors import ClusterError, SettingError, WipedError
from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.host_leases import CONFIRMATION_SECONDS
from topicrawl.frontier.redis.links import decode_closed_link, encode_link_text, url_fingerprint
from topicrawl.frontier.redis.server import RedisConnection, check_server, connect_redis
from topicrawl.frontier.redis.shared_crawl import build_initial_facts
from topicrawl.models import Link, Priority

GOOD = {"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1", "role": "master"}
needs_redis = pytest.mark.skipif(MISSING, reason=REASON)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"redis_version": "6.2.14"}, "upgrade it to Redis 7.0"),
        ({"maxmemory_policy": "allkeys-lru"}, "CONFIG SET maxmemory-policy noeviction"),
        ({"aof_enabled": "0"}, "CONFIG SET appendonly yes"),
        ({"role": "slave", "master_host": "10.0.0.7"}, "use its master (10.0.0.7)"),
        ({"cluster_enabled": "1"}, "not sharded"),
    ],
    ids=["old", "evicting", "without a log", "replica", "sharded"],
)
def test_a_server_that_would_lose_links_is_refused_with_advice(wrong: dict[str, str], line: str) -> None:
    check_server(GOOD, "redis://r")
    with pytest.raises(SettingError) as refused:
        check_server(GOOD | wrong, "redis://r")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_valkey_is_accepted() -> None:
    check_server(GOOD | {"redis_version": "7.2.4", "valkey_version": "8.0.1"}, "redis://r")


def test_an_old_server_is_refused_before_any_other_command() -> None:
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while words := await reader.readline():
            command = []
            for _ in range(int(words[1:])):
                length = int((await reader.readline())[1:])
                command.append((await reader.readexactly(length + 2)).strip())
            received.append(command[0])
            reply = b"redis_version:6.2.14\r\nrun_id:old\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
            writer.write(b"$%d\r\n%b\r\n" % (len(reply), reply) if command[0] == b"INFO" else b"+OK\r\n")
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            with pytest.raises(SettingError, match="upgrade it to Redis"):
                await connect_redis(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")

    asyncio.run(run())
    assert set(received) <= {b"INFO", b"CLIENT", b"SELECT", b"HELLO"}


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
)
def test_an_unsuitable_server_is_refused_immediately(
    tmp_path: Path, options: tuple[str, ...], user: str, line: str
) -> None:
    with running(tmp_path, *options) as server:
        address = server.address.replace("//", f"//{user}")
        with pytest.raises(SettingError, match=line) as refused:
            asyncio.run(connect_redis(address))
    assert "secret" not in str(refused.value)
    assert "wrong@" not in str(refused.value)


@needs_redis
def test_a_user_with_the_recommended_permissions_is_accepted(tmp_path: Path) -> None:
    rule = "worker on >pw ~{topicrawl}* +@all -@admin -@dangerous +info +keys +bgrewriteaof"
    with running(tmp_path, "--user", *rule.split()) as server:
        asyncio.run(run_two_workers(server.address.replace("//", "//worker:pw@"), complete_one_page))


@needs_redis
def test_the_function_is_reloaded_after_a_function_flush(tmp_path: Path) -> None:
    async def twice(first: RedisFrontier, second: RedisFrontier) -> None:
        await complete_one_page(first, second)
        await first.connection.execute("FUNCTION", "FLUSH", "SYNC")
        assert await second.add([Offer(Link("http://c.org/"), Priority(0.5))]) == 1
        assert [lease.link.url for lease in await first.lease(2)] == ["http://c.org/", "http://b.org/"]

    with running(tmp_path) as server:
        asyncio.run(run_two_workers(server.address, twice))


def test_a_missing_server_is_reported() -> None:
    with pytest.raises(ClusterError, match="no answer from Redis"):
        asyncio.run(connect_redis("redis://127.0.0.1:1/0"))


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(SettingError, match="redis://host:6379/0"):
        asyncio.run(connect_redis("http://127.0.0.1/"))


async def run_two_workers(
    address: str, use: Callable[[RedisFrontier, RedisFrontier], Awaitable[None]], rules: FrontierRules | None = None
) -> None:
    """Call `use` with two workers of a new crawl."""
    servers = [await connect_redis(address) for _ in range(2)]
    facts = build_initial_facts(rules or FrontierRules(delay=0.0, parallel=0, lease_seconds=60.0))
    base = f"{{topicrawl}}:{facts['epoch']}"
    await servers[0].execute("HSET", f"{base}:c", *(text for pair in facts.items() for text in pair))
    first, second = (RedisFrontier(server, base, facts["epoch"], f"w{n}") for n, server in enumerate(servers))
    try:
        await use(first, second)
    finally:
        for server in servers:
            await server.close()


async def wait_for_outage(frontier: RedisFrontier) -> None:
    """Wait until a worker has noticed the outage of its server."""
    for _ in range(3000):
        if frontier.connection.outage:
            return
        await asyncio.sleep(0.01)


async def complete_one_page(first: RedisFrontier, second: RedisFrontier) -> None:
    assert await first.add([Offer(Link("http://a.org/"), Priority(0.5))]) == 1
    (lease,) = await second.lease(5)
    assert await first.lease(5) == []
    assert await second.complete(lease, "fetched", [Offer(Link("http://b.org/"), Priority(0.1))])
    assert not await second.complete(lease, "fetched")
    assert [entry.link.url for entry in await first.get_best_entries(9)] == ["http://b.org/"]


@needs_redis
def test_an_expired_lease_goes_to_another_worker_and_is_rejected_from_the_first(redis_server: RedisServer) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        await first.add([Offer(Link("http://a.org/"), Priority(0.5))])
        (stale,) = await first.lease(1)
        # Let the lease expire now instead of waiting.
        await first.connection.execute("ZADD", f"{first.key_prefix}:ends", 1, url_fingerprint(stale.link.url))
        (lease,) = await second.lease(1)
        assert (lease.link.url, lease.attempts) == ("http://a.org/", 2)
        assert not await first.complete(stale, "fetched", [Offer(Link("http://b.org/"), Priority(0.5))])
        assert await first.get_entry("http://b.org/") is None
        assert await second.complete(lease, "fetched")

    asyncio.run(run_two_workers(redis_server.address, use, FrontierRules(delay=0.0, lease_seconds=60.0)))


@needs_redis
def test_scores_are_compared_exactly_and_equal_scores_keep_the_order_of_discovery(
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

    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        urls = {f"http://h{n}.org/": score for n, score in enumerate(scores)}
        await first.add([Offer(Link(url), Priority(score)) for url, score in urls.items()])
        # A second link of a host improves its rank.
        await second.add(
            [Offer(Link("http://h5.org/best"), Priority(1e301)), Offer(Link("http://h0.org/worse"), Priority(-9.0))]
        )
        leases = [lease for n in (1, 2, 12) for lease in await second.lease(n)]
        best = sorted(urls, key=urls.__getitem__, reverse=True)
        assert [lease.link.url for lease in leases] == ["http://h5.org/best", *best]

    asyncio.run(run_two_workers(redis_server.address, use, FrontierRules(delay=0.0, parallel=0)))


@needs_redis
def test_a_closed_worker_releases_only_its_own_leases(redis_server: RedisServer) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        await first.add([Offer(Link(f"http://{name}.org/"), Priority(0.5)) for name in "abc"])
        assert len(await first.lease(2)) == 2
        (lease,) = await second.lease(2)
        await first.close()
        assert (await second.get_counts()).leased == 1
        assert await second.complete(lease, "fetched")

    asyncio.run(run_two_workers(redis_server.address, use))


async def list_done(frontier: RedisFrontier) -> dict[str, str]:
    return {entry.link.url: entry.link.anchor async for batch in frontier.iterate_done() for entry in batch}


@needs_redis
def test_links_of_a_worker_are_kept_until_it_has_synced_their_pages(redis_server: RedisServer) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        async def fetch(worker: RedisFrontier, name: str) -> None:
            await worker.add([Offer(Link(f"http://{name}.org/", anchor=name), Priority(0.5, {"level": 1}))])
            (lease,) = await worker.lease(1)
            assert await worker.complete(lease, "fetched")

        await fetch(first, "a")
        await fetch(second, "b")
        await first.mark_done(["http://final.org/"], "fetched")
        await first.mark_done(["http://hop.org/"], "moved http://final.org/")
        assert await list_done(first) == {"http://a.org/": "a", "http://final.org/": ""}
        ((entry,),) = [list(batch) async for batch in second.iterate_done()]
        assert (entry.priority, entry.reason, entry.state) == (Priority(0.5, {"level": 1}), "fetched", "done")
        await first.confirm_stored()
        await fetch(first, "c")
        assert set(await list_done(first)) == {"http://a.org/", "http://final.org/", "http://c.org/"}
        await first.confirm_stored()
        assert await list_done(first) == {"http://c.org/": "c"}
        await first.confirm_stored()
        assert await list_done(first) == {}
        assert await list_done(second) == {"http://b.org/": "b"}

    asyncio.run(run_two_workers(redis_server.address, use))


@needs_redis
def test_a_confirmation_that_arrives_twice_has_no_effect(redis_server: RedisServer) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        await first.mark_done(["http://a.org/"], "fetched")
        for _ in range(2):
            await first._call_function("confirm_stored", "the same confirmation")
        assert await list_done(first) == {"http://a.org/": ""}

    asyncio.run(run_two_workers(redis_server.address, use))


@needs_redis
def test_a_reopened_page_does_not_count_towards_the_page_limit(redis_server: RedisServer) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        offer = Offer(Link("http://a.org/"), Priority(0.5))
        await first.add([offer])
        (lease,) = await first.lease(1)
        await first.complete(lease, "fetched")
        assert first.stored_pages == 1
        await first.reopen([offer])
        assert (await first.send_heartbeat("{}")).stored_pages == 0

    asyncio.run(run_two_workers(redis_server.address, use))


@needs_redis
def test_a_wiped_state_is_never_treated_as_an_empty_frontier(tmp_path: Path) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        await first.add([Offer(Link("http://a.org/"), Priority(0.5))])
        await second.connection.execute("FLUSHALL")
        for call in (first.seconds_until_ready(), first.lease(1), second.add([])):
            with pytest.raises(WipedError, match="gone from Redis"):
                await call
        assert WipedError.exit_code not in (0, ClusterError.exit_code)

    with running(tmp_path) as server:
        asyncio.run(run_two_workers(server.address, use))


@needs_redis
def test_workers_wait_for_a_full_server_and_for_a_killed_server(tmp_path: Path) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        await first.add([Offer(Link("http://a.org/"), Priority(0.5))])
        (lease,) = await first.lease(1)
        await second.connection.execute("CONFIG", "SET", "maxmemory", 1)
        task = asyncio.create_task(first.complete(lease, "fetched", [Offer(Link("http://b.org/"), Priority(0.5))]))
        await wait_for_outage(first)
        assert "raise its maxmemory" in first.connection.outage
        await second.connection.execute("CONFIG", "SET", "maxmemory", 0)
        assert await task
        server.kill()
        task = asyncio.create_task(first.get_entry("http://b.org/"))
        await wait_for_outage(first)
        await asyncio.to_thread(server.start)
        assert (await task).state == "waiting"
        # The log may have lost its end, including the lease of a worker that is about to send a request.
        assert await first.lease(1) == []
        assert 0 < await first.seconds_until_ready() <= CONFIRMATION_SECONDS

    with running(tmp_path) as server:
        asyncio.run(run_two_workers(server.address, use))


@needs_redis
def test_a_log_truncated_inside_a_transaction_is_never_executed_partially(tmp_path: Path) -> None:
    """Redis would execute the rest of such a transaction at the second restart."""

    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        await first.add([Offer(Link("http://a.org/"), Priority(0.5))])
        await first.add([Offer(Link(f"http://b.org/{n}"), Priority(0.9)) for n in range(5)])
        server.kill()
        os.truncate(server.log, server.log.stat().st_size - 20)
        await asyncio.to_thread(server.start)
        await second.add([Offer(Link("http://c.org/"), Priority(0.1))])
        server.kill()
        await asyncio.to_thread(server.start)
        assert [entry.link.url for entry in await first.get_best_entries(9)] == ["http://a.org/", "http://c.org/"]

    # Without this option a busy disk may lose more than the test cuts off.
    with running(tmp_path, "--appendfsync", "always") as server:
        asyncio.run(run_two_workers(server.address, use))


@needs_redis
def test_buckets_of_known_links_are_split_as_they_fill(redis_server: RedisServer) -> None:
    async def use(first: RedisFrontier, second: RedisFrontier) -> None:
        urls = [f"http://a.org/{n}" for n in range(2500)]
        for at in range(0, 2500, 500):
            await first.mark_done(urls[at : at + 500], "fetched")
        buckets = int(await first.connection.execute("HGET", f"{first.key_prefix}:c", "buckets"))
        sizes = [await first.connection.execute("HLEN", f"{first.key_prefix}:known:{n}") for n in range(buckets)]
        assert buckets == 13
        assert sum(sizes) == 2500
        assert max(sizes) < 512
        for url in urls[::50]:
            entry = await second.get_entry(url)
            assert entry is not None
            assert (entry.state, entry.reason) == ("done", "fetched")

    asyncio.run(run_two_workers(redis_server.address, use))


def test_lone_surrogates_are_replaced() -> None:
    assert encode_link_text(Link("http://a/x", "http://b/", "\ud800")) == b"0\0http://a/x\0http://b/\0?"


def test_a_lost_reason_is_reported_as_unknown() -> None:
    assert decode_closed_link("http://a/", b"12", {}).reason == "unknown"


def test_the_displayed_address_has_no_password() -> None:
    assert RedisConnection("redis://me:secret@127.0.0.1:1/2").display_address == "redis://me@127.0.0.1:1/2"
