"""What search engines told about addresses, kept in the crawl's directory so that nobody is asked twice.

DIR/seeds.json   the election of the seeds (`topicrawl.seeds.found`)
DIR/told.jsonl   a line for each question about an address: {"kind": "parents", "url": "…", "told": ["…"]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from topicrawl.database import errors_of
from topicrawl.seeds.found import Found, read_found

SEEDS = "seeds.json"
TOLD = "told.jsonl"
PARENTS = "parents"
DESCRIPTION = "description"


class Told:
    """The memory of a directory; a directory without any is one that nobody was asked for."""

    def __init__(self, directory: Path, found: Found | None = None) -> None:
        self.directory = directory
        self._known: dict[str, dict[str, tuple[str, ...]]] = {PARENTS: {}, DESCRIPTION: {}}
        self.found = found if found is not None else _found(directory / SEEDS)
        self._snippets = self.found.descriptions if self.found is not None else {}
        text = _text(directory / TOLD)
        # A kill may have left the last line without its end.
        self._gap = "\n" if text and not text.endswith("\n") else ""
        for kind, url, told in _answers(text):
            self._known[kind][url] = told

    def parents(self, url: str) -> Sequence[str] | None:
        """The pages that engines named; None: nobody was asked."""
        return self._known[PARENTS].get(url)

    def description(self, url: str) -> str | None:
        """What engines say of a page; None: nothing, or nobody was asked."""
        told = self._known[DESCRIPTION].get(url)
        return (" ".join(told) if told else None) or self._snippets.get(url)

    def asked(self, kind: str) -> int:
        """How many questions of a kind were asked so far, in earlier runs too."""
        return len(self._known[kind])

    def knows(self, kind: str, url: str) -> bool:
        return url in self._known[kind]

    def keep(self, kind: str, url: str, told: Sequence[str]) -> None:
        """Remember an answer, also an empty one."""
        self._known[kind][url] = tuple(told)
        path = self.directory / TOLD
        line = json.dumps({"kind": kind, "url": url, "told": list(told)})
        with errors_of(path):
            self.directory.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{self._gap}{line}\n")
        self._gap = ""

    def keep_seeds(self) -> None:
        """Write the election down."""
        path = self.directory / SEEDS
        if self.found is not None and not path.exists():
            with errors_of(path):
                path.write_text(json.dumps(self.found.table(), ensure_ascii=False, indent=1) + "\n", "utf-8")


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    with errors_of(path):
        return path.read_text("utf-8", "replace")


def _found(path: Path) -> Found | None:
    text = _text(path)
    return read_found(text, str(path)) if text else None


def _answers(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """The answers in a file; a line that is torn or not ours was not kept."""
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line) if line.strip() else {}
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("kind") in (PARENTS, DESCRIPTION) and isinstance(row.get("told"), list):
            rows.append((str(row["kind"]), str(row.get("url")), tuple(map(str, row["told"]))))
    return rows
