"""`topicrawl strategies`: list the crawling strategies."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import click

from topicrawl import strategies
from topicrawl.strategies.base import Strategy


@dataclass(frozen=True)
class StrategyDescription:
    """Name, inputs, parameters and cost of a strategy."""

    name: str
    family: str
    paper: str
    inputs: tuple[str, ...]
    parameters: dict[str, object]
    sentence: str
    cost: float | None  # CPU milliseconds per page on recorded webs; None for a strategy from a plugin


def describe_strategy(kind: type[Strategy]) -> StrategyDescription:
    """Return the description of a strategy class.

    >>> describe_strategy(strategies.list_strategies()["breadth_first"]).inputs
    ('words',)
    """
    parameters = {name: default for name, (_, default) in strategies.get_parameters(kind).items()}
    cost = strategies.load_cpu_costs().get(kind.name)
    return StrategyDescription(
        kind.name, kind.family, kind.paper, kind.required_inputs, parameters, strategies.describe_strategy(kind), cost
    )


@click.command("strategies")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def strategies_command(as_json: bool) -> None:
    """List the crawling strategies with their parameters, required inputs and costs.

    The cost is the CPU time of the whole crawl loop per page, including parsing, measured on recorded
    webs. It depends on the machine and on the pages, so use it only to compare strategies.

    \b
    Use one with:
      topicrawl crawl "dengue fever" --seed URL --strategy n_best_first:n=20
    """
    rows = [describe_strategy(kind) for kind in strategies.list_strategies().values()]
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=1))
        return
    for row in rows:
        parameters = ",".join(f"{name}={value}" for name, value in row.parameters.items())
        click.echo(row.name + (f":{parameters}" if parameters else ""))
        click.echo(f"    {row.sentence}")
        cost = f"; about {row.cost:g} ms of CPU time per page" if row.cost is not None else ""
        click.echo(f"    {row.family}; {row.paper}; needs {', '.join(row.inputs)}{cost}")
