"""Render the pages of a crawl whose text is built by scripts: a `FetchFunction` around the polite fetcher."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from topicrawl.documents.file_types import HTML_TYPES, detect_type, is_feed
from topicrawl.errors import SettingError
from topicrawl.fetch.rendering.browser import BrowserProcess, find_browser, start_browser
from topicrawl.fetch.rendering.rendering_tab import RenderedDocument, RenderingError, RenderingTab
from topicrawl.fetch.rendering.resources import FetchResource, PageResources, ResourceCache
from topicrawl.fetch.rendering.script_pages import needs_scripts
from topicrawl.models import Failure, FetchFunction, Link, ReadableDocument, RedirectHop, Response
from topicrawl.urls import get_host

log = logging.getLogger("topicrawl")

#: Pages that are rendered at the same time.
MAX_TABS = 4
#: Pages for which one browser is used, so that leaked memory does not add up.
MAX_BROWSER_PAGES = 100
RENDERED_TYPE = "text/html; charset=utf-8"
#: Detail of a page that was rendered, and of a page whose scripts were still running at the time limit.
RENDERED, PARTLY_RENDERED = "rendered in a browser", "rendered in a browser up to the time limit"


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """Which pages are rendered, and the limits for them."""

    always: bool = False  # True: all web pages; False: pages that are empty without scripts
    pages: int = 1000  # rendered pages per run; 0: no limit
    seconds: float = 60.0  # for one page, with the waiting times of its requests
    max_memory: int = 1 << 30  # bytes of all processes of the browser
    max_bytes: int = 10 << 20  # size of a document


class PageRenderer:
    """Render pages in a browser: `async with PageRenderer(…) as renderer: fetch = renderer.wrap_fetch(fetch)`.

    `fetch_resource` sends the requests of scripts. `get_wait` returns the seconds until a host may be requested again.
    """

    def __init__(
        self,
        limits: RenderLimits,
        fetch_resource: FetchResource,
        get_wait: Callable[[str], float] = lambda host: 0.0,
        *,
        browser: str = "",
    ) -> None:
        self._limits, self._fetch_resource, self._get_wait = limits, fetch_resource, get_wait
        self._path = find_browser(browser)
        self._browser: BrowserProcess | None = None
        self._tabs = asyncio.Semaphore(MAX_TABS)
        self._starting = asyncio.Lock()
        self._cache = ResourceCache()
        self.rendered_pages = 0
        self.failed_pages = 0

    async def __aenter__(self) -> Self:
        self._browser = await self._start_browser()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._browser is not None:
            await self._browser.close()
        if self.rendered_pages or self.failed_pages:
            log.info("rendered %d pages in a browser, %d failed", self.rendered_pages, self.failed_pages)

    def wrap_fetch(self, fetch: FetchFunction) -> FetchFunction:
        """Wrap a fetch function: pages that need their scripts are rendered."""

        async def fetch_and_render(link: Link) -> Response:
            response = await fetch(link)
            return await self.render_page(response) if self.is_rendered(response) else response

        return fetch_and_render

    def is_rendered(self, response: Response) -> bool:
        """Return whether a response is a web page that is rendered with these settings."""
        if response.failure is not None or response.is_unfollowed_redirect or response.readable is not None:
            return False
        if response.content_type not in HTML_TYPES and response.content_type not in ("", "application/xml", "text/xml"):
            return False
        if detect_type(response.body, response.content_type) != "html" or is_feed(response.body):
            return False
        return self._limits.always or needs_scripts(response.body)

    async def render_page(self, response: Response) -> Response:
        """Return the response with the rendered document, with the redirect of a script, or with a failure.

        When the limit of pages is reached, return the response as it is.
        """
        async with self._tabs:
            if self._limits.pages and self.rendered_pages + self.failed_pages >= self._limits.pages:
                return response
            try:
                document = await self._render(response)
            except RenderingError as error:
                self.failed_pages += 1
                return replace(response, failure=Failure.RENDERING, detail=str(error), body=b"")
        self.rendered_pages += 1
        if self.rendered_pages + self.failed_pages == self._limits.pages:
            log.warning("no more pages are rendered: the limit of %d is reached (--render-pages)", self._limits.pages)
        wait = max(response.wait or 0.0, self._get_wait(get_host(response.final_url))) or None
        return replace(self._apply_document(response, document), wait=wait)

    def _apply_document(self, response: Response, document: RenderedDocument) -> Response:
        """Return the response with a rendered document, or as a redirect."""
        if document.target:
            hop = RedirectHop(response.final_url, response.status, response.headers, response.body, response.wire)
            return replace(
                response,
                final_url=document.target,
                hops=(*response.hops, hop),
                body=b"",
                is_unfollowed_redirect=True,
            )
        html = document.html.encode("utf-8", "replace")
        if len(html) > self._limits.max_bytes:
            detail = f"the rendered document exceeds {self._limits.max_bytes} bytes"
            return replace(response, failure=Failure.TOO_LARGE, detail=detail, body=b"")
        detail = RENDERED if document.is_complete else PARTLY_RENDERED
        return replace(response, readable=ReadableDocument(RENDERED_TYPE, html), detail=detail)

    async def _render(self, response: Response) -> RenderedDocument:
        """Render a page in the running browser, or in a new one. Raise `RenderingError` if it cannot be rendered."""
        async with self._use_browser() as browser:
            resources = PageResources(response.final_url, self._fetch_resource, self._cache)
            return await RenderingTab(browser, response, resources).render(self._limits.seconds)

    @asynccontextmanager
    async def _use_browser(self) -> AsyncIterator[BrowserProcess]:
        """Yield a running browser. A browser that has ended is replaced, and so is one after many pages."""
        async with self._starting:
            browser = self._browser
            if browser is None or not browser.is_running:
                if browser is not None:
                    await browser.close()
                try:
                    browser = self._browser = await self._start_browser()
                except SettingError as error:
                    self._browser = None
                    raise RenderingError(str(error)) from error
            browser.page_count += 1
            browser.active_pages += 1
            if browser.page_count >= MAX_BROWSER_PAGES:
                self._browser = None  # the last of its pages closes it
        try:
            yield browser
        finally:
            browser.active_pages -= 1
            if browser is not self._browser and not browser.active_pages:
                await browser.close()

    async def _start_browser(self) -> BrowserProcess:
        # JSON may write a character with six bytes.
        max_message = 2 * self._limits.max_bytes + (16 << 20)
        return await start_browser(self._path, max_memory=self._limits.max_memory, max_message=max_message)
