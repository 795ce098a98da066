"""`topicrawl train summary`: train a network that selects the sentences of a summary, from a labelled table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.train.inputs import check_output_path, write_model
from topicrawl.cli.train.label_sentences import SentenceSource, add_sentences, ask_for_labels
from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import SentenceRow, read_rows
from topicrawl.lab.summary_training import ConfusionMatrix, train_network
from topicrawl.relevance.summary_network import MODEL_KIND, serialize_network


@click.command("summary")
@click.argument("files", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the network, or the table.")
@click.option("--language", default="en", show_default=True, help="The language of the pages, two letters.")
@click.option("--label", is_flag=True, help="Write a table of sentences to label, instead of training a network.")
@click.option("--ask", is_flag=True, help="With --label: ask for the label of each sentence on the terminal.")
@click.option(
    "--web",
    type=click.Path(path_type=Path),
    help="With --label: a recorded web or the directory of a crawl with the pages; FILES are URLs.",
)
@click.option(
    "--pages",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="With --web and without URLs: the number of random pages; the sample is always the same.",
)
@click.option("--force", is_flag=True, help="Overwrite the network if it exists. An existing table is extended.")
@click.option("--json", "as_json", is_flag=True, help="Print the measured quality as JSON.")
def summary_command(**options: Any) -> None:
    """Train a network that selects the sentences of the summary of a page.

    First write a table of sentences with --label, and fill its first column with yes or no, in an editor or with --ask.
    Then train the network: FILES are such tables. Its quality is measured on pages that are not in the training set.

    \b
    Examples:
      topicrawl train summary --label page1.html page2.html --out sentences.tsv --ask
      topicrawl train summary sentences.tsv --out network.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy summary:network=network.json
    """
    training = SummaryTrainingOptions(**options)
    if training.label:
        training.write_table()
    else:
        training.train_network()


@dataclass(frozen=True)
class SummaryTrainingOptions:
    """Options of `topicrawl train summary`."""

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
            raise UsageError(f"--language is {self.language!r}: it must have two letters, for example en or de")
        if not self.label and (self.ask or self.web is not None):
            raise UsageError("--ask and --web can only be used with --label")
        if not self.files and not self.label:
            raise UsageError("no tables given: give the files that `topicrawl train summary --label` wrote")
        if not self.files and self.web is None and not (self.ask and self.out.exists()):
            raise UsageError("no pages given: give HTML files, or a recorded web with --web")

    def write_table(self) -> None:
        """Write the table of sentences, and ask for their labels if `--ask` is given."""
        rows = read_rows(self.out) if self.out.exists() else []
        if self.files or self.web is not None:
            rows = add_sentences(
                rows, SentenceSource(self.files, self.language.lower(), self.web, self.pages), self.out
            )
        if self.ask:
            rows = ask_for_labels(rows, self.out)
        unlabelled = sum(row.label is None for row in rows)
        pages = len({row.page for row in rows})
        click.echo(f"{self.out}: {len(rows)} sentences of {pages} pages, {unlabelled} without a label", err=True)

    def train_network(self) -> None:
        """Train the network, write it and print its quality."""
        check_output_path(self.out, force=self.force)
        rows = [row for file in self.files for row in read_rows(Path(file))]
        network, count = train_network(rows, where=", ".join(self.files))
        summary = _build_summary(rows, count)
        write_model(
            self.out,
            MODEL_KIND,
            serialize_network(network, self.language.lower()),
            {"tables": list(self.files), **summary},
        )
        if self.as_json:
            click.echo(json.dumps({"out": str(self.out), **summary}))
            return
        click.echo(
            f"{self.out}: {summary['sentences']} labelled sentences of {summary['pages']} pages, {summary['yes']} yes"
            + (f", {summary['unlabelled']} unlabelled sentences ignored" if summary["unlabelled"] else "")
        )
        click.echo(
            f"on held-out pages: accuracy {count.accuracy:.3f} (majority baseline: {count.majority_accuracy:.3f}), "
            f"precision {count.precision:.3f}, recall {count.recall:.3f}"
        )
        if count.accuracy <= count.majority_accuracy:
            click.echo("topicrawl: not better than the majority baseline; more labelled pages may help", err=True)


def _build_summary(rows: Sequence[SentenceRow], count: ConfusionMatrix) -> dict[str, float]:
    return {
        "pages": len({row.page for row in rows if row.label is not None}),
        "sentences": count.sentences,
        "yes": count.positives,
        "unlabelled": len(rows) - count.sentences,
        "accuracy": round(count.accuracy, 4),
        "majority": round(count.majority_accuracy, 4),
        "precision": round(count.precision, 4),
        "recall": round(count.recall, 4),
    }
