"""Process that updates a search index and kills itself, for tests of the recovery.

python indexing_process.py DIRECTORY between N     kill after the batch with which N pages are indexed
python indexing_process.py DIRECTORY within N      kill after the Nth write of blocks, before the commit
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from topicrawl.search import indexing
from topicrawl.search.segments import Segment, SegmentWriter


def update_and_kill(directory: Path, place: str, count: int) -> None:
    """Update the index of a collection in batches of three pages, and kill this process on the way."""
    writes = 0

    def kill_when_reached(reached: int) -> None:
        if reached >= count:
            os.kill(os.getpid(), signal.SIGKILL)

    class KilledSegmentWriter(SegmentWriter):
        def _write_blocks(self, key: int, segment: Segment) -> None:
            nonlocal writes
            super()._write_blocks(key, segment)
            writes += 1
            kill_when_reached(writes)

    indexing.BATCH_SIZE = 3
    if place == "within":
        indexing.SegmentWriter = KilledSegmentWriter  # type: ignore[misc]
    indexing.IndexWriter(directory).update(on_progress=kill_when_reached if place == "between" else None)


if __name__ == "__main__":
    update_and_kill(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
