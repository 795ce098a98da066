"""The door to Redis or Valkey: connecting, refusing a server that would lose links, and waiting out its troubles.

A server that is restarted, full or still loading is waited for; the crawl pauses meanwhile and loses nothing. One
that cannot keep the promises (too old, evicting, without a log, without permission) is refused at once.
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
from topicrawl.frontier.redis_address import advice, checked, hint, password, without_password

log = logging.getLogger("topicrawl")
Result = TypeVar("Result")

TAG = "{topicrawl}"  # one hash tag for all keys: one script may touch them all
OLDEST = (7, 0)
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # seconds between two attempts, the last again and again
_SEIZE = 30.0  # seconds for one answer
_IDLE = 1.0  # seconds after which it is looked whether a connection still leads anywhere
_PASSING = ("OOM", "MISCONF", "LOADING", "BUSY", "READONLY", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS")
_ADVICE = {
    "OOM": "Redis is full: raise its maxmemory, the crawl goes on by itself",
    "MISCONF": "Redis cannot write to its disk: make space there, the crawl goes on by itself",
    "READONLY": "this Redis has become a replica: the crawl goes on when it is the master again",
}


class Server:
    """A connection to one server that outlives the server's restarts.

    `patience`: seconds that a server in trouble is waited for before the crawl gives up.
    """

    def __init__(self, address: str, *, patience: float = 600.0) -> None:
        self.address = address
        self.shown = without_password(address)
        self.patience = patience
        self.trouble = ""  # why nothing is done at the moment, for people
        self.troubles = 0  # how often that has happened
        self.life = ""  # which run of the server answers; another after each of its restarts
        self._client = self._made()
        self._kept: Any = None  # a connection for the next call of the function
        self._used = 0.0  # when it was used last
        self.checked = False  # whether it is known to be able to keep a frontier
        self._whole = ""  # the run of the server whose log is known to be whole

    def _made(self) -> Any:
        try:
            from redis.asyncio import ConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
        except ImportError as error:
            raise SettingError("a frontier in Redis needs redis-py: pip install 'topicrawl[cluster]'") from error
        # What went wrong is decided here: the library would send a script again without asking who answers now.
        options: dict[str, Any] = {"retry": Retry(NoBackoff(), 0), "protocol": 2}
        options |= {"socket_timeout": _SEIZE, "socket_connect_timeout": _SEIZE}
        checked(self.address)
        if (secret := password(self.address)) is not None:
            options["password"] = secret
        try:
            pool = ConnectionPool.from_url(self.address, redis_connect_func=self._met, **options)
        except ValueError as error:
            raise SettingError(f"{self.shown} is no address of a Redis: write redis://host:6379/0") from error
        client = Redis.from_pool(pool)
        # Answers are taken as they come: what the library makes of them changes with its versions.
        client.response_callbacks.clear()
        return client

    async def _met(self, connection: Any) -> None:
        """Called for every new connection: it may lead to another run of the server."""
        await connection.on_connect()
        await connection.send_command("INFO", "server")
        life, self.life = self.life, "r" + info(await connection.read_response())["run_id"]
        if life not in ("", self.life):
            from redis.exceptions import ConnectionError as Unreachable

            # What was to be sent was meant for the other one; it is thought over.
            raise Unreachable("the server was started again")

    async def run(self, base: str, epoch: str, *values: str | bytes | float) -> Any:
        """Run the frontier's function: time, worker, operation, and what it needs."""
        from redis.exceptions import ResponseError

        name, text = library()

        async def called() -> Any:
            try:
                return await self._called(name, base, epoch, *values)
            except ResponseError as error:
                if "Function not found" not in str(error):
                    raise
            # Somebody has emptied the server. Whoever loads it first, it is the same, as its name says.
            await self._client.execute_command("FUNCTION", "LOAD", "REPLACE", text)
            return await self._called(name, base, epoch, *values)

        return await self.patiently(called)

    async def _called(self, name: str, base: str, epoch: str, *values: str | bytes | float) -> Any:
        """Call a function. A connection is kept for the next call: the pool looks at each one whenever it gives it."""
        from redis.exceptions import ResponseError

        pool, (kept, self._kept) = self._client.connection_pool, (self._kept, None)
        if kept is not None and time.monotonic() - self._used > _IDLE:
            await pool.release(kept)
            kept = None
        connection = kept or await pool.get_connection()
        is_whole = False
        try:
            # A new connection may lead to another life of the server, so that is looked up now.
            await connection.send_command("FCALL", name, 1, base, epoch, self.life, *values, check_health=False)
            answer = await connection.read_response()
            is_whole = True
        except ResponseError:
            is_whole = True
            raise
        finally:
            if not is_whole:
                await connection.disconnect(nowait=True)
            if is_whole and self._kept is None:
                self._kept, self._used = connection, time.monotonic()
            else:
                await pool.release(connection)
        return answer

    async def _write_log_anew(self) -> None:
        """Once in each run of the server, before anything is changed.

        A log whose end was torn inside a transaction is cut behind the last whole command, not before the transaction,
        and what is written next goes behind that: the second restart would carry out half a transaction.
        """
        from redis.exceptions import NoPermissionError, ResponseError

        life = self.life
        for pause in _PAUSES:
            facts = info(await self._client.execute_command("INFO", "persistence"))
            is_busy = facts["aof_rewrite_in_progress"] != "0" or facts["aof_rewrite_scheduled"] != "0"
            is_fresh = facts["aof_rewrites"] != "0" and facts["aof_last_bgrewrite_status"] == "ok"
            if facts["aof_enabled"] != "1" or (is_fresh and not is_busy):
                self._whole = life
                return
            if not is_busy:
                try:
                    await self._client.execute_command("BGREWRITEAOF")
                except NoPermissionError:
                    raise
                except ResponseError as error:
                    # Another worker was faster, or there is no space; the next look tells.
                    log.info("%s: %s", self.shown, error)
            await asyncio.sleep(pause)
        raise ResponseError("BUSY writing its log anew")

    async def ask(self, *command: str | bytes | float) -> Any:
        """One plain command."""
        return await self.patiently(partial(self._client.execute_command, *command))

    async def ask_all(self, commands: list[tuple[str | bytes | float, ...]]) -> list[Any]:
        """Several plain commands on one way."""

        async def asked() -> list[Any]:
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = await pipeline.execute()
            return answers

        return await self.patiently(asked)

    async def patiently(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Try until the server is well again. A script that was run and whose answer was lost may be run twice."""
        from redis.exceptions import ConnectionError as Unreachable
        from redis.exceptions import ResponseError
        from redis.exceptions import TimeoutError as Silent

        tries, since = 0, time.monotonic()
        while True:
            try:
                if self._whole != self.life and self.checked:
                    await self._write_log_anew()
                answer = await attempt()
            except (Unreachable, Silent, ResponseError) as error:
                trouble = self._passing(error)
            else:
                if tries:
                    log.warning("%s answers again", self.shown, extra={"event": "redis_well"})
                    self.trouble = ""
                return answer
            if not tries:
                self.troubles += 1
                log.warning("%s: %s", self.shown, trouble, extra={"event": "redis_trouble"})
            self.trouble = trouble
            if time.monotonic() - since >= self.patience:
                # Whoever has given up once does not wait again while it tidies up.
                self.patience = 0.0
                raise ClusterError(f"{self.shown}: {trouble}; start again with the same command when it is well")
            await asyncio.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1

    def _passing(self, error: Exception) -> str:
        """What is wrong, if it may pass; else it is raised in our words."""
        from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

        text = str(error)
        if isinstance(error, AuthenticationError | NoPermissionError) or text.startswith(("NOAUTH", "WRONGPASS")):
            raise self.refused(error) from error
        if "WIPED" in text:
            raise WipedError(
                f"{self.shown}: the state of the crawl is gone from Redis, so nobody knows what was still to be "
                "fetched; bring Redis back from a backup, or gather what was fetched and start a new crawl"
            ) from error
        if isinstance(error, ResponseError):
            # redis-py takes the first word away from errors that it knows.
            name = _NAMES.get(type(error).__name__) or text.partition(" ")[0]
            if name not in _PASSING:
                raise error
            return _ADVICE.get(name, f"Redis is busy ({text})")
        if not self.checked and (line := advice(text)):
            raise SettingError(f"{self.shown}: {line}") from error
        told = f"no answer from Redis ({text or type(error).__name__})"
        return told if self.checked else told + hint(self.address, text)

    def refused(self, error: Exception) -> SettingError:
        """The server does not let us do what we must."""
        return SettingError(
            f"{self.shown} refuses us ({error}): name a user in the address, put its password into REDISCLI_AUTH, and "
            f"give it what is needed: ACL SETUSER name on >password '~{TAG}*' {_RIGHTS}"
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()
        await self._client.connection_pool.disconnect()


_RIGHTS = "+@all -@admin -@dangerous +info +keys +bgrewriteaof"
_TRY = "return redis.call('HSET', KEYS[1], 'a', 1) + redis.call('DEL', KEYS[1])"
_NAMES = {"OutOfMemoryError": "OOM", "BusyLoadingError": "LOADING", "ReadOnlyError": "READONLY"}


async def connected(address: str, *, patience: float = 600.0) -> Server:
    """A server that can keep a frontier; one that cannot is refused with the line that mends it."""
    server = Server(address, patience=0.0)
    try:
        check(info(await server.ask("INFO")), server.shown)
        server.checked = True
        # One that is full or still loading is waited for, as it would be later on.
        server.patience = patience
        await server.ask("EVAL", _TRY, 1, f"{TAG}:try")
        name, text = library()
        if not await server.ask("FUNCTION", "LIST", "LIBRARYNAME", name):
            await server.ask("FUNCTION", "LOAD", "REPLACE", text)
    except BaseException:
        await server.close()
        raise
    return server


def check(facts: Mapping[str, str], shown: str) -> None:
    """Refuse a server that would lose links, from what `INFO` says of it.

    >>> good = {"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1", "role": "master"}
    >>> check(good, "redis://r")
    >>> check({**good, "redis_version": "6.2.1"}, "redis://r")
    Traceback (most recent call last):
    topicrawl.errors.SettingError: redis://r is version 6.2.1: upgrade it to Redis 7.0 or Valkey, or newer
    """
    version = facts.get("valkey_version") or facts.get("redis_version", "0")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise SettingError(f"{shown} is version {version}: upgrade it to Redis 7.0 or Valkey, or newer")
    if facts.get("cluster_enabled") == "1":
        raise SettingError(f"{shown} is one node of a Redis Cluster: name a server that is not sharded")
    if facts.get("role", "master") != "master":
        raise SettingError(f"{shown} is a replica: name its master ({facts.get('master_host', 'unknown')})")
    policy = facts.get("maxmemory_policy", "")
    if policy != "noeviction":
        raise SettingError(
            f"{shown} throws keys away when it is full ({policy}), and links with them: "
            "redis-cli CONFIG SET maxmemory-policy noeviction"
        )
    if facts.get("aof_enabled") != "1":
        raise SettingError(
            f"{shown} keeps no log on its disk, a restart would lose the crawl: redis-cli CONFIG SET appendonly yes"
        )


def info(answer: bytes) -> dict[str, str]:
    """What `INFO` says, by name.

    >>> info(b"# Server\\r\\nredis_version:7.0.15\\r\\n")
    {'redis_version': '7.0.15'}
    """
    pairs = (line.partition(":") for line in answer.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in pairs}


@cache
def library() -> tuple[str, str]:
    """The name of the frontier's function, and the text of its library.

    The server keeps the library, and each text has a name of its own: workers of another version have theirs beside it.
    """
    folder = files("topicrawl.frontier") / "lua"
    # One text, whose parts stand in files of their own, in the order of their numbers.
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".lua")), key=lambda part: part.name)
    text = "\n".join(part.read_text("utf-8") for part in parts)
    name = f"topicrawl_{xxh3_64_hexdigest(text.encode())}"
    return name, text.replace("topicrawl_frontier", name)
