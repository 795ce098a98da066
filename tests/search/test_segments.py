"""What is said in pages is found again in their segments, however they were cut and joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.search import segments
from topicrawl.search.index_file import opened
from topicrawl.search.postings import Reader
from topicrawl.search.query import Part
from topicrawl.search.segments import Shelving, segment, stored
from topicrawl.search.terms import Terms

Pages = list[tuple[list[str], ...]]
WORDS = ["owl", "owls", "bat", "fox", "hen"]
FIELDS = ("title", "text", "url")
SAID = st.lists(st.sampled_from(WORDS), max_size=6)
PAGES = st.lists(st.tuples(SAID, SAID, SAID), min_size=1, max_size=24)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Blocks and pieces that are small enough to be many."""
    before = segments._BLOCK, segments._AT_ONCE
    segments._BLOCK, segments._AT_ONCE = 3, 7
    yield
    segments._BLOCK, segments._AT_ONCE = before


def written(directory: Path, pages: Pages, batch: int) -> Reader:
    database = opened(directory, readonly=False)
    shelving, terms = Shelving(database), Terms(database, is_bulk=False)
    for start in range(0, len(pages), batch):
        several = pages[start : start + batch]
        said = [word for page in several for part in page for word in part]
        with database.transaction():
            ids = terms.table(0, 0, said)[: len(said)]
            terms.store()
            shelving.add(segment(start + 1, ids, np.array([[len(part) for part in page] for page in several])))
    reader = Reader(database)
    reader.cover(len(pages))
    return reader


def expected(pages: Pages, part: Part) -> list[tuple[int, float]]:
    """Looked for in the plain words, one by one."""
    found = []
    size = len(part.words)
    for number, page in enumerate(pages, 1):
        count = 0
        for field, said in zip(FIELDS, page, strict=True):
            if part.column in ("", field):
                weight = 3 if field == "title" else 1
                runs = (tuple(said[at : at + size]) for at in range(len(said) - size + 1))
                hits = (run[0].startswith(part.words[0]) if part.is_prefix else run == part.words for run in runs)
                count += weight * sum(hits)
        if count:
            found.append((number, float(count)))
    return found


@settings(max_examples=25, deadline=None)
@given(PAGES, st.integers(1, 5), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.sampled_from(FIELDS))
def test_words_phrases_fields_and_beginnings_are_found_as_by_reading_every_page(
    tmp_path_factory: pytest.TempPathFactory,
    pages: Pages,
    batch: int,
    said: list[str],
    field: str,
) -> None:
    reader = written(tmp_path_factory.mktemp("index"), pages, batch)
    phrase = tuple(said)
    for part in (Part(phrase[:1]), Part(phrase), Part(phrase, field), Part(("owl",), is_prefix=True)):
        found = reader.postings(part)
        assert list(zip(found.numbers.tolist(), found.counts.tolist(), strict=True)) == expected(pages, part)
    assert reader.frequency("hen") == len(expected(pages, Part(("hen",))))


def test_many_small_segments_become_few_and_what_was_read_before_stays_true(tmp_path: Path) -> None:
    pages = [(["owl"], ["bat"] * (at % 3), []) for at in range(70)]
    reader = written(tmp_path, pages[:30], 1)
    assert len(reader.postings(Part(("bat",))).numbers) == 20
    database = reader._database
    with database.transaction():
        Shelving(database).add(segment(31, np.array([0, 1] * 40, np.int32), np.array([(1, 1, 0)] * 40)))
    reader.cover(70)
    assert len(reader.postings(Part(("bat",))).numbers) == 60
    rows = database.execute("SELECT key, first, last FROM segments ORDER BY first").fetchall()
    assert len(rows) < 10
    assert [first for _, first, _ in rows] == [1, *(last + 1 for _, _, last in rows[:-1])]
    whole = stored(database, *rows[0])
    assert whole.pages_with.sum() == len(whole.pages) == len(whole.sizes)
    assert whole.sizes.sum() == len(whole.places)


def test_pages_without_a_word_are_pages_all_the_same(tmp_path: Path) -> None:
    reader = written(tmp_path, [([], [], [])] * 5, 2)
    assert not len(reader.postings(Part(("owl",))).numbers)
