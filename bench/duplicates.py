"""What looking for pages that repeat others costs: `python bench/duplicates.py [--pages 200] [--known 200000]`.

Pages are made as for `page_cost.py`: 38 KB, 100 links, 1,700 words. So many pages are known already, by marks drawn
by lot. The figure is CPU time for each page, best of several rounds; no page of these repeats another.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from page_cost import made
from topicrawl.collection.archive import Archive
from topicrawl.collection.duplicates import Duplicates
from topicrawl.collection.filed_marks import FiledMarks
from topicrawl.collection.shelf import Shelf
from topicrawl.collection.store import Store
from topicrawl.parse import read
from topicrawl.records import Link, Page

ROUNDS = 20
MARKS = 5  # of a page whose name has no suffix


def known(pages: int, place: Path) -> FiledMarks:
    draw = random.Random(1)
    marks = FiledMarks(place)
    for step in range(1, pages + 1):
        for _ in range(MARKS):
            marks.add(draw.getrandbits(64) - 2**63, step)
    return marks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--known", type=int, default=200_000)
    options = parser.parse_args()
    found = (read(response, Link(response.url)) for response in made(options.pages, plain=False, web=options.pages))
    pages = [page for page in found if isinstance(page, Page)]
    best = float("inf")
    with tempfile.TemporaryDirectory() as place:
        shelf = Shelf(Store(Path(place) / "store.sqlite"), Archive(Path(place)), read)
        shelf.__dict__["_marks"] = marks = known(options.known, Path(place))
        size = marks.size / options.known
        for _ in range(ROUNDS):
            duplicates = Duplicates(shelf)
            before = time.thread_time()
            for page in pages:
                assert duplicates.twin(page) is None
                duplicates.stored(page.url, options.known)
            best = min(best, time.thread_time() - before)
    print(f"{best / len(pages) * 1e6:.0f} µs a page; {size:.0f} bytes of memory for each page that is known")


if __name__ == "__main__":
    main()
