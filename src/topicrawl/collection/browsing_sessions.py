"""Browsing sessions in a crawl directory: the pages a user opened in order, with labels, as training data.

DIR/browsing.tsv   session ⇥ url ⇥ label, as `topicrawl train hmm --sessions` reads it; `<` is a step back
DIR/browsed/       the pages, as a recorded web
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from topicrawl.collection.archive import WarcArchive
from topicrawl.database import translate_errors, write_text_file
from topicrawl.errors import RecordingError
from topicrawl.fetch.replay import Recording, list_warc_files
from topicrawl.models import Response

SESSIONS_FILE = "browsing.tsv"
PAGES_FOLDER = "browsed"
BACK = "<"


class BrowsingStep(NamedTuple):
    """One step of a browsing session."""

    session: str
    url: str  # "<" for a step back
    label: str = ""  # "relevant", "irrelevant" or ""


class BrowsingLog:
    """Browsing sessions of a crawl directory. Every change is saved before the method returns."""

    def __init__(self, directory: Path) -> None:
        self._path, self._pages_folder = directory / SESSIONS_FILE, directory / PAGES_FOLDER
        self.steps: list[BrowsingStep] = []
        if self._path.exists():
            with translate_errors(self._path):
                lines = self._path.read_text("utf-8").splitlines()
            rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
            self.steps = [BrowsingStep(row[0], row[1], "".join(row[2:3])) for row in rows if len(row) > 1]

    def add_steps(self, steps: Sequence[BrowsingStep]) -> None:
        """Append steps and save them."""
        self.steps += steps
        self._save()

    def set_label(self, url: str, label: str) -> None:
        """Set the label of a page in all sessions and save them. Pages that no session contains are ignored."""
        self.steps = [step._replace(label=label) if step.url == url else step for step in self.steps]
        self._save()

    def get_open_page(self, session: str) -> str:
        """Return the URL of the page that is open at the end of a session, or "" if there is none."""
        trail: list[str] = []
        for step in self.steps:
            if step.session == session:
                trail = trail[:-1] if step.url == BACK else [*trail, step.url]
        return trail[-1] if trail else ""

    def list_sessions(self) -> list[str]:
        """Return the names of the sessions."""
        return list(dict.fromkeys(step.session for step in self.steps))

    def get_labels(self) -> dict[str, str]:
        """Return the labels by URL."""
        return {step.url: step.label for step in self.steps if step.label}

    def store_pages(self, responses: Iterable[Response]) -> None:
        """Store the opened pages in the archive of the sessions."""
        archive = WarcArchive(self._pages_folder)
        try:
            for response in responses:
                archive.write_fetch(response)
        finally:
            archive.close()

    def find_missing_pages(self) -> list[str]:
        """Return the URLs of session pages that are not stored, such as those of an imported history."""
        urls = dict.fromkeys(step.url for step in self.steps if step.url != BACK)
        try:
            stored = set(Recording(self._pages_folder)) if list_warc_files(self._pages_folder) else set()
        except RecordingError:
            stored = set()
        return [url for url in urls if url not in stored]

    def load_page(self, url: str) -> Response | None:
        """Return the stored response of a page, or None if it is not stored or cannot be read."""
        try:
            if not list_warc_files(self._pages_folder):
                return None
            answer = Recording(self._pages_folder).get_response(url)
        except RecordingError:
            return None
        return answer if answer.failure is None else None

    def _save(self) -> None:
        text = "# session\turl\tlabel\n" + "".join("\t".join(step).rstrip("\t") + "\n" for step in self.steps)
        with translate_errors(self._path):
            write_text_file(self._path, text)
