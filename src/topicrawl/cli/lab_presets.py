"""`topicrawl lab presets`: the topics that a paper measured its crawlers on."""

from __future__ import annotations

from pathlib import Path

import click

from topicrawl.cli.lab_evaluate import written


@click.command("presets")
@click.argument("name", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="Write the topic to this file. [default: show it]")
def presets(name: str | None, out: Path | None) -> None:
    """The six topics of Batsakis 2007: list them, or write one as a topic.toml.

    \b
    Example:
      topicrawl lab presets "dengue fever" --out topic.toml
      topicrawl crawl --topic topic.toml --seed https://en.wikipedia.org/wiki/Category:Health
    """
    from topicrawl.lab.presets import PRESETS, preset

    if name is None:
        if out is not None:
            raise click.UsageError("which topic? `topicrawl lab presets` lists them")
        for item in PRESETS:
            click.echo(f"{item.name:18}{item.seed}  (the thesis: {item.began})")
        return
    found = preset(name)
    if out is None:
        click.echo(found.topic().toml(), nl=False)
        return
    written(out, found.topic().toml())
    click.echo(f"next: topicrawl crawl --topic {out} --seed {found.seed} --contact you@example.org", err=True)
