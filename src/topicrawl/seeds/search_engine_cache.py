"""Cache of search engine answers in the crawl's directory, so that no query is sent twice.

DIR/seeds.json             result of the seed election (`topicrawl.seeds.election`)
DIR/engine-answers.jsonl   one line per query about a URL: {"kind": "backlinks", "url": "…", "answer": ["…"]}

Directories of format 4 and older name the file `told.jsonl`, the kind `parents` and the answer `told`. The cache reads
both files and appends to the new one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from topicrawl.database import translate_errors, write_text_file
from topicrawl.seeds.election import ElectionResult, parse_election_result

SEEDS_FILE = "seeds.json"
ANSWERS_FILE = "engine-answers.jsonl"
OLD_ANSWERS_FILE = "told.jsonl"
BACKLINKS = "backlinks"
DESCRIPTION = "description"
_KINDS = {BACKLINKS: BACKLINKS, "parents": BACKLINKS, DESCRIPTION: DESCRIPTION}


class SearchEngineCache:
    """Cached answers of a crawl directory. A directory without files is an empty cache.

    `election` is the result of the seed election; without it, the file of an earlier run is loaded.
    """

    def __init__(self, directory: Path, election: ElectionResult | None = None) -> None:
        self.directory = directory
        self._cached_answers: dict[str, dict[str, tuple[str, ...]]] = {BACKLINKS: {}, DESCRIPTION: {}}
        self.election = election if election is not None else _load_election(directory / SEEDS_FILE)
        self._snippets = self.election.descriptions if self.election is not None else {}
        text = _read_text(directory / ANSWERS_FILE)
        # A killed process may have left the last line without a newline.
        self._line_prefix = "\n" if text and not text.endswith("\n") else ""
        for kind, url, answer in _parse_answers(f"{_read_text(directory / OLD_ANSWERS_FILE)}\n{text}"):
            self._cached_answers[kind][url] = answer

    def get_backlinks(self, url: str) -> Sequence[str] | None:
        """Return the backlinks of a page that engines returned, or None if there was no query."""
        return self._cached_answers[BACKLINKS].get(url)

    def get_description(self, url: str) -> str | None:
        """Return the description of a page: of a query about it, or its snippet in the seed election, or None."""
        texts = self._cached_answers[DESCRIPTION].get(url)
        return (" ".join(texts) if texts else None) or self._snippets.get(url)

    def count_queries(self, kind: str) -> int:
        """Return the number of queries of a kind (backlinks or descriptions) so far, including earlier runs."""
        return len(self._cached_answers[kind])

    def has_answer(self, kind: str, url: str) -> bool:
        """Return whether the answer to a query is cached, even if it is empty."""
        return url in self._cached_answers[kind]

    def store_answer(self, kind: str, url: str, answer: Sequence[str]) -> None:
        """Cache an answer, even if it is empty, and append it to the file."""
        self._cached_answers[kind][url] = tuple(answer)
        path = self.directory / ANSWERS_FILE
        line = json.dumps({"kind": kind, "url": url, "answer": list(answer)})
        with translate_errors(path):
            self.directory.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{self._line_prefix}{line}\n")
        self._line_prefix = ""

    def save_election(self) -> None:
        """Write the result of the seed election, unless the file exists."""
        path = self.directory / SEEDS_FILE
        if self.election is not None and not path.exists():
            with translate_errors(path):
                write_text_file(path, json.dumps(self.election.to_dict(), ensure_ascii=False, indent=1) + "\n")


def _read_text(path: Path) -> str:
    """Read a file, or return "" if it does not exist."""
    if not path.exists():
        return ""
    with translate_errors(path):
        return path.read_text("utf-8", "replace")


def _load_election(path: Path) -> ElectionResult | None:
    """Load the result of the seed election, or return None if there is no file. Raise `SeedError` if it is invalid."""
    text = _read_text(path)
    return parse_election_result(text, str(path)) if text else None


def _parse_answers(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Parse the cached answers. Incomplete and unknown lines are skipped."""
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line) if line.strip() else {}
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        kind, answer = _KINDS.get(str(row.get("kind"))), row.get("answer", row.get("told"))
        if kind is not None and isinstance(answer, list):
            rows.append((kind, str(row.get("url")), tuple(map(str, answer))))
    return rows
