"""Rows of an export: one per page, read from the archive.

Pages are read one at a time, so the memory use does not depend on the size of the collection.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple, get_args, get_type_hints

from msgspec.structs import replace

from topicrawl import parse
from topicrawl.collection.annotations import list_current_annotations
from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_filter import ExportFilter
from topicrawl.collection.reviewer_log import load_reasons
from topicrawl.collection.store import CollectionStore, StoredVisit, replace_surrogates
from topicrawl.documents.file_types import detect_type
from topicrawl.errors import DamagedError
from topicrawl.models import Failure, Response
from topicrawl.parse.main_text import extract_main_text
from topicrawl.parse.markdown import render_markdown
from topicrawl.parse.text_only import extract_text
from topicrawl.parse.usage_signals import extract_usage_signals
from topicrawl.relevance.page_summary import select_summary
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint

_MAX_CHAIN_LENGTH = 100
_MAX_CACHED_SOURCES = 20_000  # pages whose source is cached for link chains


class TextKind(StrEnum):
    """Content of the column `text`."""

    VISIBLE = "visible"  # visible text, one block per line
    MAIN = "main"  # main text without menus, sidebars and footers; visible text for formats other than HTML
    MARKDOWN = "markdown"  # Markdown with headings, lists, tables and links; visible text for other formats than HTML
    SUMMARY = "summary"  # sentences of the summary, one per line (Mohammadi)
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One row of an export, in the order of the columns. The annotation of each field is its description."""

    id: Annotated[str, "Hash of the URL: the same in every format, every export and every crawl."]
    url: Annotated[str, "URL after redirects."]
    title: Annotated[str, "Title of the page."]
    text: Annotated[str, "As selected: visible text, main text, Markdown, summary, or empty."]
    language: Annotated[str, "ISO 639-1 code; empty if unknown."]
    type: Annotated[str, "Media type from the Content-Type header."]
    bytes: Annotated[int, "Size of the decoded body."]
    words: Annotated[int, "Number of words in the visible text."]
    relevance: Annotated[float, "Relevance to the topic, 0 to 1, as the judge of the crawl computed it."]
    relevant: Annotated[bool, "Decision of the last verdict; without one, whether the relevance reaches the threshold."]
    fetched: Annotated[datetime, "Time of the request, UTC."]
    status: Annotated[int, "HTTP status code."]
    canonical: Annotated[str, "Canonical URL that the page declares."]
    digest: Annotated[str, "Hash of the visible text: equal digests mean equal texts."]
    requested: Annotated[str, "URL of the link, before redirects."]
    source: Annotated[str, "URL of the page that contains the link; empty for a seed."]
    anchor: Annotated[str, "Anchor text of the link."]
    chain: Annotated[tuple[str, ...], "URLs of the pages from a seed to this page, the seed first."]
    depth: Annotated[int, "Number of links from a seed."]
    step: Annotated[int, "Number of the fetch in the crawl."]
    score: Annotated[float, "Score of the link when it was fetched."]
    segment: Annotated[str, "WARC file of the collection that contains the response."]
    offset: Annotated[int, "Byte offset of the record in the WARC file."]
    length: Annotated[int, "Compressed length of the record."]
    licence: Annotated[str, "Licence that the page names, as a URL or text; empty if none."]
    licence_from: Annotated[str, "Source of the licence: rel, meta, json-ld, or link (a Creative Commons URL)."]
    robots: Annotated[tuple[str, ...], "Robots directives of the page, as written: noai, noimageai, nofollow …"]
    tdm_reserved: Annotated[bool | None, "W3C TDM Reservation Protocol: whether mining is reserved; empty if unknown."]
    tdm_policy: Annotated[str, "URL of the policy for text and data mining."]
    label: Annotated[str, "Label of the page: relevant, irrelevant or unsure; empty if it has none."]
    labelled_by: Annotated[str, "Source of the label: user or reviewer (a language model)."]
    label_reason: Annotated[str, "Reason that the reviewer gives for its label."]


class ExportColumn(NamedTuple):
    """Name, type and description of a column."""

    name: str
    type: object  # as annotated
    description: str


def list_columns() -> list[ExportColumn]:
    """Return the columns of an export.

    >>> list_columns()[0].name, list_columns()[6].type
    ('id', <class 'int'>)
    """
    hints = get_type_hints(ExportRow, include_extras=True)
    return [ExportColumn(item.name, *get_args(hints[item.name])) for item in dataclasses.fields(ExportRow)]


class _PageRow(NamedTuple):
    """Row of a page in the database."""

    title: str
    language: str
    words: int
    bytes: int
    type: str
    canonical: str
    digest: str


@dataclass
class ExportPages:
    """Iterator over the selected pages of a collection. Afterwards `unreadable` is the number of damaged pages."""

    directory: Path
    page_filter: ExportFilter = field(default_factory=ExportFilter)
    text_kind: TextKind = TextKind.VISIBLE
    unreadable: int = 0  # pages whose record in the archive is damaged
    candidates_seen: int = 0  # number of pages so far, readable or not

    def __post_init__(self) -> None:
        self._store = CollectionStore(self.directory / "topicrawl.sqlite", readonly=True)
        self._archive = WarcArchive(self.directory)
        self.topic: Topic = load_crawl_topic(self.directory)
        steps, self._values = self.page_filter.build_step_query(self.topic.threshold)
        self._where = f"step IN ({steps})"
        self._annotations, self._reasons = list_current_annotations(self._store), load_reasons(self._store)
        self._get_source = lru_cache(_MAX_CACHED_SOURCES)(self._find_source)

    def _get_label(self, url: str) -> str:
        """Return the label of the last verdict on a page; empty if it has none."""
        annotation = self._annotations.get(fingerprint(url))
        return str(annotation.label) if annotation is not None else ""

    def count_candidates(self) -> int:
        """Return the number of selected pages, including damaged ones."""
        return self._store.query_value(int, f"SELECT count(*) FROM visits WHERE {self._where}", self._values)

    def get_latest_fetch_time(self) -> float:
        """Return the time of the last fetch among the candidates, or 0 if there are none."""
        sql = f"SELECT coalesce(max(at), 0) FROM visits WHERE {self._where}"
        return self._store.query_value(float, sql, self._values)

    def get_fact(self, name: str) -> object:
        """Return a fact of the collection, or None if it is not stored."""
        return self._store.get_fact(name)

    def __iter__(self) -> Iterator[ExportRow]:
        for visit in self._store.iterate_visits(self._where, self._values):
            self.candidates_seen += 1
            sql = "SELECT title, language, words, bytes, type, canonical, digest FROM pages WHERE id=? AND step=?"
            for row in self._store.query_typed_rows(_PageRow, sql, (fingerprint(visit.url), visit.step)):
                exported = self._build_row(visit, row)
                if exported is not None:
                    yield exported

    def read_member(self, page: ExportRow) -> bytes:
        """Return the compressed record of a page from the archive. Raise `DamagedError` if its segment is lost."""
        return self._archive.read_member(RecordLocation(int(page.segment.partition(".")[0]), page.offset, page.length))

    def close(self) -> None:
        """Close the archive and the database."""
        self._archive.close()
        self._store.close()

    def _build_row(self, visit: StoredVisit, row: _PageRow) -> ExportRow | None:
        """Return the row of a page, read from the archive. Count a damaged page in `unreadable` and return None."""
        spot = visit.location
        assert spot is not None  # the query selects only visits with a record
        try:
            response = replace(self._archive.read_response(spot), url=visit.requested, final_url=visit.url)
            text = self._extract_text(visit, response)
        except DamagedError:
            self.unreadable += 1
            return None
        usage, page_id = extract_usage_signals(response), fingerprint(visit.url)
        annotation = self._annotations.get(page_id)
        is_by_reviewer = annotation is not None and annotation.is_by_reviewer
        decision = annotation.is_relevant if annotation is not None else None
        return ExportRow(
            id=f"{page_id & 0xFFFFFFFFFFFFFFFF:016x}",
            url=visit.url,
            title=row.title,
            text=text,
            language=row.language,
            type=row.type,
            bytes=row.bytes,
            words=row.words,
            relevance=visit.relevance or 0.0,
            relevant=(visit.relevance or 0.0) >= self.topic.threshold if decision is None else decision,
            fetched=datetime.fromtimestamp(visit.at, UTC),
            status=visit.status,
            canonical=row.canonical,
            digest=row.digest,
            requested=visit.requested,
            source=visit.source,
            anchor=visit.anchor,
            chain=self._trace_chain(visit),
            depth=visit.depth,
            step=visit.step,
            score=visit.score,
            segment=f"{spot.segment:05d}.warc.gz",
            offset=spot.offset,
            length=spot.length,
            licence=replace_surrogates(usage.licence),
            licence_from=usage.licence_from,
            robots=tuple(map(replace_surrogates, usage.robots)),
            tdm_reserved=usage.tdm_reserved,
            tdm_policy=replace_surrogates(usage.tdm_policy),
            label=self._get_label(visit.url),
            labelled_by="" if annotation is None else "reviewer" if is_by_reviewer else "user",
            label_reason=self._reasons.get(page_id, "") if is_by_reviewer else "",
        )

    def _extract_text(self, visit: StoredVisit, response: Response) -> str:
        """Return the text in the selected form. Raise `DamagedError` if the page cannot be parsed again."""
        if self.text_kind is TextKind.NONE:
            return ""
        readable = response.readable
        kind = readable.type if readable is not None else detect_type(response.body, response.content_type)
        if self.text_kind is TextKind.MARKDOWN and "html" in kind:
            return replace_surrogates(render_markdown(response))
        if self.text_kind is TextKind.SUMMARY:
            text = _extract_summary(visit, response)
        else:
            text = (extract_main_text if self.text_kind is TextKind.MAIN else extract_text)(response)
        if isinstance(text, Failure):
            raise DamagedError(f"{visit.url}: the stored page cannot be parsed: {text}")
        return replace_surrogates(text)

    def _trace_chain(self, visit: StoredVisit) -> tuple[str, ...]:
        """Return the URLs from a seed to the page of a visit, at most `_MAX_CHAIN_LENGTH`."""
        chain, source = [visit.url], visit.source
        while source and len(chain) < _MAX_CHAIN_LENGTH and source not in chain:
            chain.append(source)
            source = self._get_source(source)
        return tuple(chain[::-1])

    def _find_source(self, url: str) -> str:
        visit = self._store.find_visit(url)
        return visit.source if visit is not None else ""


def _extract_summary(visit: StoredVisit, response: Response) -> str | Failure:
    """Return the summary of a page, one sentence per line; the failure if the page cannot be parsed."""
    page = parse.parse_response(response, visit.link, context=False, styles=True)
    return page if isinstance(page, Failure) else "\n".join(select_summary(page, anchor=visit.anchor))
