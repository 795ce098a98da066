"""`topicrawl strategies`: the crawlers that there are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import click

from topicrawl import strategies
from topicrawl.strategies.strategy import Strategy


@dataclass(frozen=True)
class Description:
    """A strategy in plain values."""

    name: str
    family: str
    paper: str
    inputs: tuple[str, ...]
    parameters: dict[str, object]
    sentence: str
    cost: float | None  # CPU milliseconds a page, on the made-up web; None for a strategy of one's own


def described(kind: type[Strategy]) -> Description:
    """What a strategy says of itself.

    >>> described(strategies.available()["breadth_first"]).inputs
    ('words',)
    """
    parameters = {name: default for name, (_, default) in strategies.parameters(kind).items()}
    cost = strategies.costs().get(kind.name)
    return Description(kind.name, kind.family, kind.paper, kind.inputs, parameters, strategies.sentence(kind), cost)


@click.command("strategies")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(as_json: bool) -> None:
    """The crawlers that there are, with their parameters, what they need and what they cost.

    A page's cost is that of the whole loop, parsing included, as measured on a made-up web; it depends on the machine
    and the pages, so read it as a comparison.

    \b
    Use one with:
      topicrawl crawl "dengue fever" --seed URL --strategy n_best_first:n=20
    """
    rows = [described(kind) for kind in strategies.available().values()]
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=1))
        return
    for row in rows:
        shown = ",".join(f"{name}={value}" for name, value in row.parameters.items())
        click.echo(row.name + (f":{shown}" if shown else ""))
        click.echo(f"    {row.sentence}")
        cost = f"; about {row.cost:g} ms of CPU a page" if row.cost is not None else ""
        click.echo(f"    {row.family}; {row.paper}; needs {', '.join(row.inputs)}{cost}")
