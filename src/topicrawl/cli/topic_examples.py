"""Read example pages from local files, from a crawl or a recorded web, or from the live web (politely)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from topicrawl import parse
from topicrawl.cli.event_loop import run_async
from topicrawl.errors import TopicError
from topicrawl.fetch.replay import Recording
from topicrawl.models import Failure, Link, Page, Response
from topicrawl.settings import Settings
from topicrawl.urls import canonicalize_url

_MAX_FILE_BYTES = 10 * 1024 * 1024  # bytes
_MAX_REDIRECTS = 10  # redirects to other hosts
MEMBER_SEPARATOR = "\0"  # between the name of an archive and the name of its member
_MAX_REPORTED = 3  # failed pages that a message lists


@dataclass
class ExamplePageReader:
    """Read pages by file name or URL.

    A URL that cannot be fetched is skipped and reported in `failure_summary`. A local file that cannot be read raises
    `TopicError`. If `source` is given, URLs are read from this crawl or recorded web instead of the live web.
    """

    source: Path | None
    settings: Settings  # of requests to the live web
    _failures: list[str] = field(default_factory=list)

    def read_pages(self, names: Sequence[str]) -> dict[str, Page]:
        """Return the pages that could be read, by name. The failures of the others are added to `failure_summary`."""
        pages: dict[str, Page] = {}
        recording = Recording(self.source) if self.source is not None and names else None
        live: dict[str, str] = {}
        for name in dict.fromkeys(names):
            url = _parse_url(name)
            if url is None:
                pages |= read_file_pages(name)
            elif recording is None:
                live[name] = url
            else:
                self._add_page(name, recording.get_response(url), pages)
        if live:
            for name, response in run_async(_fetch_pages(live, self.settings)):
                self._add_page(name, response, pages)
        return pages

    def _add_page(self, name: str, response: Response, pages: dict[str, Page]) -> None:
        """Parse a response and add the page, or record the failure."""
        for own_name, each in _unpack_response(name, response):
            page = parse.parse_response(each, Link(each.url), context=False)
            if isinstance(page, Failure):
                self._failures.append(f"{own_name}: {page}" + (f" {each.detail}" if each.detail else ""))
            elif not page.words:
                self._failures.append(f"{own_name}: contains no text")
            else:
                pages[own_name] = page

    @property
    def failure_summary(self) -> str:
        """The first failures in one line; empty if all pages could be read."""
        more = len(self._failures) - _MAX_REPORTED
        return "; ".join([*self._failures[:_MAX_REPORTED], *([f"and {more} more"] if more > 0 else [])])


def _parse_url(name: str) -> str | None:
    """Return the canonical form of a URL, or None for a file name. Raise `TopicError` for an invalid URL."""
    if not name.lower().startswith(("http://", "https://")):
        return None
    url = canonicalize_url(name)
    if url is None:
        raise TopicError(f"{name!r} is not a valid http or https URL")
    return url


def find_pages(pages: Mapping[str, Page], names: Iterable[str]) -> list[Page]:
    """Return the pages with the given names, and those of the members of archives with the given names."""
    members: dict[str, list[Page]] = {}
    for name, page in pages.items():
        members.setdefault(name.partition(MEMBER_SEPARATOR)[0], []).append(page)
    return [page for name in dict.fromkeys(names) for page in members.get(name, ())]


def read_file_pages(name: str) -> dict[str, Page]:
    """Parse a local file: HTML, text, or a document such as PDF, PostScript, gzip or zip.

    Return the page by its name. A zip archive gives the page of each member that can be read. Raise `TopicError` if the
    file cannot be read, is too large or contains no text.
    """
    response = _load_file(Path(name))
    pages: dict[str, Page] = {}
    reason = ""
    for own_name, each in _unpack_response(name, response):
        page = parse.parse_response(each, Link(each.url), context=False)
        if isinstance(page, Page) and page.words:
            pages[own_name] = page
        elif each.detail:
            reason = reason or f" ({each.detail})"
    if not pages:
        raise TopicError(f"{name}: contains no text{reason}; give an HTML file, a text file or a document such as PDF")
    return pages


def _unpack_response(name: str, response: Response) -> list[tuple[str, Response]]:
    """Return the responses to parse by name: the response, converted if it is a document, or the archive members."""
    from topicrawl.documents.reader import SubprocessDocumentReader

    if not SubprocessDocumentReader.is_document(response):
        return [(name, response)]
    with SubprocessDocumentReader(processes=1) as reader:
        converted, members = reader.unpack_blocking(response, Link(response.url))
    inner = [(f"{name}{MEMBER_SEPARATOR}{link.anchor}", member) for link, member in members]
    return inner or [(name, converted)]


def read_file(path: Path) -> Page:
    """Parse a local file. Raise `TopicError` if it cannot be read, is too large or contains no text."""
    return next(iter(read_file_pages(str(path)).values()))


def _load_file(path: Path) -> Response:
    """Return the content of a local file as a response. Raise `TopicError` if it cannot be read or is too large."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise TopicError(f"{path}: cannot be read: {error.strerror}") from error
    if len(body) > _MAX_FILE_BYTES:
        raise TopicError(f"{path}: larger than {_MAX_FILE_BYTES >> 20} MB, the limit for an example page")
    # Without a content type, the parser detects the format from the content and ignores the file name.
    return Response(path.name, path.name, 200, {}, body)


async def _fetch_pages(live: dict[str, str], settings: Settings) -> list[tuple[str, Response]]:
    """Fetch pages from the live web, one after the other."""
    # Imported here, because files and recordings do not need the HTTP client.
    from topicrawl.engine.http_setup import open_fetcher

    if not settings.contact:
        click.echo("no --contact given: the operators of the hosts cannot reach you", err=True)
    responses = []
    # Example pages are web pages, so documents and feeds are not requested.
    async with open_fetcher(replace(settings, documents=False, sitemaps=False)) as polite:
        for number, (name, url) in enumerate(live.items(), 1):
            response = await polite(Link(url))
            for _ in range(_MAX_REDIRECTS):
                if not response.is_unfollowed_redirect:
                    break
                # The redirect leads to another host, so the fetcher has to wait for the crawl delay of that host.
                response = await polite(Link(response.final_url))
            responses.append((name, response))
            if sys.stderr.isatty():
                click.echo(f"\r{number} of {len(live)} pages", nl=number == len(live), err=True)
    return responses
