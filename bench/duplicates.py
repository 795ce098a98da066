"""CPU time of deduplication per page: `python bench/duplicates.py [--pages 200] [--known 200000]`.

The pages are generated as in `page_cost.py`: 38 KB, 100 links, 1,700 words. `--known` is the number of pages already
stored, with random duplicate keys. The figure is the CPU time per page, as the best of several rounds. None of the
pages is a duplicate.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from page_cost import generate_pages
from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.deduplication import DuplicateDetector
from topicrawl.collection.page_loader import PageLoader
from topicrawl.collection.store import CollectionStore
from topicrawl.models import Link, Page
from topicrawl.parse import parse_response

ROUNDS = 20
KEYS_PER_PAGE = 5  # of a page whose name has no suffix


def fill_index(index: PageLoader, pages: int) -> None:
    """Add random keys of `pages` pages to an index."""
    draw = random.Random(1)
    for step in range(1, pages + 1):
        index.add_keys([draw.getrandbits(64) - 2**63 for _ in range(KEYS_PER_PAGE)], step)


def main() -> None:
    """Measure and print the CPU time per page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--known", type=int, default=200_000)
    options = parser.parse_args()
    parsed = (
        parse_response(response, Link(response.url))
        for response in generate_pages(options.pages, plain=False, web=options.pages)
    )
    pages = [page for page in parsed if isinstance(page, Page)]
    best = float("inf")
    with tempfile.TemporaryDirectory() as place:
        index = PageLoader(CollectionStore(Path(place) / "store.sqlite"), WarcArchive(Path(place)), parse_response)
        fill_index(index, options.known)
        size = index.memory_bytes / options.known
        for _ in range(ROUNDS):
            duplicates = DuplicateDetector(index)
            before = time.thread_time()
            for page in pages:
                assert duplicates.find_duplicate(page) is None
                duplicates.register_stored(page.url, options.known)
            best = min(best, time.thread_time() - before)
    print(f"{best / len(pages) * 1e6:.0f} µs per page; {size:.0f} bytes of memory per stored page")


if __name__ == "__main__":
    main()
