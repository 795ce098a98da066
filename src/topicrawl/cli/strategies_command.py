"""`topicrawl strategies`: the crawlers that there are."""

from __future__ import annotations

import inspect
import json

import click

from topicrawl import strategies
from topicrawl.strategies.strategy import Strategy


def described(kind: type[Strategy]) -> dict[str, object]:
    """One strategy as plain values.

    >>> described(strategies.available()["breadth_first"])["inputs"]
    ['words']
    """
    sentence = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    return {
        "name": kind.name,
        "family": kind.family,
        "paper": kind.paper,
        "inputs": list(kind.inputs),
        "parameters": {name: default for name, (_, default) in strategies.parameters(kind).items()},
        "sentence": sentence,
    }


@click.command("strategies")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(as_json: bool) -> None:
    """The crawlers that there are, with their parameters.

    \b
    Use one with:
      topicrawl crawl "dengue fever" --seed URL --strategy n_best_first:n=20
    """
    rows = [described(kind) for kind in strategies.available().values()]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        parameters = row["parameters"]
        assert isinstance(parameters, dict)
        shown = ", ".join(f"{name}={value}" for name, value in parameters.items())
        click.echo(f"{row['name']}" + (f":{shown}" if shown else ""))
        click.echo(f"    {row['sentence']}")
        inputs = row["inputs"]
        assert isinstance(inputs, list)
        click.echo(f"    {row['family']}; {row['paper']}; needs {', '.join(inputs)}")
