"""Process a response: parse it or name the failure, compute the politeness delay, apply the side effects of a visit."""

from __future__ import annotations

from typing import NamedTuple

from topicrawl.engine.context import CrawlContext
from topicrawl.frontier.base import FETCHED
from topicrawl.models import STORAGE_DIRECTIVES, Failure, Link, Page, ParsedResponse, Response, Visit
from topicrawl.urls import get_host


class ResponseOutcome(NamedTuple):
    """The page of a response, or the failure. `detail` explains the failure, or names the damage of the response."""

    page: Page | None
    failure: Failure | None = None
    detail: str = ""
    duplicate_of: str = ""  # URL of the stored page that this page repeats


async def process_response(context: CrawlContext, link: Link, parsed: ParsedResponse) -> ResponseOutcome:
    """Parse a response that is not parsed yet. Return its page, or the failure if there is none.

    A redirect to a stored page and a page that repeats a stored one have the failure DUPLICATE and no page. A page with
    a noindex or noarchive directive has the failure NOINDEX or NOARCHIVE, and a sitemap or feed the failure LINK_LIST.
    It is returned, because its links are still scored.
    """
    response = parsed.response
    if response.failure is not None:
        return ResponseOutcome(None, response.failure, response.detail)
    if response.final_url != link.url:
        known = await context.frontier.get_entry(response.final_url)
        is_known = known is not None and (known.state == "leased" or known.reason == FETCHED)
        if known is not None and known.state == "waiting":
            # A killed run stored the page; it will be read from the archive when its own link is leased.
            is_known = context.sink.find_stored_step(known.link) is not None
        if is_known and not context.sink.owns_page(link, response.final_url):
            detail = f"redirects to {response.final_url}, which is already stored"
            return ResponseOutcome(None, Failure.DUPLICATE, detail, response.final_url)
    page = context.parse(response, link) if parsed.page is None else parsed.page
    if isinstance(page, Failure):
        return ResponseOutcome(None, page, f"content type {response.content_type or 'unknown'}")
    if page.is_link_list:
        return ResponseOutcome(page, Failure.LINK_LIST, f"a sitemap or feed with {len(page.links)} usable links")
    if context.link_filter.obeys_directives and page.directives:
        for failure in STORAGE_DIRECTIVES:
            if failure in page.directives:
                return ResponseOutcome(page, failure, f"the page has a {failure} directive")
    if context.find_duplicate is not None and (twin := context.find_duplicate(page)) is not None:
        # The result has no page, so the strategy does not learn from it and none of its links is followed.
        return ResponseOutcome(None, Failure.DUPLICATE, twin.reason, twin.url)
    details = [f"damaged response: {', '.join(response.damage)}"] if response.damage else []
    return ResponseOutcome(page, detail="; ".join([*details, response.detail] if response.detail else details))


def politeness_delay(context: CrawlContext, host_name: str, response: Response) -> float:
    """Return the seconds until the host may be requested again. The delay counts from the last request's start."""
    if context.get_crawl_delay is None:
        return 0.0
    wait = (response.wait or 0.0) if get_host(response.final_url) == host_name else 0.0
    if response.failure != Failure.ROBOTS or response.hops:
        delay = context.get_crawl_delay(host_name)
        # At most the delay itself: the system clock may have been set back since the request.
        wait = max(wait, min(delay, response.at + delay - context.clock()))
    return wait


async def apply_side_effects(context: CrawlContext, visit: Visit, response: Response) -> None:
    """Apply the side effects of a visit that the frontier has completed.

    Mark the redirect targets as done, and send new scores of the strategy to the frontier.
    """
    final, requested = response.final_url, visit.link.url
    if visit.failure is None and final != requested:
        await context.frontier.mark_done([final], FETCHED)
    if visit.failure is None and (hops := {hop.url for hop in response.hops} - {final, requested}):
        # In contrast to the final URL, the store has no page of these URLs.
        await context.frontier.mark_done(sorted(hops), f"moved {final}")
    if scores := context.strategy.rescore():
        if context.submit_scores is not None:
            await context.submit_scores(scores)
        else:
            await context.frontier.rescore(context.link_filter.adjust_scores(scores))
