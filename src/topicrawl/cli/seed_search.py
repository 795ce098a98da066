"""Find seeds with search engines, for `topicrawl seeds` and for `topicrawl crawl` without seeds."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, field, replace

import click

from topicrawl.cli.event_loop import run_async
from topicrawl.errors import SeedError
from topicrawl.models import Link
from topicrawl.seeds.election import ElectionResult, format_seed, parse_election_result
from topicrawl.seeds.engine_queries import collect_answers
from topicrawl.seeds.engine_selection import build_providers
from topicrawl.seeds.voting import DEFAULT_VOTES, SeedGroup, elect_irrelevant_seeds, elect_seeds, get_voting_engines
from topicrawl.settings import Settings
from topicrawl.topic import Topic

RESULTS_PER_ENGINE = 20  # default number of results
SEARCH_TIMEOUT = 20.0  # seconds for one query, if the user gives no other timeout
_PAUSE = 1.1  # seconds between two queries to the same engine, because some allow one per second
_MAX_PAGES_READ = 60  # maximum number of pages that are fetched for their links
MINUS = "-"  # as negative query: the words of the topic with a minus sign


@dataclass(frozen=True)
class SeedQuery:
    """Query for seeds: words, search engines and options."""

    words: str
    engines: tuple[str, ...] = ()
    searxng: str = ""
    number: int = RESULTS_PER_ENGINE
    votes: int | None = None  # None: two, or one if a single engine answers
    negative: str = ""
    important: str = ""  # hits or pagerank
    settings: Settings = field(default_factory=lambda: Settings(timeout=SEARCH_TIMEOUT))


def find_seeds(query: SeedQuery) -> ElectionResult:
    """Query the search engines and elect seeds by vote. With `query.important`, rank them by their links.

    Raise `SeedError` if no engine answers or too few can vote.
    """
    found = run_async(_query_engines(query))
    if not found.voting_engines:
        troubles = "; ".join(f"{engine}: {trouble[:120]}" for engine, trouble in found.failures.items())
        raise SeedError(
            f"no engine answered ({troubles}): try again later, choose other engines with --engine, or give the seeds "
            "yourself: topicrawl crawl --seed URL"
        )
    if query.votes is not None and query.votes > len(found.voting_engines):
        raise SeedError(
            f"{query.votes} votes are impossible with {len(found.voting_engines)} engines "
            f"({', '.join(found.voting_engines)}): "
            "lower --votes, or add engines with --engine"
        )
    return _rank_by_links(found, query) if query.important else found


async def _query_engines(query: SeedQuery) -> ElectionResult:
    """Send the query and the negative query to the engines, and count the votes.

    A page needs `query.votes` votes; by default two, or one if a single engine answers.
    """
    # Imported here, because `--help` does not need the HTTP client.
    from topicrawl.engine.http_setup import build_http_settings
    from topicrawl.seeds.clients import build_engine_access

    timeout = query.settings.timeout
    engines = build_providers(query.engines, build_engine_access(build_http_settings(query.settings), query.searxng))
    click.echo(f"querying {', '.join(engine.name for engine in engines)}", err=True)
    positive_answers = await collect_answers(engines, query.words, query.number, timeout)
    votes = query.votes or max(1, min(DEFAULT_VOTES, len(get_voting_engines(positive_answers))))
    seeds = elect_seeds(positive_answers, votes)
    all_answers = [(query.words, answer) for answer in positive_answers]
    if negative_words := _build_negative_query(query):
        await asyncio.sleep(_PAUSE)
        negative_answers = await collect_answers(engines, negative_words, query.number, timeout)
        seeds += elect_irrelevant_seeds(
            negative_answers, seeds, min(votes, max(1, len(get_voting_engines(negative_answers))))
        )
        all_answers += [(negative_words, answer) for answer in negative_answers]
    return ElectionResult(query.words, tuple(seeds), tuple(all_answers), votes)


def _build_negative_query(query: SeedQuery) -> str:
    return f"-{query.words}" if query.negative == MINUS else query.negative


def _rank_by_links(found: ElectionResult, query: SeedQuery) -> ElectionResult:
    """Fetch the elected pages politely, and rank each group by the links between the pages (`query.important`)."""
    from topicrawl.cli.topic_examples import ExamplePageReader
    from topicrawl.seeds.link_ranking import rank_seeds

    urls = [seed.url for seed in found.seeds if seed.group != SeedGroup.IRRELEVANT][:_MAX_PAGES_READ]
    pages = ExamplePageReader(None, query.settings).read_pages(urls)
    links = {url: [link.url for link in page.links] for url, page in pages.items()}
    return replace(found, seeds=tuple(rank_seeds(found.seeds, links, query.important)))


def print_seeds(found: ElectionResult) -> None:
    """Print the seeds and their votes to standard error."""
    for engine, trouble in found.failures.items():
        click.echo(f"{engine} has no vote: {trouble}", err=True)
    for engine, trouble in found.negative_failures.items():
        click.echo(f"{engine} did not answer the negative query: {trouble}", err=True)
    if len(found.voting_engines) < DEFAULT_VOTES:
        click.echo(
            f"only {found.voting_engines[0]} answered: all its results are accepted without a second vote", err=True
        )
    for seed in found.selected_seeds:
        click.echo(f"  {seed.url}\n      {format_seed(seed)}", err=True)
    rest = sum(seed.group == SeedGroup.TOO_FEW_VOTES for seed in found.seeds)
    counts = (
        f"{len(found.selected_seeds)} seeds from {', '.join(found.voting_engines)}; {rest} pages with too few votes"
    )
    click.echo(counts + (f"; {len(found.irrelevant_seeds)} irrelevant" if found.irrelevant_seeds else ""), err=True)


def find_crawl_seeds(topic: Topic, settings: Settings, *, as_json: bool) -> ElectionResult:
    """Find the seeds of a crawl without `--seed` and `--seeds`, and print them.

    Seeds outside the scope of the settings are removed. Raise `SeedError` if none is left.
    """
    found = find_seeds(
        SeedQuery(
            topic.name,
            settings.engine,
            settings.searxng,
            settings=settings,
        )
    )
    scope = settings.build_scope()
    found = replace(found, seeds=tuple(seed for seed in found.seeds if scope.contains(Link(seed.url))))
    if as_json:
        seeds = [{"url": seed.url, "group": seed.group, "ranks": dict(seed.ranks)} for seed in found.selected_seeds]
        event = {"event": "seeds", "seeds": seeds, "voters": found.voting_engines, "troubles": found.failures}
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    else:
        print_seeds(found)
    return _require_seeds(found, "the engines")


def load_saved_seeds(text: str, where: str) -> ElectionResult:
    """Load the seeds of an earlier search from the text of its JSON file; `where` is the name of the file.

    Raise `SeedError` if the file is invalid or contains no seeds.
    """
    return _require_seeds(parse_election_result(text, where), where)


def _require_seeds(found: ElectionResult, where: str) -> ElectionResult:
    """Return the result unchanged. Raise `SeedError` if it contains no seeds; `where` names their source."""
    if not found.selected_seeds:
        raise SeedError(
            f"{where} found no page with {found.votes} votes: try other words with `topicrawl seeds`, "
            "or give seeds with --seed URL"
        )
    return found
