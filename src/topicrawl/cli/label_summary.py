"""Sentences for a reader: taken from pages, asked about one by one, saved after every answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import click

from topicrawl import parse
from topicrawl.cli.training import Told
from topicrawl.errors import UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.summary_labels import Row, rows_of, write_rows
from topicrawl.records import Link, Page, Response
from topicrawl.text.lexicon import lexicon
from topicrawl.topic import Topic
from topicrawl.urls import canonical

_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".txt": "text/plain"}


@dataclass(frozen=True)
class Labelling:
    """Which pages a table is made of."""

    files: Sequence[str]
    language: str
    web: Path | None
    pages: int

    def read(self) -> Iterator[tuple[str, Page, str]]:
        """The name of each page, the page, and the text of a link that leads to it where one is known."""
        if self.web is None:
            for path in _found(self.files):
                yield str(path), _page(path), ""
            return
        material = Told(self.web, Topic.of("pages"), styles=True)
        found = 0
        for url in self._urls(self.web):
            page = material.page(url)
            if page is None and self.files:
                raise UsageError(f"{url} is not a page of {self.web}")
            if page is not None:
                anchors = [link.anchor or link.alt for link in material.parents(page.url, 1)]
                yield page.url, page, "".join(anchors)
                found += 1
            if found == self.pages and not self.files:
                return

    def _urls(self, web: Path) -> list[str]:
        if not self.files:
            known = list(Recording(web))
            Random(0).shuffle(known)
            return known
        urls = [(canonical(file), file) for file in self.files]
        for url, file in urls:
            if url is None:
                raise UsageError(f"{file!r} is not a web address; with --web, pages are named by their URLs")
        return [url for url, _ in urls if url is not None]


def added(rows: list[Row], pages: Labelling, out: Path) -> list[Row]:
    """The table with the sentences of pages that were not in it yet, written."""
    known = {row.page for row in rows}
    words = lexicon(pages.language)
    for name, page, anchor in pages.read():
        name = " ".join(name.split())
        if name not in known:
            known.add(name)
            rows = [*rows, *rows_of(page, words, name=name, anchor=anchor)]
    if not rows:
        raise UsageError("no sentence of these pages is left after pruning: choose pages with more text")
    write_rows(out, rows)
    return rows


def asked_about(rows: list[Row], out: Path) -> list[Row]:
    """Ask about every sentence without a label, and save each answer at once."""
    rows = list(rows)
    waiting = [number for number, row in enumerate(rows) if row.label is None]
    click.echo("Does the sentence belong into a summary of its page? y: yes, n: no, s: skip it, q: quit")
    page = ""
    for done, number in enumerate(waiting):
        row = rows[number]
        if row.page != page:
            page = row.page
            click.echo(f"\n{page}")
        click.echo(f"\n  {row.sentence}")
        answer = click.prompt(f"  {len(waiting) - done} left", type=click.Choice(list("ynsq")), show_choices=True)
        if answer == "q":
            break
        if answer in ("y", "n"):
            rows[number] = replace(row, label=answer == "y")
            write_rows(out, rows)
    return rows


def _found(files: Sequence[str]) -> Iterator[Path]:
    """The files, and those of directories, in order."""
    for name in files:
        path = Path(name)
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if each.suffix.lower() in _TYPES and each.is_file())
            if not inside:
                raise UsageError(f"{path} holds no .html, .htm, .xhtml or .txt file")
            yield from inside
        else:
            yield path


def _page(path: Path) -> Page:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    url = f"file://{path}"
    response = Response(url, url, 200, {"content-type": _TYPES.get(path.suffix.lower(), "")}, body)
    page = parse.read(response, Link(url), styles=True)
    if not isinstance(page, Page):
        raise UsageError(f"{path} is no page: {page}")
    return page
