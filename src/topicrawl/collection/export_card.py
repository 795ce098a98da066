"""The card of an export: what it is, how it came about and what its columns mean, for whoever gets the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from topicrawl import __version__
from topicrawl.collection.export import Choice, Exported, Pages, columns
from topicrawl.collection.export_output import MARK
from topicrawl.parse.signals import commons_name
from topicrawl.urls import host

_MOST = 10_000  # hosts and the like that are counted one by one
_SHOWN = 10


@dataclass
class Tally:
    """Figures of what was exported, of bounded size however much it is."""

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

    def count(self, page: Exported) -> None:
        self.pages += 1
        self.words += page.words
        self.characters += len(page.text)
        self.reserved += page.tdm_reserved is True
        self.first = page.fetched if self.first is None else min(self.first, page.fetched)
        self.last = page.fetched if self.last is None else max(self.last, page.fetched)
        _add(self.hosts, [host(page.url)])
        _add(self.languages, [page.language or "unknown"])
        _add(self.types, [page.type or "unknown"])
        _add(self.licences, [commons_name(page.licence) or page.licence or "none named"])
        _add(self.robots, page.robots)


@dataclass(frozen=True)
class About:
    """What the card says beside the figures."""

    pages: Pages
    to: str
    name: str  # of the file or folder
    made: float  # seconds since 1970


def card(tally: Tally, about: About) -> str:
    """The card in Markdown, with the head that dataset hubs read."""
    topic = about.pages.topic
    head = {
        "pretty_name": f"Web pages about {topic.name}",
        "language": [name for name, _ in tally.languages.most_common(_SHOWN) if name != "unknown"],
        "tags": ["web crawl", "topicrawl"],
    }
    front = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in head.items())
    parts = [
        f"---\n{front}---\n{MARK}\n# Web pages about {_line(topic.name)}\n",
        f"`{about.name}`: {tally.pages:,} pages as {about.to}, exported by Topicrawl {__version__} on "
        f"{_day(datetime.fromtimestamp(about.made, UTC))}.\n",
        _listed("What was looked for", _sought(about.pages)),
        _listed("Figures", _figures(tally, about.pages)),
        _counted("Languages", tally.languages),
        _counted("Media types", tally.types),
        _counted("Hosts", tally.hosts),
        _licences(tally),
        _columns(about.to),
    ]
    return "\n".join(part for part in parts if part)


def _sought(pages: Pages) -> list[str]:
    topic, identity, settings = pages.topic, pages.fact("identity"), pages.fact("settings")
    heaviest = sorted(topic.words.items(), key=lambda item: -item[1])[:30]
    words = ", ".join(f"{word} ({weight:g})" for word, weight in heaviest)
    seeds = pages.fact("seeds")
    lines = [f"Words with weights: {words}", f"Threshold of relevance: {topic.threshold:g}", _chosen(pages.choice)]
    if isinstance(identity, dict):
        lines.append(f"Strategy: `{identity.get('strategy')}`")
    if isinstance(settings, dict) and isinstance(settings.get("robots"), bool):
        lines.append(f"robots.txt was {'obeyed' if settings['robots'] else 'not asked'}")
    if isinstance(seeds, list) and seeds:
        more = f" and {len(seeds) - _SHOWN} more" if len(seeds) > _SHOWN else ""
        lines.append(f"Seeds: {', '.join(f'<{seed}>' for seed in seeds[:_SHOWN])}{more}")
    return lines


def _chosen(choice: Choice) -> str:
    least = "the threshold" if choice.relevance is None else f"{choice.relevance:g}"
    parts = [f"relevance of at least {least}"]
    for name, values in (("languages", choice.languages), ("hosts", choice.hosts), ("types", choice.types)):
        if values:
            parts.append(f"{name} {', '.join(values)}")
    if choice.since:
        parts.append(f"fetched since {_day(datetime.fromtimestamp(choice.since, UTC))}")
    if choice.until != float("inf"):
        parts.append(f"fetched before {_day(datetime.fromtimestamp(choice.until, UTC))}")
    return f"Chosen: {'; '.join(parts)}"


def _figures(tally: Tally, pages: Pages) -> list[str]:
    lines = [f"{tally.words:,} words of visible text; {tally.characters:,} characters in the column `text`"]
    lines[0] += f" ({pages.text})"
    if tally.first is not None and tally.last is not None:
        lines.append(f"Fetched from {_day(tally.first)} to {_day(tally.last)}")
    if pages.unreadable:
        lines.append(f"Left out: {pages.unreadable:,} pages whose stored record is damaged")
    return lines


def _licences(tally: Tally) -> str:
    text = _counted("Licences that the pages name", tally.licences)
    lines = [
        "A licence named on a page may stand for a picture or a part of it; none named does not mean free to use.",
        f"{tally.reserved:,} pages reserve text and data mining (TDM Reservation Protocol).",
    ]
    told = ", ".join(f"`{_line(word)}` {count:,}" for word, count in tally.robots.most_common(_SHOWN))
    lines.append(f"Wishes to robots: {told}." if told else "No page has wishes to robots.")
    return text + "\n" + "\n".join(lines) + "\n"


def _columns(to: str) -> str:
    lines = ["## Columns", "", "| name | |", "|---|---|"]
    lines += [
        f"| `{column.name}` | {column.sentence} |"
        for column in columns()
        if column.name != "text" or to not in ("warc", "markdown")
    ]
    return "\n".join(lines) + "\n"


def _listed(title: str, lines: Iterable[str]) -> str:
    return f"## {title}\n\n" + "".join(f"- {_line(line)}\n" for line in lines)


def _counted(title: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    full = len(counts) >= _MOST
    shown = [f"{_line(name)}: {count:,}" for name, count in counts.most_common(_SHOWN)]
    if len(counts) > _SHOWN:
        shown.append(f"{'at least ' if full else ''}{len(counts) - _SHOWN:,} more")
    return _listed(title, shown)


def _add(counts: Counter[str], names: Iterable[str]) -> None:
    for name in names:
        if name in counts or len(counts) < _MOST:
            counts[name] += 1


def _line(text: str) -> str:
    """Text from the web in one line that cannot become a heading, a tag or a table."""
    return " ".join(text.split()).replace("<!", "&lt;!").replace("|", "\\|")


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d")
