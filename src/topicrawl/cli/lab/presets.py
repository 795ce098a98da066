"""`topicrawl lab presets`: the evaluation topics of Batsakis 2007."""

from __future__ import annotations

from pathlib import Path

import click

from topicrawl.cli.lab.evaluate import write_new_file


@click.command("presets")
@click.argument("name", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="Write the topic to this file. [default: standard output]")
@click.option(
    "--limits",
    type=click.Path(path_type=Path),
    help="Write the limits of the thesis (1,000 pages of at most 100 KB, only HTML) to this file, for crawl --config.",
)
def presets_command(name: str | None, out: Path | None, limits: Path | None) -> None:
    """List the six topics of Batsakis 2007, or write one as a topic.toml.

    \b
    Examples:
      topicrawl lab presets "dengue fever" --out topic.toml --limits thesis.toml
      topicrawl crawl --topic topic.toml --config thesis.toml --seed https://en.wikipedia.org/wiki/Category:Health
    """
    from topicrawl.lab.presets import PRESETS, format_limits, get_preset

    if limits is not None:
        write_new_file(limits, format_limits())

    if name is None:
        if out is not None:
            raise click.UsageError("--out needs the name of a topic; `topicrawl lab presets` lists the topics")
        if limits is not None:
            return
        for item in PRESETS:
            click.echo(f"{item.name:18}{item.seed}  (in the thesis: {item.original_seed})")
        return
    selected = get_preset(name)
    if out is None:
        click.echo(selected.build_topic().to_toml(), nl=False)
        return
    write_new_file(out, selected.build_topic().to_toml())
    config = f" --config {limits}" if limits is not None else ""
    click.echo(
        f"next: topicrawl crawl --topic {out}{config} --seed {selected.seed} --contact you@example.org", err=True
    )
