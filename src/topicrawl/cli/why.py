"""`topicrawl why`: the links from a seed to a page, or the reason why the page was not fetched."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from topicrawl.collection import queries
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError
from topicrawl.urls import canonicalize_url
from topicrawl.web.url_explanation import FETCHED_NOT_STORED, PageLabel, explain_url

_SUGGESTED_PAGES = 3  # relevant pages that are suggested when no URL is given


@click.command("why")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("url", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def why_command(directory: Path, url: str | None, as_json: bool) -> None:
    """Show the links from a seed to a page, with their scores, or the reason why the page was not fetched.

    Without a URL, suggest some URLs of the crawl.

    \b
    Examples:
      topicrawl why dengue-fever
      topicrawl why dengue-fever https://www.who.int/news-room/fact-sheets/detail/dengue-and-severe-dengue
    """
    if url is None:
        _print_suggestions(directory, as_json)
        return
    address = canonicalize_url(url)
    if address is None:
        raise UsageError(f"{url!r} is not a valid http or https URL")
    explanation = explain_url(directory, address)
    if as_json:
        click.echo(json.dumps(asdict(explanation), indent=1, ensure_ascii=False))
        return
    action = "stored" if explanation.reason in FETCHED_NOT_STORED else "fetched"
    click.echo(f"{address} was {'fetched' if explanation.fetched else f'not {action}: {explanation.reason}'}")
    if explanation.detail:
        click.echo(f"  {explanation.detail}")
    for label in explanation.labels:
        click.echo(f"  {_format_label(label)}")
    for number, step in enumerate(explanation.chain):
        click.echo(f"  {step.step:>6}  {step.url}{_format_anchor(step.anchor, seed=number == 0)}")
        relevance = "" if step.relevance is None else f", relevance {step.relevance:.3f}"
        failure = f", failed: {step.failure}" if step.failure else ""
        click.echo(f"          score {step.score:.3f}{_format_parts(step.parts)}{relevance}{failure}")
    if explanation.summary:
        click.echo("  summary:")
        for sentence in explanation.summary:
            click.echo(f"          {''.join(each if each.isprintable() else ' ' for each in sentence)}")
    if explanation.waiting is not None:
        waiting = explanation.waiting
        click.echo(f"  {'':>6}  {address}{_format_anchor(waiting.anchor, seed=not waiting.source)}")
        click.echo(f"          score {waiting.score:.3f}{_format_parts(waiting.parts)}")


def _print_suggestions(directory: Path, as_json: bool) -> None:
    """Print URLs to ask about: the most relevant pages, and the last URL of each failure."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        best, failures = queries.list_best_pages(store, _SUGGESTED_PAGES), queries.find_latest_failures(store)
    finally:
        store.close()
    if as_json:
        click.echo(json.dumps({"best": [list(pair) for pair in best], "failures": failures}, ensure_ascii=False))
        return
    if not best and not failures:
        click.echo(f"no page has been fetched yet; `topicrawl status {directory}` shows the state of the crawl")
        return
    width = max(len(name) for name in (*failures, "0.00"))
    click.echo("the most relevant pages, and the last URL of each failure:")
    for name, address in (*((f"{relevance:.2f}", address) for relevance, address in best), *failures.items()):
        click.echo(f"  {name:<{width}}  {address}")
    click.echo(f"explain one of them: topicrawl why {directory} URL")


def _format_label(label: PageLabel) -> str:
    if label.by == "user":
        return f"labelled {label.label} by a user"
    return f"labelled {label.label} by the reviewer {label.model} (confidence {label.confidence:.2f}): {label.reason}"


def _format_anchor(anchor: str, *, seed: bool) -> str:
    if anchor:
        return f" through the link “{anchor}”"
    return " as a seed" if seed else ""


def _format_parts(parts: dict[str, float]) -> str:
    return f" ({', '.join(f'{name} {value:.3f}' for name, value in parts.items())})" if parts else ""
