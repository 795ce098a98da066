"""From a URL to the end of its redirects, whoever answers: a live web or a recorded one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from topicrawl.fetch.status import REDIRECTS
from topicrawl.records import Failure, Hop, Response
from topicrawl.urls import host, join

MAX_REDIRECTS = 10


async def followed(
    url: str, ask: Callable[[str], Awaitable[Response]], free: Callable[[str], bool] = lambda name: True
) -> Response:
    """The response at the end, with the hops on the way; a circle or a dead end is a failure.

    A redirect to another host that is not free now is not followed: the response is the redirect, its final URL the
    address it leads to. Time adds up over the hops; waiting for a host's turn is no part of it.
    """
    asked = url
    hops: list[Hop] = []
    seconds = 0.0
    while True:
        response = await ask(url)
        seconds += response.seconds
        if response.failure is not None or response.status not in REDIRECTS:
            break
        hops.append(Hop(url, response.status))
        location = response.headers.get("location", "")
        target = join(url, location) if location else None
        failure, detail = _fault(target, hops)
        if failure is not None or target is None:
            response = replace(response, failure=failure, detail=detail)
            break
        elsewhere = host(target) != host(url)
        url = target
        if elsewhere and not free(host(target)):
            break
    if not hops:
        return response
    return replace(response, url=asked, final_url=url, hops=tuple(hops), seconds=seconds)


def _fault(target: str | None, hops: list[Hop]) -> tuple[Failure | None, str]:
    """What is wrong with going on to `target`."""
    if target is None:
        return Failure.BAD_REDIRECT, f"status {hops[-1].status} without an address to go to"
    if any(hop.url == target for hop in hops):
        return Failure.REDIRECTS, "the redirects run in a circle"
    if len(hops) > MAX_REDIRECTS:
        return Failure.REDIRECTS, f"more than {MAX_REDIRECTS} redirects"
    return None, ""
