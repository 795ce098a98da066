"""Run a `Site` in a thread, for tests of commands, which have an event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.site.server import AnswerFunction, Site


@contextmanager
def run_site(answers: AnswerFunction) -> Iterator[Site]:
    """Start the server in a thread, and stop it at the end."""

    async def serve() -> None:
        async with Site(answers) as site:
            sites.append(site)
            started.set()
            await asyncio.get_running_loop().run_in_executor(None, stopped.wait)

    sites: list[Site] = []
    started, stopped = threading.Event(), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    started.wait()
    try:
        yield sites[0]
    finally:
        stopped.set()
        thread.join()
