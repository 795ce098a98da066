"""Postings read from segments equal a scan of the pages, for any batch size and after merges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.search import segments
from topicrawl.search.index_file import open_index
from topicrawl.search.postings import PostingsReader
from topicrawl.search.query import QueryClause
from topicrawl.search.query_limits import QueryDeadline
from topicrawl.search.segments import SegmentWriter, build_segment, load_segment
from topicrawl.search.term_ids import TermIdAllocator

Pages = list[tuple[list[str], ...]]
WORDS = ["owl", "owls", "bat", "fox", "hen"]
FIELDS = ("title", "text", "url")
FIELD_WORDS = st.lists(st.sampled_from(WORDS), max_size=6)
PAGES = st.lists(st.tuples(FIELD_WORDS, FIELD_WORDS, FIELD_WORDS), min_size=1, max_size=24)


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Make blocks and merge chunks small, so that few postings need several."""
    before = segments._BLOCK_POSTINGS, segments._MERGE_CHUNK_POSTINGS
    segments._BLOCK_POSTINGS, segments._MERGE_CHUNK_POSTINGS = 3, 7
    yield
    segments._BLOCK_POSTINGS, segments._MERGE_CHUNK_POSTINGS = before


def write_index(directory: Path, pages: Pages, batch: int) -> PostingsReader:
    """Write an index of pages in batches and return a reader of it."""
    database = open_index(directory, readonly=False)
    writer, terms = SegmentWriter(database), TermIdAllocator(database, is_bulk=False)
    for start in range(0, len(pages), batch):
        batch_pages = pages[start : start + batch]
        stems = [word for page in batch_pages for field in page for word in field]
        with database.transaction():
            ids = terms.map_reader_terms(0, 0, stems)[: len(stems)]
            terms.save_new_terms()
            writer.add_segment(
                build_segment(start + 1, ids, np.array([[len(field) for field in page] for page in batch_pages]))
            )
    reader = PostingsReader(database)
    reader.set_page_count(len(pages))
    return reader


def scan_pages(pages: Pages, clause: QueryClause) -> list[tuple[int, float]]:
    """Return the expected postings of a clause, from a scan of all words."""
    postings = []
    size = len(clause.words)
    for number, page in enumerate(pages, 1):
        count = 0
        for field, words in zip(FIELDS, page, strict=True):
            if clause.column in ("", field):
                weight = 3 if field == "title" else 1
                runs = (tuple(words[at : at + size]) for at in range(len(words) - size + 1))
                hits = (run[0].startswith(clause.words[0]) if clause.is_prefix else run == clause.words for run in runs)
                count += weight * sum(hits)
        if count:
            postings.append((number, float(count)))
    return postings


@settings(max_examples=25, deadline=None)
@given(PAGES, st.integers(1, 5), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.sampled_from(FIELDS))
def test_postings_of_words_phrases_fields_and_prefixes_equal_a_scan_of_the_pages(
    tmp_path_factory: pytest.TempPathFactory,
    pages: Pages,
    batch: int,
    words: list[str],
    field: str,
) -> None:
    reader = write_index(tmp_path_factory.mktemp("index"), pages, batch)
    phrase = tuple(words)
    for clause in (
        QueryClause(phrase[:1]),
        QueryClause(phrase),
        QueryClause(phrase, field),
        QueryClause(("owl",), is_prefix=True),
    ):
        found = reader.get_postings(clause, QueryDeadline())
        assert list(zip(found.numbers.tolist(), found.counts.tolist(), strict=True)) == scan_pages(pages, clause)
    assert reader.get_frequency("hen") == len(scan_pages(pages, QueryClause(("hen",))))


def test_small_segments_are_merged_and_cached_postings_stay_valid(tmp_path: Path) -> None:
    pages = [(["owl"], ["bat"] * (at % 3), []) for at in range(70)]
    reader = write_index(tmp_path, pages[:30], 1)
    assert len(reader.get_postings(QueryClause(("bat",)), QueryDeadline()).numbers) == 20
    database = reader._database
    with database.transaction():
        SegmentWriter(database).add_segment(
            build_segment(31, np.array([0, 1] * 40, np.int32), np.array([(1, 1, 0)] * 40))
        )
    reader.set_page_count(70)
    assert len(reader.get_postings(QueryClause(("bat",)), QueryDeadline()).numbers) == 60
    rows = database.execute("SELECT key, first, last FROM segments ORDER BY first").fetchall()
    assert len(rows) < 10
    assert [first for _, first, _ in rows] == [1, *(last + 1 for _, _, last in rows[:-1])]
    whole = load_segment(database, *rows[0])
    assert whole.pages_with.sum() == len(whole.pages) == len(whole.position_counts)
    assert whole.position_counts.sum() == len(whole.positions)


def test_pages_without_words_can_be_indexed(tmp_path: Path) -> None:
    reader = write_index(tmp_path, [([], [], [])] * 5, 2)
    assert not len(reader.get_postings(QueryClause(("owl",)), QueryDeadline()).numbers)
