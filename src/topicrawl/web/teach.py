"""Teach by browsing: open pages, follow their links, say which are relevant; a hidden Markov model learns the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from time import strftime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.responses import Response as Reply

from topicrawl import sessions
from topicrawl.collection.browsing import BACK, FOLDER, Browsing, Step
from topicrawl.collection.verdicts import Ruling
from topicrawl.errors import DamagedError, TopicrawlError, UsageError
from topicrawl.records import Link, Response
from topicrawl.web import figures, reader
from topicrawl.web.actions import ruled
from topicrawl.web.crawls import named, new_directory
from topicrawl.web.opening import read_page
from topicrawl.web.safety import TooMuch
from topicrawl.web.shelves import Opened
from topicrawl.web.site import Form, Site, go, home_of, shown, status_of

log = logging.getLogger("topicrawl")
MODEL = "hmm.json"
_WRITING = Lock()  # one click at a time: the file is written as a whole
_STEPS = 20_000  # that are kept


@shown
def room(site: Site, request: Request, form: Form) -> Reply:
    """The page that is open, its links to follow, and what was learned so far."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        browsing = Browsing(opened.directory)
        session = form.text("session", most=80)
        url = browsing.open_page(session) if session else ""
        view = _view(opened, browsing, url) if url else None
        labels = browsing.labels()
        return site.page(
            "teach.html", it=figures.figures(opened), view=view, session=session, url=url, label=labels.get(url, ""),
            sessions=browsing.sessions()[-10:], steps=len(browsing.steps),
            relevant=sum(label == Ruling.RELEVANT for label in labels.values()),
            irrelevant=sum(label == Ruling.IRRELEVANT for label in labels.values()),
            trail=[step for step in browsing.steps if step.session == session][-12:] if session else [],
            model=(opened.directory / MODEL).exists(), now=site.jobs.now(_job(opened.directory)),
            outcomes=_outcomes(site, opened.directory),
            can_crawl=site.shelves.home is not None,
        )  # fmt: skip


def _outcomes(site: Site, directory: Path) -> list[tuple[str, bool]]:
    found = []
    for one in site.jobs.outcomes(_job(directory)):
        # Advice for those who type commands is none for those who click.
        said = named(directory, one.said).removeprefix("hmm: ").partition(": name relevant pages with")[0]
        found.append((said if one.failed else f"Learned from {said.partition(': ')[2] or said}", one.failed))
    return found


def _view(opened: Opened, browsing: Browsing, url: str) -> reader.View:
    response = asyncio.run(read_page(opened, browsing, url))
    if response.failure is not None:
        return reader.View(url, url, "", (), (), 0, trouble=f"{response.failure}: {response.detail}")
    return reader.view_of(response, Link(url), opened.topic)


@shown
def follow(site: Site, request: Request, form: Form) -> Reply:
    """Open a page; it joins the session."""
    name, url = request.path_params["name"], form.address()
    session = _session(form)
    with site.shelves.opened(name) as opened, _WRITING:
        browsing = Browsing(opened.directory)
        if len(browsing.steps) >= _STEPS:
            raise UsageError(f"{_STEPS} clicks are here already: take some sessions out of browsing.tsv")
        if browsing.kept(url) is None:
            response = asyncio.run(read_page(opened, browsing, url))
            if response.failure is not None:
                raise UsageError(f"{url} cannot be read: {response.failure} {response.detail}")
            browsing.keep([response])
        browsing.add([Step(session, url)])
    return go(f"{home_of(name)}/teach", session=session)


@shown
def back(site: Site, request: Request, form: Form) -> Reply:
    """A step back."""
    name, session = request.path_params["name"], _session(form)
    with _WRITING:
        browsing = Browsing(site.shelves.directory(name))
        if browsing.open_page(session):
            browsing.add([Step(session, BACK)])
    return go(f"{home_of(name)}/teach", session=session)


@shown
def label(site: Site, request: Request, form: Form) -> Reply:
    """Say whether the open page is relevant; if it is in the collection, that is a verdict too."""
    name, session, url = request.path_params["name"], _session(form), form.address()
    said = form.text("verdict")
    if said not in (Ruling.RELEVANT, Ruling.IRRELEVANT):
        raise UsageError(f"a page is relevant or irrelevant, not {said[:20]!r}")
    with site.shelves.opened(name) as opened, _WRITING:
        Browsing(opened.directory).label(url, said)
        visit = opened.store.visit_of(url)
    if visit is not None and visit.failure is None:
        ruled(site, name, [url], said, "read")
    return go(f"{home_of(name)}/teach", session=session)


@shown
def train(site: Site, request: Request, form: Form) -> Reply:
    """Learn from all sessions, in a process of its own."""
    name = request.path_params["name"]
    with site.shelves.opened(name) as opened, _WRITING:
        directory, browsing = opened.directory, Browsing(opened.directory)
        # Pages of a history that was imported: what the collection has of them can be learned from.
        browsing.keep(_collected(opened, browsing.missing()))
    command = ["train", "hmm", str(directory / FOLDER), "--topic", str(directory / "topic.toml")]
    command += ["--sessions", str(directory / "browsing.tsv"), "--out", str(directory / MODEL), "--force"]
    site.jobs.run(_job(directory), {"learning": command})
    return go(f"{home_of(name)}/teach")


def _collected(opened: Opened, urls: Iterable[str]) -> Iterator[Response]:
    for url in urls:
        visit = opened.store.visit_of(url)
        if visit is not None and visit.spot is not None:
            try:
                yield replace(opened.archive.read(visit.spot), url=visit.requested, final_url=visit.url)
            except DamagedError as error:
                log.warning("cannot be learned from: %s", error)


@shown
def apply(site: Site, request: Request, form: Form) -> Reply:
    """A new crawl for the same topic, from the same seeds, that goes by what was learned."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        if not (opened.directory / MODEL).exists():
            raise UsageError("nothing was learned yet: train first")
        rows = opened.store.rows("SELECT requested FROM visits WHERE source = '' ORDER BY step LIMIT 200")
        pages = form.number("pages", 1000, least=1)
        site.crawls.start(
            new_directory(site.shelves.home, f"{opened.topic.name} hmm"),
            [f"--strategy=hmm:model={opened.directory / MODEL}", f"--topic={opened.directory / 'topic.toml'}",
             f"--pages={pages}", *(f"--seed={url}" for (url,) in rows)],
        )  # fmt: skip
    return go("/")


def _job(directory: Path) -> str:
    return f"train {directory}"


async def history(request: Request) -> Reply:
    """A browser's history, a HAR file or a file of sessions: they join those that were recorded here."""
    site: Site = request.app.state.site
    try:
        with NamedTemporaryFile() as file:
            async for chunk in request.stream():
                file.write(chunk)
            file.flush()
            text = await run_in_threadpool(_imported, site, request.path_params["name"], Path(file.name))
    except (TopicrawlError, TooMuch) as error:
        return PlainTextResponse(str(error).replace(getattr(file, "name", "?"), "the file"), status_of(error))
    return PlainTextResponse(text)


def _imported(site: Site, name: str, path: Path) -> str:
    found = sessions.labelled_sessions(path)
    labels = {**dict.fromkeys(found.relevant, "relevant"), **dict.fromkeys(found.irrelevant, "irrelevant")}
    with _WRITING:
        browsing = Browsing(site.shelves.directory(name))
        room_left = _STEPS - len(browsing.steps)
        steps = [
            Step(f"imported {strftime('%Y-%m-%d %H:%M')} {number}", url, labels.get(url, ""))
            for number, walk in enumerate(found.walks)
            for url in walk
        ]
        browsing.add(steps[: max(0, room_left)])
    with site.shelves.opened(name) as opened:
        pages = {step.url for step in steps}
        here = sum(opened.store.visit_of(url) is not None for url in pages)
    return (
        f"{len(found.walks):,} sessions with {min(len(steps), room_left):,} clicks were added. Of their {len(pages):,}"
        f" pages {here:,} are in the collection and can be learned from."
    )


def _session(form: Form) -> str:
    name = " ".join(form.text("session", most=80).split())
    if not name or not name.isprintable() or name.startswith("#"):
        raise UsageError("the session needs a name")
    return name
