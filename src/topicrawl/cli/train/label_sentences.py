"""Table of sentences for `topicrawl train summary`: extract sentences from pages and ask the user for labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import click

from topicrawl import parse
from topicrawl.cli.train.inputs import TrainingDataWithProgress
from topicrawl.errors import UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.summary_labels import SentenceRow, build_rows, write_rows
from topicrawl.models import Link, Page, Response
from topicrawl.text.lexicon import load_lexicon
from topicrawl.topic import Topic
from topicrawl.urls import canonicalize_url

_CONTENT_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".txt": "text/plain"}


@dataclass(frozen=True)
class SentenceSource:
    """Pages from which sentences are extracted: local files, or pages of a recorded web."""

    files: Sequence[str]
    language: str
    web: Path | None
    pages: int

    def read_pages(self) -> Iterator[tuple[str, Page, str]]:
        """Yield the name of each page, the page, and the anchor text of a link to it ("" if no link is known)."""
        if self.web is None:
            for path in _list_files(self.files):
                yield str(path), parse_file(path), ""
            return
        data = TrainingDataWithProgress(self.web, Topic.of("pages"), styles=True)
        count = 0
        for url in self._list_urls(self.web):
            page = data.get_page(url)
            if page is None and self.files:
                raise UsageError(f"{url} is not a page of {self.web}")
            if page is not None:
                anchors = [link.anchor or link.alt for link in data.get_parents(page.url, 1)]
                yield page.url, page, "".join(anchors)
                count += 1
            if count == self.pages and not self.files:
                return

    def _list_urls(self, web: Path) -> list[str]:
        """Return the given URLs, or all URLs of the recorded web in a random but fixed order."""
        if not self.files:
            recorded_urls = list(Recording(web))
            Random(0).shuffle(recorded_urls)
            return recorded_urls
        urls = [(canonicalize_url(file), file) for file in self.files]
        for url, file in urls:
            if url is None:
                raise UsageError(f"{file!r} is not a valid http or https URL; with --web, give the URLs of pages")
        return [url for url, _ in urls if url is not None]


def add_sentences(rows: list[SentenceRow], source: SentenceSource, out: Path) -> list[SentenceRow]:
    """Add the sentences of pages that are not in the table yet, write the table and return it.

    Raise `UsageError` if the table stays empty.
    """
    known_pages = {row.page for row in rows}
    words = load_lexicon(source.language)
    for name, page, anchor in source.read_pages():
        name = " ".join(name.split())
        if name not in known_pages:
            known_pages.add(name)
            rows = [*rows, *build_rows(page, words, name=name, anchor=anchor)]
    if not rows:
        raise UsageError("no sentence of these pages is left after pruning: choose pages with more text")
    write_rows(out, rows)
    return rows


def ask_for_labels(rows: list[SentenceRow], out: Path) -> list[SentenceRow]:
    """Ask the user for the label of every unlabelled sentence, until the user quits. Return the new rows.

    The table is saved after each answer.
    """
    rows = list(rows)
    unlabelled = [number for number, row in enumerate(rows) if row.label is None]
    click.echo("Does the sentence belong in a summary of its page? y: yes, n: no, s: skip, q: quit")
    page = ""
    for done, number in enumerate(unlabelled):
        row = rows[number]
        if row.page != page:
            page = row.page
            click.echo(f"\n{page}")
        click.echo(f"\n  {row.sentence}")
        answer = click.prompt(f"  {len(unlabelled) - done} left", type=click.Choice(list("ynsq")), show_choices=True)
        if answer == "q":
            break
        if answer in ("y", "n"):
            rows[number] = replace(row, label=answer == "y")
            write_rows(out, rows)
    return rows


def _list_files(files: Sequence[str]) -> Iterator[Path]:
    """Yield the files in order; a directory stands for all HTML and text files in it."""
    for name in files:
        path = Path(name)
        if path.is_dir():
            pages = sorted(file for file in path.rglob("*") if file.suffix.lower() in _CONTENT_TYPES and file.is_file())
            if not pages:
                raise UsageError(f"{path} contains no .html, .htm, .xhtml or .txt file")
            yield from pages
        else:
            yield path


def parse_file(path: Path) -> Page:
    """Parse a local file."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    url = f"file://{path}"
    response = Response(url, url, 200, {"content-type": _CONTENT_TYPES.get(path.suffix.lower(), "")}, body)
    page = parse.parse_response(response, Link(url), styles=True)
    if not isinstance(page, Page):
        raise UsageError(f"{path} is not an HTML or text page: {page}")
    return page
