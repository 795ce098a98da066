"""From what came back to what it means: a page or a named reason, how long its host rests, what follows from it."""

from __future__ import annotations

from typing import NamedTuple

from topicrawl.parts import Parts
from topicrawl.records import Failure, Link, Page, Response, Visit
from topicrawl.urls import host


class Reading(NamedTuple):
    """The page of a response, or the named reason why there is none, with a line for people."""

    page: Page | None
    failure: Failure | None = None
    detail: str = ""
    twin: str = ""  # the address of the page that it repeats


async def reading(parts: Parts, link: Link, response: Response) -> Reading:
    """What a response is worth."""
    if response.failure is not None:
        return Reading(None, response.failure, response.detail)
    if response.final_url != link.url:
        known = await parts.frontier.find(response.final_url)
        if known is not None and (known.state == "leased" or known.reason == "fetched"):
            detail = f"leads to {response.final_url}, which is here already"
            return Reading(None, Failure.DUPLICATE, detail, response.final_url)
    page = parts.parse(response, link)
    if isinstance(page, Failure):
        return Reading(None, page, f"content type {response.content_type or 'unknown'}")
    if parts.fences.directives and "noindex" in page.directives:
        return Reading(page, Failure.NOINDEX, "the page asks not to be kept")
    if parts.twin_of is not None and (twin := parts.twin_of(page)) is not None:
        # Without the page nothing is learned from it, and none of its links is followed.
        return Reading(None, Failure.DUPLICATE, twin.how, twin.url)
    return Reading(page)


def pause(parts: Parts, name: str, response: Response) -> float:
    """Seconds from now until the host may be asked again: its delay runs from the last request's start."""
    if parts.delay_of is None:
        return 0.0
    wait = (response.wait or 0.0) if host(response.final_url) == name else 0.0
    if response.failure != Failure.ROBOTS or response.hops:
        delay = parts.delay_of(name)
        # Never longer than the delay: the clock may have been set back since the request left.
        wait = max(wait, min(delay, response.at + delay - parts.clock()))
    return wait


async def aftermath(parts: Parts, visit: Visit, response: Response) -> None:
    """What follows from a visit once it is complete."""
    ends = {hop.url for hop in response.hops} | {response.final_url}
    ends.discard(visit.link.url)
    if ends and visit.failure is None:
        await parts.frontier.settle(sorted(ends), "fetched")
    if parts.fences.monotony is not None and visit.page is not None:
        parts.fences.monotony.seen(visit.link.url, visit.page.words, visit.link.source)
    if scores := parts.strategy.revise():
        if parts.revised is not None:
            await parts.revised(scores)
        else:
            await parts.frontier.rescore(parts.fences.late(scores))
