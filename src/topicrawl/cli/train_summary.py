"""`topicrawl train summary`: which sentences make a summary, from a table that a reader has filled in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.label_summary import Labelling, added, asked_about
from topicrawl.cli.training import free, write_model
from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import Row, read_rows
from topicrawl.lab.summary_training import Count, trained
from topicrawl.relevance.summary_network import KIND, model_of


@click.command("summary")
@click.argument("files", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the network, or the table.")
@click.option("--language", default="en", show_default=True, help="The language of the pages, two letters.")
@click.option("--label", is_flag=True, help="Write a table of the sentences of pages, for a reader to fill in.")
@click.option("--ask", is_flag=True, help="With --label: ask about each sentence here and now.")
@click.option(
    "--web",
    type=click.Path(path_type=Path),
    help="With --label: the recorded web, or the directory of a crawl, that holds the pages; FILES are URLs then.",
)
@click.option(
    "--pages",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="With --web and no URLs: so many pages, drawn at random but always the same.",
)
@click.option("--force", is_flag=True, help="Overwrite the network if it exists. A table is always added to.")
@click.option("--json", "as_json", is_flag=True, help="What was measured, as JSON on standard output.")
def command(**options: Any) -> None:
    """Learn from a reader which sentences of a page belong into its summary.

    First make a table of sentences, and write yes or no into its first column, in any editor or with --ask. Then
    train: FILES are such tables. How good the network is, is measured on pages that it has not seen.

    \b
    Example:
      topicrawl train summary --label page1.html page2.html --out sentences.tsv --ask
      topicrawl train summary sentences.tsv --out network.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy summary:network=network.json
    """
    asked = Asked(**options)
    if asked.label:
        asked.read_and_ask()
    else:
        asked.train()


@dataclass(frozen=True)
class Asked:
    """The options of `train summary`."""

    files: Sequence[str]
    out: Path
    language: str
    label: bool
    ask: bool
    web: Path | None
    pages: int
    force: bool
    as_json: bool

    def __post_init__(self) -> None:
        if len(self.language) != 2 or not self.language.isalpha():
            raise UsageError(f"--language is {self.language!r}: two letters, for example en or de")
        if not self.label and (self.ask or self.web is not None):
            raise UsageError("--ask and --web are for making a table: give --label with them")
        if not self.files and not self.label:
            raise UsageError("which tables? Name the files that `topicrawl train summary --label` wrote")
        if not self.files and self.web is None and not (self.ask and self.out.exists()):
            raise UsageError("which pages? Name HTML files, or a recorded web with --web")

    def read_and_ask(self) -> None:
        rows = read_rows(self.out) if self.out.exists() else []
        if self.files or self.web is not None:
            rows = added(rows, Labelling(self.files, self.language.lower(), self.web, self.pages), self.out)
        if self.ask:
            rows = asked_about(rows, self.out)
        left = sum(row.label is None for row in rows)
        pages = len({row.page for row in rows})
        click.echo(f"{self.out}: {len(rows)} sentences of {pages} pages, {left} without a label", err=True)

    def train(self) -> None:
        free(self.out, force=self.force)
        rows = [row for file in self.files for row in read_rows(Path(file))]
        network, count = trained(rows, where=", ".join(self.files))
        told = _told(rows, count)
        write_model(self.out, KIND, model_of(network, self.language.lower()), {"tables": list(self.files), **told})
        if self.as_json:
            click.echo(json.dumps({"out": str(self.out), **told}))
            return
        click.echo(
            f"{self.out}: {told['sentences']} labelled sentences of {told['pages']} pages, {told['yes']} yes"
            + (f", {told['unlabelled']} without a label left out" if told["unlabelled"] else "")
        )
        click.echo(
            f"on pages not seen: accuracy {count.accuracy:.3f} (always the more frequent label: {count.majority:.3f}), "
            f"precision {count.precision:.3f}, recall {count.recall:.3f}"
        )
        if count.accuracy <= count.majority:
            click.echo("topicrawl: no better than always the same label; more labelled pages may help", err=True)


def _told(rows: Sequence[Row], count: Count) -> dict[str, float]:
    return {
        "pages": len({row.page for row in rows if row.label is not None}),
        "sentences": count.sentences,
        "yes": count.yes,
        "unlabelled": len(rows) - count.sentences,
        "accuracy": round(count.accuracy, 4),
        "majority": round(count.majority, 4),
        "precision": round(count.precision, 4),
        "recall": round(count.recall, 4),
    }
