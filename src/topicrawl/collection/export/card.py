"""Data card of an export in Markdown: its topic, statistics, licences and columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from topicrawl import __version__
from topicrawl.collection.export.output import CARD_MARKER
from topicrawl.collection.export.rows import ExportPages, ExportRow, list_columns
from topicrawl.collection.page_filter import ExportFilter
from topicrawl.parse.usage_signals import get_creative_commons_name
from topicrawl.urls import get_host

_MAX_DISTINCT = 10_000  # maximum number of distinct values per counter
_MAX_LISTED = 10  # values listed in the card


@dataclass
class ExportStatistics:
    """Statistics of the exported pages, in bounded memory."""

    pages: int = 0
    words: int = 0
    characters: int = 0
    reserved: int = 0
    first: datetime | None = None
    last: datetime | None = None
    hosts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    robots: Counter[str] = field(default_factory=Counter)

    def add_page(self, page: ExportRow) -> None:
        """Add one page."""
        self.pages += 1
        self.words += page.words
        self.characters += len(page.text)
        self.reserved += page.tdm_reserved is True
        self.first = page.fetched if self.first is None else min(self.first, page.fetched)
        self.last = page.fetched if self.last is None else max(self.last, page.fetched)
        _count_bounded(self.hosts, [get_host(page.url)])
        _count_bounded(self.languages, [page.language or "unknown"])
        _count_bounded(self.types, [page.type or "unknown"])
        _count_bounded(self.licences, [get_creative_commons_name(page.licence) or page.licence or "none named"])
        _count_bounded(self.robots, page.robots)


@dataclass(frozen=True)
class CardInfo:
    """Information in the card besides the statistics."""

    pages: ExportPages
    to: str
    name: str  # name of the file or folder
    created_at: float  # time of the export, in seconds since 1970


def render_card(statistics: ExportStatistics, info: CardInfo) -> str:
    """Return the card in Markdown, with the YAML front matter that dataset hubs read."""
    topic = info.pages.topic
    head = {
        "pretty_name": f"Web pages about {topic.name}",
        "language": [name for name, _ in statistics.languages.most_common(_MAX_LISTED) if name != "unknown"],
        "tags": ["web crawl", "topicrawl"],
    }
    front = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in head.items())
    parts = [
        f"---\n{front}---\n{CARD_MARKER}\n# Web pages about {_escape_line(topic.name)}\n",
        f"`{info.name}`: {statistics.pages:,} pages as {info.to}, exported by Topicrawl {__version__} on "
        f"{_format_day(datetime.fromtimestamp(info.created_at, UTC))}.\n",
        _render_list("Topic and selection", _describe_topic(info.pages)),
        _render_list("Statistics", _describe_figures(statistics, info.pages)),
        _render_counts("Languages", statistics.languages),
        _render_counts("Media types", statistics.types),
        _render_counts("Hosts", statistics.hosts),
        _render_licences(statistics),
        _render_columns(info.to),
    ]
    return "\n".join(part for part in parts if part)


def _describe_topic(pages: ExportPages) -> list[str]:
    topic, identity, settings = pages.topic, pages.get_fact("identity"), pages.get_fact("settings")
    heaviest = sorted(topic.words.items(), key=lambda item: -item[1])[:30]
    words = ", ".join(f"{word} ({weight:g})" for word, weight in heaviest)
    seeds = pages.get_fact("seeds")
    lines = [
        f"Weighted words: {words}",
        f"Relevance threshold: {topic.threshold:g}",
        _describe_filter(pages.page_filter),
    ]
    if isinstance(identity, dict):
        lines.append(f"Strategy: `{identity.get('strategy')}`")
    if isinstance(settings, dict) and isinstance(settings.get("robots"), bool):
        lines.append(f"robots.txt was {'obeyed' if settings['robots'] else 'ignored'}")
    if isinstance(seeds, list) and seeds:
        more = f" and {len(seeds) - _MAX_LISTED} more" if len(seeds) > _MAX_LISTED else ""
        lines.append(f"Seeds: {', '.join(f'<{seed}>' for seed in seeds[:_MAX_LISTED])}{more}")
    return lines


def _describe_filter(page_filter: ExportFilter) -> str:
    parts = [_describe_relevance(page_filter)]
    for name, values in (
        ("verdicts", page_filter.verdicts),
        ("languages", page_filter.languages),
        ("hosts", page_filter.hosts),
        ("types", page_filter.types),
        ("tags", page_filter.tags),
    ):
        if values:
            parts.append(f"{name} {', '.join(values)}")
    if page_filter.since:
        parts.append(f"fetched since {_format_day(datetime.fromtimestamp(page_filter.since, UTC))}")
    if page_filter.until != float("inf"):
        parts.append(f"fetched before {_format_day(datetime.fromtimestamp(page_filter.until, UTC))}")
    if page_filter.max_relevance is not None:
        parts.append(f"relevance of at most {page_filter.max_relevance:g}")
    if page_filter.text:
        parts.append(f"title or URL with “{page_filter.text}”")
    if page_filter.urls:
        parts.append(f"{len(page_filter.urls)} URLs")
    return f"Selected pages: {'; '.join(parts)}"


def _describe_relevance(page_filter: ExportFilter) -> str:
    """Describe the relevance of the selected pages."""
    if page_filter.verdicts or page_filter.includes_irrelevant:
        return "any relevance" if not page_filter.relevance else f"relevance of at least {page_filter.relevance:g}"
    minimum = "the threshold" if page_filter.relevance is None else f"{page_filter.relevance:g}"
    return f"ruled relevant, or without a verdict and with a relevance of at least {minimum}"


def _describe_figures(statistics: ExportStatistics, pages: ExportPages) -> list[str]:
    lines = [f"{statistics.words:,} words of visible text; {statistics.characters:,} characters in the column `text`"]
    lines[0] += f" ({pages.text_kind})"
    if statistics.first is not None and statistics.last is not None:
        lines.append(f"Fetched from {_format_day(statistics.first)} to {_format_day(statistics.last)}")
    if pages.unreadable:
        lines.append(f"Omitted: {pages.unreadable:,} pages whose stored record is damaged")
    return lines


def _render_licences(statistics: ExportStatistics) -> str:
    text = _render_counts("Licences named on the pages", statistics.licences)
    lines = [
        "A licence on a page may apply only to an image or a part of it. "
        "A page that names no licence is not necessarily free to use.",
        f"{statistics.reserved:,} pages reserve text and data mining (TDM Reservation Protocol).",
    ]
    directives = ", ".join(
        f"`{_escape_line(word)}` {count:,}" for word, count in statistics.robots.most_common(_MAX_LISTED)
    )
    lines.append(f"Robots directives: {directives}." if directives else "No page has robots directives.")
    return text + "\n" + "\n".join(lines) + "\n"


def _render_columns(to: str) -> str:
    lines = ["## Columns", "", "| name | |", "|---|---|"]
    lines += [
        f"| `{column.name}` | {column.description} |"
        for column in list_columns()
        if column.name != "text" or to not in ("warc", "markdown")
    ]
    return "\n".join(lines) + "\n"


def _render_list(title: str, lines: Iterable[str]) -> str:
    return f"## {title}\n\n" + "".join(f"- {_escape_line(line)}\n" for line in lines)


def _render_counts(title: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    is_full = len(counts) >= _MAX_DISTINCT
    lines = [f"{_escape_line(name)}: {count:,}" for name, count in counts.most_common(_MAX_LISTED)]
    if len(counts) > _MAX_LISTED:
        lines.append(f"{'at least ' if is_full else ''}{len(counts) - _MAX_LISTED:,} more")
    return _render_list(title, lines)


def _count_bounded(counts: Counter[str], names: Iterable[str]) -> None:
    for name in names:
        if name in counts or len(counts) < _MAX_DISTINCT:
            counts[name] += 1


def _escape_line(text: str) -> str:
    """Return text as one line that Markdown cannot interpret as a heading, a tag or a table."""
    return " ".join(text.split()).replace("<!", "&lt;!").replace("|", "\\|")


def _format_day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d")
