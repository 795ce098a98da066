"""Example pages for a topic: files of this machine, a crawl or a recorded web, or the live web with all manners."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from topicrawl import parse
from topicrawl.cli.loop import run
from topicrawl.errors import TopicError
from topicrawl.fetch.replay import Recording
from topicrawl.records import Failure, Link, Page, Response
from topicrawl.urls import canonical

_LARGEST = 10 * 1024 * 1024  # bytes of a file
_MOVED = 10  # times that a page may lead on to another host
_SHOWN = 3  # pages that are named when some are left out


@dataclass(frozen=True)
class Reach:
    """How the live web is asked."""

    contact: str = ""
    delay: float = 1.0
    allow_net: tuple[str, ...] = ()
    proxy: str = ""


@dataclass
class Pages:
    """Reads pages by their names; those that cannot be had are counted, those that are ours must be readable."""

    source: Path | None
    reach: Reach
    _gone: list[str] = field(default_factory=list)

    def read(self, names: Sequence[str]) -> dict[str, Page]:
        """Name → page, for the pages that could be read."""
        found: dict[str, Page] = {}
        recording = Recording(self.source) if self.source is not None and names else None
        live: dict[str, str] = {}
        for name in dict.fromkeys(names):
            url = _address(name)
            if url is None:
                found[name] = _of_file(Path(name))
            elif recording is None:
                live[name] = url
            else:
                self._take(name, recording.answer(url), found)
        if live:
            for name, response in run(_fetched(live, self.reach)):
                self._take(name, response, found)
        return found

    def _take(self, name: str, response: Response, found: dict[str, Page]) -> None:
        page = parse.read(response, Link(response.url), context=False)
        if isinstance(page, Failure):
            self._gone.append(f"{name}: {page}" + (f" {response.detail}" if response.detail else ""))
        elif not page.words:
            self._gone.append(f"{name}: no text in it")
        else:
            found[name] = page

    @property
    def missed(self) -> str:
        """What could not be read and why, in one line; empty when all could."""
        more = len(self._gone) - _SHOWN
        return "; ".join([*self._gone[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _address(name: str) -> str | None:
    """The canonical form of a web address; None for the name of a file."""
    if not name.lower().startswith(("http://", "https://")):
        return None
    url = canonical(name)
    if url is None:
        raise TopicError(f"{name!r} is not a web address")
    return url


def _of_file(path: Path) -> Page:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise TopicError(f"{path}: cannot be read: {error.strerror}") from error
    if len(body) > _LARGEST:
        raise TopicError(f"{path}: larger than {_LARGEST >> 20} MB, which is no page for readers")
    # Without a content type the parser looks into the file; its name decides nothing.
    page = parse.read(Response(path.name, path.name, 200, {}, body), Link(path.name), context=False)
    if isinstance(page, Failure) or not page.words:
        raise TopicError(f"{path}: no text in it; give pages in HTML or plain text")
    return page


async def _fetched(live: dict[str, str], reach: Reach) -> list[tuple[str, Response]]:
    """The answers of the live web, one page after the other."""
    # The HTTP client and all: files and recordings need none of it.
    from topicrawl.fetch.guard import networks
    from topicrawl.fetch.http import Http
    from topicrawl.fetch.polite import Polite
    from topicrawl.fetch.settings import HttpSettings
    from topicrawl.fetch.status import REDIRECTS

    if not reach.contact:
        click.echo("no --contact is given: hosts cannot tell you when something goes wrong", err=True)
    answers = []
    settings = HttpSettings(contact=reach.contact, allow=networks(reach.allow_net), proxy=reach.proxy)
    async with Http(settings) as http:
        polite = Polite(http, delay=reach.delay)
        for number, (name, url) in enumerate(live.items(), 1):
            response = await polite(Link(url))
            for _ in range(_MOVED):
                if response.failure is not None or response.status not in REDIRECTS:
                    break
                # It leads to a host that was asked a moment ago: its turn is waited for.
                response = await polite(Link(response.final_url))
            answers.append((name, response))
            if sys.stderr.isatty():
                click.echo(f"\r{number} of {len(live)} pages", nl=number == len(live), err=True)
    return answers
