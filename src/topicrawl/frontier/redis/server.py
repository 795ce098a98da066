"""Connection to Redis or Valkey: check the server, call the frontier function, and wait during outages.

If the server is restarting, full or still loading, the connection waits; the crawl pauses meanwhile and loses nothing.
A server that cannot give the required guarantees (too old, evicting keys, without an append-only file, without
permission) is rejected immediately.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar

from xxhash import xxh3_64_hexdigest

from topicrawl.errors import ClusterError, SettingError, WipedError
from topicrawl.frontier.redis.address import (
    check_address,
    find_password,
    get_connection_advice,
    get_connection_hint,
    strip_password,
)

log = logging.getLogger("topicrawl")
Result = TypeVar("Result")

HASH_TAG = "{topicrawl}"  # one hash tag for all keys, so that one script may access them all
MIN_VERSION = (7, 0)
_RETRY_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # seconds between two attempts; the last one repeats
_RESPONSE_TIMEOUT = 30.0  # seconds until a missing reply is an error
_MAX_IDLE_SECONDS = 1.0  # seconds after which an idle connection goes back to the pool, which checks it
_TRANSIENT_ERRORS = ("OOM", "MISCONF", "LOADING", "BUSY", "READONLY", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS")
_ERROR_ADVICE = {
    "OOM": "Redis is full: raise its maxmemory; the crawl then continues automatically",
    "MISCONF": "Redis cannot write to its disk: free some space; the crawl then continues automatically",
    "READONLY": "this Redis has become a replica: the crawl continues when it is the master again",
}


class RedisConnection:
    """Connection to one server that survives restarts of the server.

    `outage_timeout` is the number of seconds that an outage may last before a call raises `ClusterError`.
    """

    def __init__(self, address: str, *, outage_timeout: float = 600.0) -> None:
        self.address = address
        self.display_address = strip_password(address)
        self.outage_timeout = outage_timeout
        self.outage = ""  # message of the current outage, for users
        self.outage_count = 0  # number of outages so far
        self.run_id = ""  # identifier of the server process, which changes with each restart
        self._client = self._create_client()
        self._idle_connection: Any = None  # connection that the next function call reuses
        self._last_used = 0.0  # time of its last use
        self.is_checked = False  # whether `check_server` has accepted the server
        self._rewritten_run_id = ""  # identifier of the server process whose append-only file was rewritten

    def _create_client(self) -> Any:
        """Create the redis-py client."""
        try:
            from redis.asyncio import ConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
        except ImportError as error:
            raise SettingError("a frontier in Redis needs redis-py: pip install 'topicrawl[cluster]'") from error
        # No retries by redis-py: it would resend a function call without noticing that the server was restarted.
        options: dict[str, Any] = {"retry": Retry(NoBackoff(), 0), "protocol": 2}
        options |= {"socket_timeout": _RESPONSE_TIMEOUT, "socket_connect_timeout": _RESPONSE_TIMEOUT}
        check_address(self.address)
        if (secret := find_password(self.address)) is not None:
            options["password"] = secret
        try:
            pool = ConnectionPool.from_url(self.address, redis_connect_func=self._on_connect, **options)
        except ValueError as error:
            raise SettingError(f"{self.display_address} is not a Redis address: use redis://host:6379/0") from error
        client = Redis.from_pool(pool)
        # Use the raw replies: their conversion differs between versions of redis-py.
        client.response_callbacks.clear()
        return client

    async def _on_connect(self, connection: Any) -> None:
        """Read the run id of the server on a new connection. Raise an error if the server was restarted.

        The caller then repeats the pending command, which was meant for the previous process.
        """
        await connection.on_connect()
        await connection.send_command("INFO", "server")
        previous, self.run_id = self.run_id, "r" + parse_info(await connection.read_response())["run_id"]
        if previous not in ("", self.run_id):
            from redis.exceptions import ConnectionError as Unreachable

            # The pending command was meant for the previous process: let the caller retry it.
            raise Unreachable("the server was restarted")

    async def call_function(self, key_prefix: str, epoch: str, *values: str | bytes | float) -> Any:
        """Call the frontier function. `values` are the time, the worker, the operation and its arguments.

        The function is loaded again if the server has lost it. Outages and errors are handled by `retry_outages`.
        """
        from redis.exceptions import ResponseError

        name, text = load_library()

        async def call() -> Any:
            try:
                return await self._call_function_once(name, key_prefix, epoch, *values)
            except ResponseError as error:
                if "Function not found" not in str(error):
                    raise
            # The server was flushed. Any worker may load the library, because its name identifies its text.
            await self._client.execute_command("FUNCTION", "LOAD", "REPLACE", text)
            return await self._call_function_once(name, key_prefix, epoch, *values)

        return await self.retry_outages(call)

    async def _call_function_once(self, name: str, key_prefix: str, epoch: str, *values: str | bytes | float) -> Any:
        """Call a function once. The next call reuses the connection, which saves the health check of the pool."""
        from redis.exceptions import ResponseError

        pool, (idle, self._idle_connection) = self._client.connection_pool, (self._idle_connection, None)
        if idle is not None and time.monotonic() - self._last_used > _MAX_IDLE_SECONDS:
            await pool.release(idle)
            idle = None
        connection = idle or await pool.get_connection()
        is_complete = False
        try:
            # Read the run id only now: the new connection may lead to a restarted server.
            await connection.send_command("FCALL", name, 1, key_prefix, epoch, self.run_id, *values, check_health=False)
            answer = await connection.read_response()
            is_complete = True
        except ResponseError:
            is_complete = True
            raise
        finally:
            if not is_complete:
                await connection.disconnect(nowait=True)
            if is_complete and self._idle_connection is None:
                self._idle_connection, self._last_used = connection, time.monotonic()
            else:
                await pool.release(connection)
        return answer

    async def _rewrite_log(self) -> None:
        """Rewrite the append-only file once per server process, before the first change.

        If the file ends inside a transaction, Redis truncates it after the last complete command, not before the
        transaction, and appends new commands there. The second restart would then execute half a transaction.
        """
        from redis.exceptions import NoPermissionError, ResponseError

        run_id = self.run_id
        for pause in _RETRY_PAUSES:
            status = parse_info(await self._client.execute_command("INFO", "persistence"))
            is_busy = status["aof_rewrite_in_progress"] != "0" or status["aof_rewrite_scheduled"] != "0"
            is_fresh = status["aof_rewrites"] != "0" and status["aof_last_bgrewrite_status"] == "ok"
            if status["aof_enabled"] != "1" or (is_fresh and not is_busy):
                self._rewritten_run_id = run_id
                return
            if not is_busy:
                try:
                    await self._client.execute_command("BGREWRITEAOF")
                except NoPermissionError:
                    raise
                except ResponseError as error:
                    # Another worker may have started the rewrite, or the disk is full: check the status again.
                    log.info("%s: %s", self.display_address, error)
            await asyncio.sleep(pause)
        raise ResponseError("BUSY rewriting the append-only file")

    async def execute(self, *command: str | bytes | float) -> Any:
        """Execute one Redis command and return the raw reply. Outages and errors are handled by `retry_outages`."""
        return await self.retry_outages(partial(self._client.execute_command, *command))

    async def execute_all(self, commands: list[tuple[str | bytes | float, ...]]) -> list[Any]:
        """Execute several Redis commands in one round trip, without a transaction. Return their raw replies."""

        async def send() -> list[Any]:
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            replies: list[Any] = await pipeline.execute()
            return replies

        return await self.retry_outages(send)

    async def retry_outages(self, operation: Callable[[], Awaitable[Result]]) -> Result:
        """Repeat an operation until the outage of the server ends. Return its result.

        Raise `ClusterError` after `outage_timeout` seconds, `SettingError` for a missing permission, and `WipedError`
        if the crawl is gone. An operation whose reply was lost may be executed twice.
        """
        from redis.exceptions import ConnectionError as Unreachable
        from redis.exceptions import ResponseError
        from redis.exceptions import TimeoutError as Silent

        tries, since = 0, time.monotonic()
        while True:
            try:
                if self._rewritten_run_id != self.run_id and self.is_checked:
                    await self._rewrite_log()
                answer = await operation()
            except (Unreachable, Silent, ResponseError) as error:
                outage = self._describe_outage(error)
            else:
                if tries:
                    log.warning("%s is available again", self.display_address, extra={"event": "redis_well"})
                    self.outage = ""
                return answer
            if not tries:
                self.outage_count += 1
                log.warning("%s: %s", self.display_address, outage, extra={"event": "redis_trouble"})
            self.outage = outage
            if time.monotonic() - since >= self.outage_timeout:
                # After the first failure, do not wait again during cleanup.
                self.outage_timeout = 0.0
                raise ClusterError(
                    f"{self.display_address}: {outage}; run the same command again when the server is available"
                )
            await asyncio.sleep(_RETRY_PAUSES[min(tries, len(_RETRY_PAUSES) - 1)])
            tries += 1

    def _describe_outage(self, error: Exception) -> str:
        """Return the message of a temporary error. Raise all other errors, with advice where possible."""
        from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

        text = str(error)
        if isinstance(error, AuthenticationError | NoPermissionError) or text.startswith(("NOAUTH", "WRONGPASS")):
            raise self.build_permission_error(error) from error
        if "WIPED" in text:
            raise WipedError(
                f"{self.display_address}: the state of the crawl is gone from Redis, "
                "so the links still to be fetched are "
                "unknown; restore Redis from a backup, or gather the fetched pages and start a new crawl"
            ) from error
        if isinstance(error, ResponseError):
            # redis-py removes the error code from errors that it knows.
            code = _ERROR_CODES.get(type(error).__name__) or text.partition(" ")[0]
            if code not in _TRANSIENT_ERRORS:
                raise error
            return _ERROR_ADVICE.get(code, f"Redis is busy ({text})")
        if not self.is_checked and (line := get_connection_advice(text)):
            raise SettingError(f"{self.display_address}: {line}") from error
        message = f"no answer from Redis ({text or type(error).__name__})"
        return message if self.is_checked else message + get_connection_hint(self.address, text)

    def build_permission_error(self, error: Exception) -> SettingError:
        """Return the error for a missing permission or a wrong password."""
        return SettingError(
            f"{self.display_address} denies access ({error}): put a user name into the address and its password into "
            f"REDISCLI_AUTH, and grant its permissions: ACL SETUSER name on >password '~{HASH_TAG}*' {_ACL_RULES}"
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        await self._client.connection_pool.disconnect()


_ACL_RULES = "+@all -@admin -@dangerous +info +keys +bgrewriteaof"
_WRITE_TEST = "return redis.call('HSET', KEYS[1], 'a', 1) + redis.call('DEL', KEYS[1])"
_ERROR_CODES = {"OutOfMemoryError": "OOM", "BusyLoadingError": "LOADING", "ReadOnlyError": "READONLY"}


async def connect_redis(address: str, *, outage_timeout: float = 600.0) -> RedisConnection:
    """Connect to a server, check it, and load the frontier function.

    Raise SettingError with advice if the server cannot store a frontier, and `ClusterError` if it does not answer.
    """
    server = RedisConnection(address, outage_timeout=0.0)
    try:
        check_server(parse_info(await server.execute("INFO")), server.display_address)
        server.is_checked = True
        # From here on, wait if the server is full or still loading, as during the crawl.
        server.outage_timeout = outage_timeout
        await server.execute("EVAL", _WRITE_TEST, 1, f"{HASH_TAG}:try")
        name, text = load_library()
        if not await server.execute("FUNCTION", "LIST", "LIBRARYNAME", name):
            await server.execute("FUNCTION", "LOAD", "REPLACE", text)
    except BaseException:
        await server.close()
        raise
    return server


def check_server(info: Mapping[str, str], display_address: str) -> None:
    """Raise SettingError if the server would lose links, based on its `INFO` reply.

    >>> good = {"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1", "role": "master"}
    >>> check_server(good, "redis://r")
    >>> check_server({**good, "redis_version": "6.2.1"}, "redis://r")
    Traceback (most recent call last):
    topicrawl.errors.SettingError: redis://r is version 6.2.1: upgrade it to Redis 7.0 or Valkey, or newer
    """
    version = info.get("valkey_version") or info.get("redis_version", "0")
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VERSION:
        raise SettingError(f"{display_address} is version {version}: upgrade it to Redis 7.0 or Valkey, or newer")
    if info.get("cluster_enabled") == "1":
        raise SettingError(f"{display_address} is one node of a Redis Cluster: use a server that is not sharded")
    if info.get("role", "master") != "master":
        raise SettingError(f"{display_address} is a replica: use its master ({info.get('master_host', 'unknown')})")
    policy = info.get("maxmemory_policy", "")
    if policy != "noeviction":
        raise SettingError(
            f"{display_address} evicts keys when it is full ({policy}), which would lose links: "
            "run redis-cli CONFIG SET maxmemory-policy noeviction"
        )
    if info.get("aof_enabled") != "1":
        raise SettingError(
            f"{display_address} has no append-only file, so a restart would lose the crawl: "
            "run redis-cli CONFIG SET appendonly yes"
        )


def parse_info(answer: bytes) -> dict[str, str]:
    """Parse the reply of `INFO` into a dictionary.

    >>> parse_info(b"# Server\\r\\nredis_version:7.0.15\\r\\n")
    {'redis_version': '7.0.15'}
    """
    pairs = (line.partition(":") for line in answer.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in pairs}


@cache
def load_library() -> tuple[str, str]:
    """Return the name of the frontier function and the source text of its library.

    The name contains a hash of the text, so that workers of different versions can use their own library on one server.
    """
    folder = files("topicrawl.frontier.redis") / "lua"
    # The library consists of several files, which are joined in the order of their numbers.
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".lua")), key=lambda part: part.name)
    text = "\n".join(part.read_text("utf-8") for part in parts)
    name = f"topicrawl_{xxh3_64_hexdigest(text.encode())}"
    return name, text.replace("topicrawl_frontier", name)
