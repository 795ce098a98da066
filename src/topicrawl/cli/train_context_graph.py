"""`topicrawl train context-graph`: how far from the topic a page is, learned once for many crawls."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, cast

import click

from topicrawl.cli.training import Told, free, topic_of, write_model
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.context_graph import ContextGraph
from topicrawl.strategies.strategy import Setting


@click.command("context-graph")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option("--examples", type=click.Path(path_type=Path), help="Example pages: lines of url⇥relevant|irrelevant.")
@click.option("--layers", default=ContextGraph.layers, show_default=True, help="Layers beyond the examples.")
@click.option("--parents", default=ContextGraph.parents, show_default=True, help="Pages that lead to a page, at most.")
@click.option("--width", default=ContextGraph.width, show_default=True, help="Pages of a layer, at most.")
@click.option("--terms", default=ContextGraph.terms, show_default=True, help="Words that tell layers apart.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the model.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="A summary as JSON on standard output.")
def command(**options: Any) -> None:
    """Learn from relevant examples and the pages that link to them how far a page is from the topic.

    WEB is a recorded web or the directory of an earlier crawl: the examples and what links to them are looked up in it.

    \b
    Example:
      topicrawl train context-graph dengue-fever --topic dengue-fever/topic.toml \\
          --examples dengue.tsv --out dengue.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy context_graph:model=dengue.json
    """
    out: Path = options["out"]
    free(out, force=options["force"])
    started = time.perf_counter()
    topic = topic_of(options["words"], options["topic_file"], options["examples"])
    shape = {name: options[name] for name in ("layers", "parents", "width", "terms")}
    crawler = ContextGraph(**shape)
    crawler.begin(Setting(topic, Vsm(topic), Random(0)))
    crawler.prepare(Told(options["web"], topic))
    model = cast(Mapping[str, Any], crawler.state())
    origin = {
        "web": str(options["web"]),
        "words": dict(topic.words),
        "relevant": list(topic.relevant),
        "language": crawler.setting.vsm.lexicon.language,
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
