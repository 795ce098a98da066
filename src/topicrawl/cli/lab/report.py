"""`topicrawl lab report`: the tables of Kluev 2000 for a crawl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl.errors import CollectionError, UsageError

if TYPE_CHECKING:
    from topicrawl.collection.review import ReviewCandidate
    from topicrawl.lab.review_tables import GroupPrecision, ReviewTables


@click.command("report")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--judged",
    type=click.Path(path_type=Path),
    help="Judged pages, one per line: url⇥relevant|irrelevant. [default: the reviewed pages of the crawl]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report_command(directory: Path, judged: Path | None, as_json: bool) -> None:
    """Print Tables 4 to 8 of Kluev 2000 for a crawl: precision by group and pooled, recall, and effort.

    The groups are those of `topicrawl review`. Samples of the groups and of the rejected pages must be judged:
    `topicrawl review` and `topicrawl lab sample` draw them.

    \b
    Examples:
      topicrawl lab report dengue-fever --judged judged.tsv
      topicrawl lab report dengue-fever --json
    """
    from msgspec import to_builtins

    from topicrawl.collection.directory import load_crawl_topic
    from topicrawl.collection.review import load_candidates
    from topicrawl.collection.store import CollectionStore
    from topicrawl.lab.review_tables import build_review_tables

    if not (directory / "topicrawl.sqlite").is_file():
        raise CollectionError(f"{directory} contains no crawl: specify a directory created by `topicrawl crawl`")
    threshold = load_crawl_topic(directory).threshold
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        pages = load_candidates(store, threshold)
    finally:
        store.close()
    tables = build_review_tables(pages, _load_judgements(pages, judged))
    click.echo(json.dumps(to_builtins(tables)) if as_json else _format_tables(tables))


def _load_judgements(pages: list[ReviewCandidate], judged: Path | None) -> dict[str, bool]:
    """Return the judged pages by URL: those of the file, or without a file, those that a user has reviewed."""
    from topicrawl import topic as topics

    if judged is None:
        return {page.url: page.label == "relevant" for page in pages if page.is_reviewed}
    relevant, irrelevant = topics.load_examples(judged)
    if both := sorted(set(relevant) & set(irrelevant)):
        raise UsageError(f"{judged}: {both[0]} is judged relevant and irrelevant")
    return {**dict.fromkeys(relevant, True), **dict.fromkeys(irrelevant, False)}


def _format_tables(tables: ReviewTables) -> str:
    """Return the tables as text."""
    undoubted, header = tables.groups[0], f"{'':<14}{'pages':>8}{'judged':>8}{'relevant':>10}{'precision':>11}"
    lines = ["Table 4: groups of the recommended pages", header]
    lines.append(f"{'evaluated':<14}{tables.evaluated:>8,}")
    lines.append(f"{'recommended':<14}{tables.recommended:>8,}")
    lines += [_format_group(group) for group in tables.groups]
    lines += ["", "Table 5: undoubtedly relevant pages", header, _format_group(undoubted)]
    lines += ["", "Table 6: recommended pages, with the errors of Table 5", header, _format_group(tables.pooled)]
    lines += ["", "Table 7: recall among the fetched pages", *_format_recall(tables)]
    lines += ["", "Table 8: pages to judge by hand", f"{'doubtful':<14}{tables.doubtful:>8,}"]
    lines.append(f"{'judged':<14}{tables.doubtful_judged:>8,}  ({tables.effort:.1%} of the recommended pages)")
    return "\n".join(lines)


def _format_group(group: GroupPrecision) -> str:
    relevant = "-" if group.relevant is None else f"{group.relevant:,.0f}"
    precision = "-" if group.precision is None else f"{group.precision:.2f}"
    return f"{group.name:<14}{group.pages:>8,}{group.judged:>8,}{relevant:>10}{precision:>11}"


def _format_recall(tables: ReviewTables) -> list[str]:
    lines = [_format_group(tables.rejected)]
    if tables.recall is None:
        return [*lines, "recall: not estimated, because too few pages are judged: `topicrawl review` lists the samples"]
    value, low, high = tables.recall
    lines.append(f"recall: {value:.2f} ({low:.2f} to {high:.2f}), valid if the judged pages are random samples")
    return [*lines, f"relevant rejected pages by the rule of whole hosts: {tables.rejected_by_host:,}"]
