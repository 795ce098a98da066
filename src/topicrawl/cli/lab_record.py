"""`topicrawl lab record`: a crawl of one's own as a recorded web."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("record")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A directory that is new or empty.")
@click.option("--labels", is_flag=True, help="Write labels and a task too, by the crawl's own judgement.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Relevance from which a page is on topic.")
def record(directory: Path, out: Path, labels: bool, threshold: float | None) -> None:
    """Make a recorded web of a crawl, for `lab run` and `lab compare`.

    Only pages that the crawl fetched are in it. With --labels, a page is on topic when the crawl judged it so
    (--threshold; by default the topic's own): a help for trying things out, no substitute for labels of people.

    \b
    Example:
      topicrawl lab record dengue-fever --out dengue-web --labels
      topicrawl lab compare dengue-web --strategies best_first,shark_search
    """
    from topicrawl.lab.record import record as recorded

    made = recorded(directory, out, labels=labels or threshold is not None, threshold=threshold)
    lost = f", {made.lost} could not be read" if made.lost else ""
    on_topic = f", {made.relevant} of them on topic" if labels or threshold is not None else ""
    click.echo(f"{made.pages} pages in {out}{on_topic}{lost}")
