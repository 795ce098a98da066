"""Worker processes that execute the runs of a comparison. Requests and answers are lines of JSON.

A worker executes each run in a forked child process. The peak memory of a run therefore does not depend on earlier
runs, and a crash ends only that run. `run_requests` starts the workers. A worker exits when its standard input ends. If
its parent process is killed, the worker ends within a second, also during a run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from typing import IO, Any

_MAX_LINE_BYTES = 64 << 20  # bytes; a request lists all targets of its run
_CHECK_SECONDS = 1.0  # seconds between two checks whether the parent process exists
_MAXRSS_PER_KIB = 1024 if sys.platform == "darwin" else 1  # ru_maxrss is in bytes on macOS and in kibibytes elsewhere

WorkerRequest = Mapping[str, Any]
WorkerAnswer = dict[str, Any]


async def run_requests(requests: Iterable[WorkerRequest], jobs: int) -> AsyncGenerator[tuple[int, WorkerAnswer], None]:
    """Execute requests in `jobs` worker processes and yield (request number, answer) as the runs complete.

    The answer of a failed run contains its reason as `failure`.
    """
    pending = list(requests)
    jobs, waiting = min(jobs, len(pending)), iter(enumerate(pending))
    done: asyncio.Queue[tuple[int, WorkerAnswer] | None] = asyncio.Queue()
    workers = [asyncio.create_task(_feed_worker(waiting, done)) for _ in range(jobs)]
    finished = 0
    try:
        while finished < jobs:
            if (answer := await done.get()) is None:
                finished += 1
            else:
                yield answer
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _feed_worker(
    numbered_requests: Iterable[tuple[int, WorkerRequest]], results: asyncio.Queue[tuple[int, WorkerAnswer] | None]
) -> None:
    """Start one worker process and send requests to it until none is left. Put the answers into `results`.

    At the end, put None into `results` and end the process.
    """
    # The worker gets its own session, so that Ctrl-C at the terminal reaches only this process.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MAX_LINE_BYTES,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for number, request in numbered_requests:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
            await results.put((number, json.loads(line) if line else {"failure": "the worker process exited"}))
            if not line:
                break
    finally:
        results.put_nowait(None)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await process.wait()


def main() -> None:
    """Execute requests from standard input until it ends, and write the answers to standard output."""
    from topicrawl import strategies
    from topicrawl.lab import run

    strategies.list_strategies()  # import the strategies once, before the first fork
    _end_with_parent()
    for line in sys.stdin.buffer:
        answer = _run_in_child(run.execute_request, json.loads(line))
        if answer is None:
            return
        try:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            # The parent process was killed. Redirect stdout, because the interpreter flushes it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return


def _end_with_parent() -> None:
    """End this process group when the parent process no longer exists. Forked children do not inherit the timer."""
    parent = os.getppid()

    def check_parent(number: int, frame: object) -> None:
        if os.getppid() != parent:
            os.killpg(0, signal.SIGTERM)

    signal.signal(signal.SIGALRM, check_parent)
    signal.setitimer(signal.ITIMER_REAL, _CHECK_SECONDS, _CHECK_SECONDS)


def _run_in_child(execute: Any, request: WorkerRequest) -> WorkerAnswer | None:
    """Execute a request in a forked child and return its answer with the peak memory in MB.

    If the child fails, the answer contains the reason as `failure`. The function returns None in the child process,
    which must then exit.
    """
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as stderr_file:
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.dup2(stderr_file.fileno(), 2)
            with open(writer, "wb") as file:
                file.write(json.dumps(execute(request)).encode())
            return None
        os.close(writer)
        with open(reader, "rb") as file:
            data = file.read()
        _, status, usage = os.wait4(child, 0)
        if status != 0:
            return {"failure": _describe_failure(status, stderr_file)}
    answer: WorkerAnswer = json.loads(data)
    return answer | {"memory": round(usage.ru_maxrss / _MAXRSS_PER_KIB / 1024, 1)}


def _describe_failure(status: int, stderr_file: IO[bytes]) -> str:
    """Return in one line why a child process failed."""
    if os.WIFSIGNALED(status):
        return f"the run was killed by signal {os.WTERMSIG(status)}"
    stderr_file.seek(0)
    lines = stderr_file.read().decode("utf-8", "replace").strip().splitlines()
    return f"the run failed: {lines[-1] if lines else f'exit code {os.waitstatus_to_exitcode(status)}'}"


if __name__ == "__main__":
    main()
