"""`topicrawl why`: the way from a seed to a page, or the named reason why the page was not fetched."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from topicrawl.collection import report
from topicrawl.collection.store import Store, Stored
from topicrawl.errors import UsageError
from topicrawl.frontier.contract import Entry
from topicrawl.frontier.sqlite_look import look
from topicrawl.records import Failure, Refusal
from topicrawl.urls import canonical

_LONGEST_CHAIN = 1000
_BEST = 3  # pages that are suggested
_NOT_KEPT = frozenset({Failure.DUPLICATE, Failure.NOINDEX})  # reasons that show when a page is here


@dataclass(frozen=True)
class Step:
    """One fetch on the way."""

    step: int
    url: str
    ended: str
    anchor: str
    score: float
    parts: dict[str, float]
    relevance: float | None
    failure: str | None


@dataclass(frozen=True)
class Waiting:
    """A link's place among those that wait."""

    score: float
    score_at_first: float
    parts: dict[str, float]
    anchor: str
    source: str
    attempts: int


@dataclass(frozen=True)
class Explanation:
    """What is known of a URL; the chain leads from a seed to it, or to the page that links to it."""

    url: str
    fetched: bool
    reason: str  # the name of what kept it from being fetched, or "fetched"
    detail: str = ""
    chain: list[Step] = field(default_factory=list)
    waiting: Waiting | None = None


def explained(directory: Path, url: str) -> Explanation:
    """Why a URL was fetched, or was not."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        visit = store.visit_of(url)
        if visit is not None:
            fetched = visit.failure is None
            return Explanation(url, fetched, visit.failure or "fetched", visit.detail, _chain(store, visit))
        entry = asyncio.run(_entry(directory, url))
        return _refused(store, url) if entry is None else _known(store, url, entry)
    finally:
        store.close()


def _chain(store: Store, visit: Stored | None) -> list[Step]:
    steps: list[Step] = []
    while visit is not None and len(steps) < _LONGEST_CHAIN:
        place = visit.place
        steps.append(
            Step(
                visit.step, visit.requested, visit.url, visit.anchor, place.score, dict(place.parts),
                visit.relevance, visit.failure,
            )
        )  # fmt: skip
        visit = store.visit_of(visit.source) if visit.source else None
    return steps[::-1]


def _known(store: Store, url: str, entry: Entry) -> Explanation:
    """A link that the frontier knows."""
    link, place = entry.link, entry.place
    chain = _chain(store, store.visit_of(link.source) if link.source else None)
    waits = Waiting(place.score, entry.first_score, dict(place.parts), link.anchor, link.source, entry.attempts)
    details = {"waiting": "its turn has not come", "leased": "it is being fetched now"}
    reason = entry.reason if entry.state in ("done", "dropped") else entry.state
    detail = details.get(entry.state, "")
    if reason.startswith("moved "):
        reason, _, target = reason.partition(" ")
        detail = f"it leads to {target}, which was put in its place"
    return Explanation(url, False, reason, detail, chain, waits)


def _refused(store: Store, url: str) -> Explanation:
    """A link that never reached the frontier, or no link at all."""
    link = report.refused(store, url)
    if link is not None:
        detail = f"the link “{link.anchor}” on {link.source or 'a page that asked not to be kept'} was not followed"
        return Explanation(url, False, link.refusal, detail, _chain(store, store.visit_of(link.source)))
    if report.offered(store, url):
        return Explanation(url, False, Refusal.HOST_BUDGET, "its host has given as many pages as it may")
    return Explanation(url, False, "unseen", "no page that was fetched links to it")


async def _entry(directory: Path, url: str) -> Entry | None:
    frontier = look(directory / "frontier.sqlite")
    try:
        return await frontier.find(url)
    finally:
        await frontier.close()


@click.command("why")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("url", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(directory: Path, url: str | None, as_json: bool) -> None:
    """The links from a seed to a page, with their scores; or the named reason why it was not fetched.

    Without a URL it names some that are worth asking about.

    \b
    Examples:
      topicrawl why dengue-fever
      topicrawl why dengue-fever https://www.who.int/news-room/fact-sheets/detail/dengue-and-severe-dengue
    """
    if url is None:
        _suggested(directory, as_json)
        return
    address = canonical(url)
    if address is None:
        raise UsageError(f"{url!r} is not a web address")
    answer = explained(directory, address)
    if as_json:
        click.echo(json.dumps(asdict(answer), indent=1, ensure_ascii=False))
        return
    missed = "kept" if answer.reason in _NOT_KEPT else "fetched"
    click.echo(f"{address} was {'fetched' if answer.fetched else f'not {missed}: {answer.reason}'}")
    if answer.detail:
        click.echo(f"  {answer.detail}")
    for number, step in enumerate(answer.chain):
        click.echo(f"  {step.step:>6}  {step.url}{_by(step.anchor, seed=number == 0)}")
        relevance = "" if step.relevance is None else f", judged {step.relevance:.3f}"
        failure = f", failed: {step.failure}" if step.failure else ""
        click.echo(f"          score {step.score:.3f}{_parts(step.parts)}{relevance}{failure}")
    if answer.waiting is not None:
        waits = answer.waiting
        click.echo(f"  {'':>6}  {address}{_by(waits.anchor, seed=not waits.source)}")
        click.echo(f"          score {waits.score:.3f}{_parts(waits.parts)}")


def _suggested(directory: Path, as_json: bool) -> None:
    """Addresses to ask about: the best pages, and one for each failure."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        best, failed = report.best(store, _BEST), report.latest_failures(store)
    finally:
        store.close()
    if as_json:
        click.echo(json.dumps({"best": [list(pair) for pair in best], "failures": failed}, ensure_ascii=False))
        return
    if not best and not failed:
        click.echo(f"nothing was fetched yet; `topicrawl status {directory}` says more")
        return
    width = max(len(name) for name in (*failed, "0.00"))
    click.echo("the best pages, and the last one of each failure:")
    for name, address in (*((f"{relevance:.2f}", address) for relevance, address in best), *failed.items()):
        click.echo(f"  {name:<{width}}  {address}")
    click.echo(f"ask about any: topicrawl why {directory} URL")


def _by(anchor: str, *, seed: bool) -> str:
    if anchor:
        return f" by the link “{anchor}”"
    return " as a seed" if seed else ""


def _parts(parts: dict[str, float]) -> str:
    return f" ({', '.join(f'{name} {value:.3f}' for name, value in parts.items())})" if parts else ""
