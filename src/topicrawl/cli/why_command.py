"""`topicrawl why`: the way from a seed to a page, or the named reason why the page was not fetched."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from topicrawl.collection.store import Store, Stored
from topicrawl.errors import UsageError
from topicrawl.frontier.contract import Entry
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.urls import canonical, fingerprint

_LONGEST_CHAIN = 1000


def explained(directory: Path, url: str) -> dict[str, object]:
    """All that is known of a URL, with the chain of links that led to it, seed first."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        visit = store.visit_of(url)
        if visit is not None:
            answer: dict[str, object] = {"url": url, "fetched": visit.failure is None, "failure": visit.failure}
            answer["detail"] = visit.detail
            answer["chain"] = _chain(store, visit)
            return answer
        entry = asyncio.run(_entry(directory, url))
        if entry is not None:
            return _waiting(store, url, entry)
        return _refused(store, url)
    finally:
        store.close()


def _chain(store: Store, visit: Stored | None) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = []
    while visit is not None and len(steps) < _LONGEST_CHAIN:
        steps.append(
            {
                "step": visit.step,
                "url": visit.requested,
                "ended": visit.url,
                "anchor": visit.anchor,
                "score": visit.score,
                "parts": dict(json.loads(visit.parts)),
                "relevance": visit.relevance,
                "failure": visit.failure,
            }
        )
        visit = store.visit_of(visit.source) if visit.source else None
    return steps[::-1]


def _waiting(store: Store, url: str, entry: Entry) -> dict[str, object]:
    reason = {"waiting": "it waits", "leased": "it is being fetched"}.get(entry.state, entry.reason)
    return {
        "url": url,
        "fetched": False,
        "failure": None if entry.state in ("waiting", "leased") else entry.reason,
        "detail": reason,
        "score": entry.place.score,
        "score_at_first": entry.first_score,
        "parts": dict(entry.place.parts),
        "anchor": entry.link.anchor,
        "source": entry.link.source,
        "attempts": entry.attempts,
        "chain": _chain(store, store.visit_of(entry.link.source) if entry.link.source else None),
    }


def _refused(store: Store, url: str) -> dict[str, object]:
    sql = "SELECT p.url, l.anchor, l.refusal FROM links l JOIN pages p ON p.id = l.source WHERE l.target = ? LIMIT 1"
    rows = store.query(sql, (fingerprint(url),))
    if not rows:
        detail = "no page that was fetched links to it"
        return {"url": url, "fetched": False, "failure": "unseen", "detail": detail, "chain": []}
    source, anchor, refusal = rows[0]
    return {
        "url": url,
        "fetched": False,
        "failure": refusal,
        "detail": f"the link was not followed: {refusal}",
        "anchor": anchor,
        "source": source,
        "chain": _chain(store, store.visit_of(str(source))),
    }


async def _entry(directory: Path, url: str) -> Entry | None:
    frontier = Sqlite.look(directory / "frontier.sqlite")
    try:
        return await frontier.find(url)
    finally:
        await frontier.close()


@click.command("why")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(directory: Path, url: str, as_json: bool) -> None:
    """The links from a seed to a page, with their scores; or the named reason why it was not fetched.

    \b
    Example:
      topicrawl why dengue-fever https://www.who.int/news-room/fact-sheets/detail/dengue-and-severe-dengue
    """
    address = canonical(url)
    if address is None:
        raise UsageError(f"{url!r} is not a web address")
    answer = explained(directory, address)
    if as_json:
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    if answer["fetched"]:
        click.echo(f"{address} was fetched:")
    else:
        click.echo(f"{address} was not fetched: {answer['failure'] or ''} {answer['detail']}".rstrip())
    _print_chain(answer)


def _print_chain(answer: dict[str, object]) -> None:
    chain = answer["chain"]
    assert isinstance(chain, list)
    for number, step in enumerate(chain):
        anchor = f" by the link “{step['anchor']}”" if step["anchor"] else (" as a seed" if not number else "")
        click.echo(f"  {step['step']:>6}  {step['url']}{anchor}")
        relevance = "" if step["relevance"] is None else f", judged {step['relevance']:.3f}"
        failure = f", failed: {step['failure']}" if step["failure"] else ""
        click.echo(f"          score {step['score']:.3f}{_parts(step['parts'])}{relevance}{failure}")
    if "score" in answer:
        click.echo(f"          waits with score {answer['score']:.3f}{_parts(answer['parts'])}, “{answer['anchor']}”")


def _parts(parts: object) -> str:
    assert isinstance(parts, dict)
    return f" ({', '.join(f'{name} {value:.3f}' for name, value in parts.items())})" if parts else ""
