"""`topicrawl lab record`: convert a crawl to a recorded web."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("record")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A new or empty directory.")
@click.option("--labels", is_flag=True, help="Also write labels and a task, from the relevance scores of the crawl.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Minimum relevance of a page on the topic.")
def record_command(directory: Path, out: Path, labels: bool, threshold: float | None) -> None:
    """Convert a crawl to a recorded web for `topicrawl lab run` and `topicrawl lab compare`.

    The recorded web contains only the pages that the crawl fetched. With --labels, a page is on topic if the crawl
    scored it at least --threshold (default: the threshold of the topic), or if you marked it as relevant. Such labels
    are good enough for experiments, but do not replace labels by people.

    \b
    Examples:
      topicrawl lab record dengue-fever --out dengue-web --labels
      topicrawl lab compare dengue-web --strategies best_first,shark_search
    """
    from topicrawl.lab.recording import record_crawl

    result = record_crawl(directory, out, labels=labels or threshold is not None, threshold=threshold)
    lost = f", {result.unreadable} could not be read" if result.unreadable else ""
    on_topic = f", {result.relevant} of them on topic" if labels or threshold is not None else ""
    click.echo(f"{result.pages} pages in {out}{on_topic}{lost}")
