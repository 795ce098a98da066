"""Process that updates a search index and kills itself, for tests of the recovery.

python indexing_process.py DIRECTORY PLACE N     kill in the batch with which N pages are indexed

PLACE is "marked", after the pages of the batch are marked as pending; "committed", after the commit of the engine; or
"between", after the batch.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import tantivy

from topicrawl.search import indexing


def update_and_kill(directory: Path, place: str, count: int) -> None:
    """Update the index of a collection in batches of three pages, and kill this process on the way."""

    class KilledIndexWriter(indexing.IndexWriter):
        reached = 0

        def _commit_documents(self, documents: Sequence[tantivy.Document], removed: Sequence[int]) -> None:
            self.reached += len(documents) or count
            if place == "marked":
                self.kill_when_reached(self.reached)
            super()._commit_documents(documents, removed)
            if place == "committed":
                self.kill_when_reached(self.reached)

        def kill_when_reached(self, reached: int) -> None:
            if reached >= count:
                os.kill(os.getpid(), signal.SIGKILL)

    indexing.BATCH_SIZE = 3
    writer = KilledIndexWriter(directory)
    writer.update(on_progress=writer.kill_when_reached if place == "between" else None)


if __name__ == "__main__":
    update_and_kill(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
