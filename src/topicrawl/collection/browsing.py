"""Browsing that teaches: the pages that someone opened one after the other, with labels, in the crawl's directory.

DIR/browsing.tsv   session ⇥ url ⇥ label, as `topicrawl train hmm --sessions` reads it; `<` is a step back
DIR/browsed/       the pages themselves, as a recorded web
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from topicrawl.collection.archive import Archive
from topicrawl.database import errors_of
from topicrawl.errors import RecordingError
from topicrawl.fetch.replay import Recording, warc_files
from topicrawl.records import Response

FILE = "browsing.tsv"
FOLDER = "browsed"
BACK = "<"


class Step(NamedTuple):
    """A click."""

    session: str
    url: str  # or `<`
    label: str = ""  # "relevant", "irrelevant", or nothing


class Browsing:
    """The sessions of a directory; every change is written down before it returns."""

    def __init__(self, directory: Path) -> None:
        self._path, self._place = directory / FILE, directory / FOLDER
        self.steps: list[Step] = []
        if self._path.exists():
            with errors_of(self._path):
                lines = self._path.read_text("utf-8").splitlines()
            rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
            self.steps = [Step(row[0], row[1], "".join(row[2:3])) for row in rows if len(row) > 1]

    def add(self, steps: Sequence[Step]) -> None:
        self.steps += steps
        self._save()

    def label(self, url: str, label: str) -> None:
        """Say of a page whether it is relevant, wherever it was opened."""
        self.steps = [step._replace(label=label) if step.url == url else step for step in self.steps]
        self._save()

    def open_page(self, session: str) -> str:
        """The page that is open at the end of a session; "": none is."""
        trail: list[str] = []
        for step in self.steps:
            if step.session == session:
                trail = trail[:-1] if step.url == BACK else [*trail, step.url]
        return trail[-1] if trail else ""

    def sessions(self) -> list[str]:
        return list(dict.fromkeys(step.session for step in self.steps))

    def labels(self) -> dict[str, str]:
        return {step.url: step.label for step in self.steps if step.label}

    def keep(self, responses: Iterable[Response]) -> None:
        """Remember pages as they were when they were opened."""
        archive = Archive(self._place)
        try:
            for response in responses:
                archive.write(response)
        finally:
            archive.close()

    def missing(self) -> list[str]:
        """Pages of sessions that were never opened here: those of a history that was imported."""
        urls = dict.fromkeys(step.url for step in self.steps if step.url != BACK)
        try:
            known = set(Recording(self._place)) if warc_files(self._place) else set()
        except RecordingError:
            known = set()
        return [url for url in urls if url not in known]

    def kept(self, url: str) -> Response | None:
        """A page that was opened before."""
        try:
            if not warc_files(self._place):
                return None
            answer = Recording(self._place).answer(url)
        except RecordingError:
            return None
        return answer if answer.failure is None else None

    def _save(self) -> None:
        text = "# session\turl\tlabel\n" + "".join("\t".join(step).rstrip("\t") + "\n" for step in self.steps)
        draft = self._path.with_suffix(".new")
        with errors_of(self._path):
            draft.write_text(text, "utf-8")
            draft.replace(self._path)
