"""`topicrawl lab presets`: the evaluation topics of Batsakis 2007."""

from __future__ import annotations

from pathlib import Path

import click

from topicrawl.cli.lab.evaluate import write_new_file


@click.command("presets")
@click.argument("name", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="Write the topic to this file. [default: standard output]")
def presets_command(name: str | None, out: Path | None) -> None:
    """List the six topics of Batsakis 2007, or write one as a topic.toml.

    \b
    Examples:
      topicrawl lab presets "dengue fever" --out topic.toml
      topicrawl crawl --topic topic.toml --seed https://en.wikipedia.org/wiki/Category:Health
    """
    from topicrawl.lab.presets import PRESETS, get_preset

    if name is None:
        if out is not None:
            raise click.UsageError("--out needs the name of a topic; `topicrawl lab presets` lists the topics")
        for item in PRESETS:
            click.echo(f"{item.name:18}{item.seed}  (in the thesis: {item.original_seed})")
        return
    selected = get_preset(name)
    if out is None:
        click.echo(selected.build_topic().to_toml(), nl=False)
        return
    write_new_file(out, selected.build_topic().to_toml())
    click.echo(f"next: topicrawl crawl --topic {out} --seed {selected.seed} --contact you@example.org", err=True)
