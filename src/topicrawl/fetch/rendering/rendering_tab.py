"""Render one page: answer the requests of its scripts, wait until they are quiet, and read the document.

The browser has no network. It pauses every request (`Fetch.requestPaused`), and the crawler answers it: the page itself
with the response that the crawl has fetched, scripts and data with the polite fetcher, and the rest with an error. A
request that the browser does not pause, such as that of a WebSocket or a service worker, fails in the browser.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Coroutine
from typing import Any, NamedTuple

from topicrawl.fetch.http_status import REDIRECT_STATUSES
from topicrawl.fetch.rendering.browser import BrowserProcess
from topicrawl.fetch.rendering.devtools import BrowserGone, DevToolsError
from topicrawl.fetch.rendering.resources import SENT_TYPES, PageResources, ResourceLimit
from topicrawl.fetch.rendering.script_pages import needs_scripts
from topicrawl.fetch.rendering.shadow_roots import flatten_shadow_roots
from topicrawl.models import Failure, Response
from topicrawl.urls import canonicalize_url

#: A page is complete when it has loaded and has sent no request for so many seconds.
QUIET_SECONDS = 0.5
#: A page that is still empty then may wait for a timer: it gets so many seconds more.
EMPTY_SECONDS = 3.0
_READ_SECONDS = 10.0  # limit for each of the steps before and after the scripts run
_CLOSE_SECONDS = 2.0  # the browser cannot close a tab whose script never ends
#: Headers of a response that the browser needs to decide whether a script may read it.
_PASSED_HEADERS = ("content-type", "location", "content-language", "last-modified", "etag", "link")
_PASSED_PREFIXES = ("access-control-", "cross-origin-", "x-")
_NO_CONTENT = 204


class RenderingError(Exception):
    """The page cannot be rendered."""


class RenderedDocument(NamedTuple):
    """Result of rendering: the document as HTML, or the URL to which a script has navigated."""

    html: str
    target: str = ""  # canonical URL; "": no script has navigated
    is_complete: bool = True  # False: the scripts were still running at the time limit


class RenderingTab:
    """One tab for one page, with its own cookies and storage, which are discarded afterwards."""

    def __init__(self, browser: BrowserProcess, page: Response, resources: PageResources) -> None:
        self._browser, self._page, self._resources = browser, page, resources
        self._session = self._frame = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._awaited: set[asyncio.Task[None]] = set()  # tasks that the page waits for
        self._requested_urls: set[str] = set()  # a repeated request does not keep the page waiting
        self._is_page_sent = False
        self._loaded = asyncio.Event()  # also set when the page navigates or the tab crashes
        self._target = self._crash = ""

    async def render(self, seconds: float) -> RenderedDocument:
        """Render the page for at most so many seconds. Raise `RenderingError` if there is no document then."""
        context = ""
        try:
            async with asyncio.timeout(_READ_SECONDS):
                result = await self._browser.connection.run_command("Target.createBrowserContext")
                context = result["browserContextId"]
                await self._open(context)
            return await self._wait_for_text(seconds)
        except TimeoutError:
            # Only the scripts of this page block the tab, but the browser cannot stop them alone.
            self._browser.kill(f"the scripts of {self._page.final_url} did not end")
            raise RenderingError(f"its scripts did not end within {seconds:g} s") from None
        except DevToolsError as error:
            self._raise_crash()
            raise RenderingError(str(error)) from error
        finally:
            await self._close(context)

    def _raise_crash(self) -> None:
        """Raise `RenderingError` if the tab or the browser has crashed."""
        if self._crash:
            raise RenderingError(self._crash)

    async def _open(self, context: str) -> None:
        """Open the tab, and navigate to the page."""
        run = self._browser.connection.run_command
        self._frame = (await run("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        self._session = (await run("Target.attachToTarget", targetId=self._frame, flatten=True))["sessionId"]
        self._browser.connection.handlers[self._session] = self._handle_event
        for command in ("Page.enable", "DOM.enable", "Inspector.enable"):
            await self._command(command)
        await self._command("Network.setBypassServiceWorker", bypass=True)
        await self._command("Fetch.enable", patterns=[{"urlPattern": "*"}])
        # The reply arrives when the response does; the requests before it are answered meanwhile.
        await self._command("Page.navigate", url=self._page.final_url)

    async def _command(self, method: str, **parameters: Any) -> dict[str, Any]:
        return await self._browser.connection.run_command(method, self._session, **parameters)

    async def _wait_for_text(self, seconds: float) -> RenderedDocument:
        """Wait until the page is complete, and return its document or the URL to which it navigates.

        Raise `RenderingError` if the tab has crashed.
        """
        loop = asyncio.get_running_loop()
        started, last_look = loop.time(), 0.0
        while True:
            is_complete = await self._wait_until_quiet(max(0.0, started + seconds - loop.time()))
            self._raise_crash()
            if self._target:
                return RenderedDocument("", self._target)
            async with asyncio.timeout(_READ_SECONDS):
                html = flatten_shadow_roots(await self._read_document())
            last_look = last_look or loop.time() + EMPTY_SECONDS
            if not is_complete or loop.time() >= last_look or not needs_scripts(html.encode("utf-8", "replace")):
                return RenderedDocument(html, is_complete=is_complete)

    async def _wait_until_quiet(self, seconds: float) -> bool:
        """Wait until the page has loaded and sends no more requests. Return False at the time limit."""
        try:
            async with asyncio.timeout(seconds):
                await self._loaded.wait()
                while not (self._target or self._crash):
                    sent = len(self._requested_urls)
                    if self._awaited:
                        await asyncio.wait(list(self._awaited))
                    await asyncio.sleep(QUIET_SECONDS)
                    if not self._awaited and sent == len(self._requested_urls):
                        break
        except TimeoutError:
            return False
        return True

    async def _read_document(self) -> str:
        """Return the document as HTML. No script of the page takes part in this."""
        root = (await self._command("DOM.getDocument", depth=0))["root"]["nodeId"]
        result = await self._command("DOM.getOuterHTML", nodeId=root, includeShadowDOM=True)
        html: str = result["outerHTML"]
        return html

    async def _close(self, context: str) -> None:
        """Close the tab, and discard its cookies and storage."""
        self._browser.connection.handlers.pop(self._session, None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if context and self._browser.is_running:
            try:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._browser.connection.run_command("Target.disposeBrowserContext", browserContextId=context)
            except (DevToolsError, TimeoutError):
                self._browser.kill("a tab could not be closed")

    # Events

    def _handle_event(self, name: str, event: dict[str, Any]) -> None:
        """Handle an event of the tab; an empty name means that the browser has ended."""
        if name == "Fetch.requestPaused":
            url = event["request"]["url"]
            task = self._start(self._answer_request(event))
            if url not in self._requested_urls and _is_sent(event):
                self._requested_urls.add(url)
                self._awaited.add(task)
                task.add_done_callback(self._awaited.discard)
        elif name == "Page.loadEventFired":
            self._loaded.set()
        elif name == "Page.javascriptDialogOpening":
            self._start(self._ignore_refusal(self._command("Page.handleJavaScriptDialog", accept=False)))
        elif name == "Inspector.targetCrashed":
            self._fail("the browser tab crashed, or needed too much memory")
        elif not name:
            self._fail(self._browser.end_reason or "the browser ended unexpectedly")

    def _fail(self, reason: str) -> None:
        self._crash = self._crash or reason
        self._loaded.set()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @staticmethod
    async def _ignore_refusal(work: Coroutine[Any, Any, Any]) -> None:
        """Run a command. The browser refuses it if the page has cancelled the request meanwhile."""
        try:
            await work
        except BrowserGone:
            pass  # `_handle_event` reports it
        except DevToolsError:
            pass

    async def _answer_request(self, event: dict[str, Any]) -> None:
        """Answer a paused request."""
        kind, request = event["resourceType"], event["request"]
        if kind == "Document" and event.get("frameId") == self._frame:
            answer = self._answer_navigation(event["requestId"], request)
        elif request["method"] == "OPTIONS" and kind == "Preflight":
            answer = self._allow_preflight(event["requestId"], request["headers"])
        elif kind == "Stylesheet":
            # Some scripts wait for their style sheets. Their content has no influence on the text.
            answer = self._fulfil(event["requestId"], 200, {"content-type": "text/css"})
        elif _is_sent(event):
            answer = self._send_request(event["requestId"], request)
        else:
            answer = self._refuse(event["requestId"])
        await self._ignore_refusal(answer)

    async def _answer_navigation(self, number: str, request: dict[str, Any]) -> None:
        """Answer the first request with the page. A later one is a redirect by a script, which is not followed here."""
        if not self._is_page_sent:
            self._is_page_sent = True
            charset = self._page.headers.get("content-type", "").partition(";")[2].strip()
            kind = f"text/html; {charset}" if charset.isascii() and charset.isprintable() and charset else "text/html"
            await self._fulfil(number, 200, {"content-type": kind}, self._page.body)
            return
        target = canonicalize_url(request["url"]) if request["method"] == "GET" else None
        if target is not None and target != self._page.final_url:
            self._target = self._target or target
        self._loaded.set()  # a page that navigates while it loads has no load event
        await self._fulfil(number, _NO_CONTENT, {})  # the page stays

    async def _allow_preflight(self, number: str, headers: dict[str, str]) -> None:
        """Allow a request to another origin with headers of its own; the answer decides whether it may be read."""
        wanted = {name.lower(): value for name, value in headers.items()}
        if wanted.get("access-control-request-method") != "GET":
            await self._refuse(number)
            return
        allowed = {
            "access-control-allow-origin": wanted.get("origin", "*"),
            "access-control-allow-methods": "GET",
            "access-control-allow-headers": wanted.get("access-control-request-headers", "*"),
            "access-control-allow-credentials": "true",
        }
        await self._fulfil(number, _NO_CONTENT, allowed)

    async def _send_request(self, number: str, request: dict[str, Any]) -> None:
        """Fetch a resource for the page."""
        try:
            response = await self._resources.load(request["url"], request["headers"])
        except ResourceLimit:
            await self._refuse(number)
            return
        if not response.status or response.failure in (Failure.TOO_LARGE, Failure.BAD_RESPONSE):
            await self._refuse(number, "BlockedByClient" if response.failure is Failure.ROBOTS else "Failed")
            return
        headers = {
            name: value
            for name, value in response.headers.items()
            if name in _PASSED_HEADERS or name.startswith(_PASSED_PREFIXES)
        }
        if response.status not in REDIRECT_STATUSES:
            headers.pop("location", None)
        await self._fulfil(number, response.status, headers, response.body)

    async def _fulfil(self, number: str, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        fields = [
            {"name": name, "value": value} for name, value in headers.items() if value.isascii() and value.isprintable()
        ]
        await self._command(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=status,
            responseHeaders=fields,
            body=b64encode(body).decode(),
        )

    async def _refuse(self, number: str, reason: str = "BlockedByClient") -> None:
        await self._command("Fetch.failRequest", requestId=number, errorReason=reason)


def _is_sent(event: dict[str, Any]) -> bool:
    """Return whether the crawler sends a paused request: a GET of a script, unless it only prepares another."""
    request = event["request"]
    names = {name.lower() for name in request["headers"]}
    return (
        event["resourceType"] in SENT_TYPES
        and request["method"] == "GET"
        and "purpose" not in names
        and "sec-purpose" not in names
    )
