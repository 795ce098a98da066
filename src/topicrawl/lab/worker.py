"""A process that makes one run after the other, each in a child of its own; requests and answers are lines of JSON.

A child's memory and its crash are its own, so that what is measured does not depend on the runs before, and a run that
dies takes nothing with it. The process is started by `pool`; it ends when nobody is left to ask.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import IO, Any

_LONGEST_LINE = 64 << 20  # bytes: a run names all its targets
_UNIT = 1024 if sys.platform == "darwin" else 1  # macOS counts memory in bytes, others in kibibytes

Request = Mapping[str, Any]
Answer = dict[str, Any]


async def answers(requests: Iterable[Request], jobs: int) -> AsyncIterator[tuple[int, Answer]]:
    """The answer to each request with the request's number, in the order in which they come."""
    listed = list(requests)
    jobs, waiting = min(jobs, len(listed)), iter(enumerate(listed))
    done: asyncio.Queue[tuple[int, Answer] | None] = asyncio.Queue()
    workers = [asyncio.create_task(_served(waiting, done)) for _ in range(jobs)]
    ended = 0
    try:
        while ended < jobs:
            if (answer := await done.get()) is None:
                ended += 1
            else:
                yield answer
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _served(waiting: Iterable[tuple[int, Request]], done: asyncio.Queue[tuple[int, Answer] | None]) -> None:
    """Put requests to one worker process until there are none left."""
    # A session of its own: an interrupt at the terminal is for the one who asks.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE, start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for number, request in waiting:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
            await done.put((number, json.loads(line) if line else {"failure": "the process that ran it has ended"}))
            if not line:
                break
    finally:
        done.put_nowait(None)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await process.wait()


def main() -> None:
    """Answer requests on standard input until it ends."""
    from topicrawl import strategies
    from topicrawl.lab import run

    strategies.available()  # what every child would load is loaded once
    for line in sys.stdin.buffer:
        answer = _in_a_child(run.ran, json.loads(line))
        if answer is None:
            return
        try:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever asked was killed. Nothing more can be said, not even at the interpreter's end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return


def _in_a_child(made: Any, request: Request) -> Answer | None:
    """What a child of this process answers, and what it took. None: this is the child, and it is done."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.dup2(said.fileno(), 2)
            with open(writer, "wb") as file:
                file.write(json.dumps(made(request)).encode())
            return None
        os.close(writer)
        with open(reader, "rb") as file:
            data = file.read()
        _, status, used = os.wait4(child, 0)
        if status != 0:
            return {"failure": _last_words(status, said)}
    answer: Answer = json.loads(data)
    return answer | {"memory": round(used.ru_maxrss / _UNIT / 1024, 1)}


def _last_words(status: int, said: IO[bytes]) -> str:
    """Why a child has died, in one line."""
    if os.WIFSIGNALED(status):
        return f"the run was ended by signal {os.WTERMSIG(status)}"
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").strip().splitlines()
    return f"the run broke off: {lines[-1] if lines else f'exit code {os.waitstatus_to_exitcode(status)}'}"


if __name__ == "__main__":
    main()
