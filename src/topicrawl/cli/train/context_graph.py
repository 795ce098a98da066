"""`topicrawl train context-graph`: train a model of the link distance of a page from the topic."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, cast

import click

from topicrawl.cli.train.inputs import TrainingDataWithProgress, check_output_path, load_topic, write_model
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.context_graph import ContextGraph


@click.command("context-graph")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path),
    help="A topic.toml instead of words. [default: the topic of the crawl]",
)
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Example pages, one per line: url⇥relevant|irrelevant."
)
@click.option("--layers", default=ContextGraph.layers, show_default=True, help="Layers beyond the examples.")
@click.option(
    "--parents", default=ContextGraph.parents, show_default=True, help="Maximum number of backlinks per page."
)
@click.option("--width", default=ContextGraph.width, show_default=True, help="Maximum number of pages per layer.")
@click.option("--terms", default=ContextGraph.terms, show_default=True, help="Number of words as features.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the model.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def context_graph_command(**options: Any) -> None:
    """Train a model of the link distance of a page from the topic, from relevant examples and their backlinks.

    WEB is a recorded web or the directory of an earlier crawl, with the examples and the pages that link to them.

    \b
    Examples:
      topicrawl train context-graph dengue-fever --examples dengue.tsv --out dengue.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy context_graph:model=dengue.json
    """
    out: Path = options["out"]
    check_output_path(out, force=options["force"])
    started = time.perf_counter()
    topic = load_topic(options["words"], options["topic_file"], options["examples"], web=options["web"])
    shape = {name: options[name] for name in ("layers", "parents", "width", "terms")}
    strategy = ContextGraph(**shape)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    strategy.fit(TrainingDataWithProgress(options["web"], topic))
    model = cast(Mapping[str, Any], strategy.get_state())
    origin = {
        "web": str(options["web"]),
        "words": dict(topic.words),
        "relevant": list(topic.relevant),
        "language": strategy.context.vsm.lexicon.language,
        **shape,
    }
    write_model(out, "context-graph", model, origin)
    seconds = round(time.perf_counter() - started, 1)
    if options["as_json"]:
        summary = {"out": str(out), "layers": model["pages"], "terms": model["terms"], "seconds": seconds}
        click.echo(json.dumps(summary, ensure_ascii=False))
        return
    sizes = ", ".join(map(str, model["pages"]))
    click.echo(f"\r{out}: {sizes} pages in layers 0 to {len(model['pages']) - 1}, in {seconds:g} s", err=True)
