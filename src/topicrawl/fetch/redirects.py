"""Follow HTTP redirects and meta refreshes, for live fetchers and recordings alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from topicrawl.fetch.cookies import RedirectCookies
from topicrawl.fetch.http_status import REDIRECT_STATUSES
from topicrawl.fetch.meta_refresh import find_meta_refresh
from topicrawl.models import Failure, RedirectHop, Response
from topicrawl.urls import resolve_url

MAX_REDIRECTS = 10


async def follow_redirects(
    url: str,
    fetch: Callable[[str], Awaitable[Response]],
    can_follow: Callable[[str, str], bool] = lambda url, target: True,
    *,
    follows_refresh: Callable[[str], bool] = lambda target: True,
    cookies: RedirectCookies | None = None,
) -> Response:
    """Follow the redirects of a URL; return the final response with all hops, or the failure.

    `fetch` sends one request. `can_follow` says whether a redirect from a URL to a target may be followed at once. If
    not, the redirect response itself is returned as an unfollowed redirect, with the target as its final URL. An HTML
    page whose refresh (element or header) leads to a URL for which `follows_refresh` is true is a redirect too, and its
    hop contains the page. `cookies` are those that `fetch` sends and receives: a redirect back to an earlier URL is a
    loop only if the request would have the same cookies as before. `seconds` is the sum over all hops, without the
    time spent waiting for a slot of a host.
    """
    requested_url = url
    cookies = cookies or RedirectCookies()
    hops: list[RedirectHop] = []
    requests: set[tuple[str, str]] = set()
    seconds = 0.0
    while True:
        requests.add((url, cookies.format_header(url)))
        response = await fetch(url)
        seconds += response.seconds
        if response.failure not in (None, Failure.EMPTY):  # an empty page may have a Refresh header
            break
        if response.status in REDIRECT_STATUSES:
            location = response.headers.get("location", "")
            target = resolve_url(url, location) if location else None
            hops.append(RedirectHop(url, response.status, wire=response.wire))
        else:
            target = find_meta_refresh(response, url)
            if target is None or not follows_refresh(target):
                break
            hops.append(RedirectHop(url, response.status, response.headers, response.body, response.wire))
        is_loop = target is not None and (target, cookies.format_header(target)) in requests
        failure, detail = _check_redirect(target, hops, is_loop=is_loop)
        if failure is not None or target is None:
            response = replace(response, failure=failure, detail=detail, body=b"")
            break
        source, url = url, target
        if not can_follow(source, target):
            response = replace(response, failure=None, detail="", is_unfollowed_redirect=True, body=b"")
            break
    if not hops:
        return response
    return replace(response, url=requested_url, final_url=url, hops=tuple(hops), seconds=seconds)


def _check_redirect(target: str | None, hops: list[RedirectHop], *, is_loop: bool) -> tuple[Failure | None, str]:
    """Return the failure and its detail if the redirect to `target` must not be followed, else (None, "").

    `hops` are the redirects so far, including the one to `target`. `is_loop`: the same request was sent before.
    """
    if target is None:
        return Failure.BAD_REDIRECT, f"status {hops[-1].status} without a usable Location header"
    if is_loop:
        return Failure.REDIRECTS, "redirect loop"
    if len(hops) > MAX_REDIRECTS:
        return Failure.REDIRECTS, f"more than {MAX_REDIRECTS} redirects"
    return None, ""
