"""Search in one collection: queries, updates, and recovery from kills and damage."""

from __future__ import annotations

import math
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import indexing_process
from tests.helpers.markers import mark_long
from tests.helpers.search_collections import START, create_collection, make_page

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.directory import Collection
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import CollectionError, UsageError
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.search import Query, SearchIndex
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.index import update_index
from topicrawl.search.index_file import select_all_pages
from topicrawl.search.indexing import IndexWriter
from topicrawl.search.query import parse_query
from topicrawl.search.snapshot import quantize_length
from topicrawl.topic import Topic

PAGES = [
    ("http://www.a.example/owls", "Owls of the night", "Most owls hunt at night. A barn owl nests in barns."),
    ("http://www.a.example/bats", "Bats", "Bats hunt at night and sleep by day; no owl eats all bats."),
    ("http://b.example/trains", "Night trains", "Trains run at night. Railway barns hold trains."),
    ("http://b.example/tokyo", "東京", "東京都は日本の首都"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    directory = create_collection(tmp_path_factory.mktemp("crawl") / "owls", PAGES)
    return SearchIndex.open_updated(directory)


def search_names(index: SearchIndex, text: str, **options: object) -> list[str]:
    """Return the last path segments of the URLs of the hits."""
    result = index.search(Query(text, **options))  # type: ignore[arg-type]
    return [hit.url.rpartition("/")[2] for hit in result.hits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owls", ["owls", "bats"]),
        ("what is the most of an owl", ["owls", "bats"]),  # stop words do not match
        ("all by the", ["bats", "owls"]),  # a query of stop words only matches them
        ("+day the owl", ["bats"]),
        ("owl nesting", ["owls", "bats"]),
        ("OWL", ["owls", "bats"]),
        ('"barn owl"', ["owls"]),
        ('"owl barn"', []),
        ("+night -owl", ["trains"]),
        ("title:night", ["trains", "owls"]),
        ("text:trains", ["trains"]),
        ("title:trains -text:railway", []),
        ("railw*", ["trains"]),
        ("url:bats", ["bats"]),
        ("host:b.example night", ["trains"]),
        ("host:a.example", ["owls", "bats"]),
        ("東京都", ["tokyo"]),
        ("首都", ["tokyo"]),
        ("since:2023-11-17 night", ["trains"]),
        ("before:2023-11-16 night", ["owls"]),
        ("relevance:0.6 night", []),
        ("relevance:0.5 +owl", ["owls", "bats"]),
        ("language:de owl", []),
        ("verdict:none owl", ["owls", "bats"]),
        ("nothingness", []),
        ('"" \' * : ( )', []),
        ('owl"', ["owls", "bats"]),
    ],
    ids=str,
)
def test_query_language(index: SearchIndex, text: str, expected: list[str]) -> None:
    assert search_names(index, text) == expected


@pytest.mark.parametrize(
    "text", ["relevance:9", "verdict:good", "since:soon", "x" * 5001, " ".join(f"ba{n}*" for n in range(20))]
)
def test_invalid_query_raises_an_error_of_one_line(index: SearchIndex, text: str) -> None:
    with pytest.raises(UsageError) as error:
        index.search(Query(text))
    assert "\n" not in str(error.value)


@given(st.text(max_size=80))
def test_arbitrary_text_does_not_break_the_index(index: SearchIndex, text: str) -> None:
    with suppress(UsageError):
        index.search(Query(text))


def test_snippet_marks_the_words_of_the_query(index: SearchIndex) -> None:
    hit = index.search(Query("nesting barn")).hits[0]
    assert [piece for piece, marked in hit.snippet if marked] == ["barn", "nests", "barns"]
    assert "".join(piece for piece, _ in hit.snippet) == PAGES[0][2]


def test_weights_change_the_order_of_hits(index: SearchIndex) -> None:
    assert search_names(index, "hunt") == ["bats", "owls"]
    assert search_names(index, "hunt", weights={"barns": 2.0})[0] == "owls"
    assert search_names(index, "hunt", weights={"bats": -1.0}) == ["owls", "bats"]
    assert search_names(index, "hunt", without=("http://www.a.example/owls",)) == ["bats"]


def test_a_word_and_a_prefix_in_the_same_field_have_their_own_statistics(index: SearchIndex) -> None:
    stats = index.get_statistics(parse_query(Query("title:nig title:nig*")))
    assert stats.pages_with == {"title:nig": 0, "title:nig*": 2}


def test_scores_are_those_of_bm25(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine stores page lengths with four significant bits; these are exact."""
    monkeypatch.setattr("topicrawl.search.index.SIMILARITY_WEIGHT", 0.0)
    texts = [("owl " * count + "night " * (60 + 4 * number - count)) for number, count in enumerate((1, 2, 5, 9, 30))]
    directory = create_collection(tmp_path / "c", [make_page(number, text) for number, text in enumerate(texts)])
    index = SearchIndex.open_updated(directory)
    lengths = [60 + 4 * number + 7 for number in range(5)]  # with the title and the URL
    stats = CorpusStats(1000, 100_000, {"owl": 20})
    hits = {hit.url: hit.score for hit in index.search(Query("owl"), stats).hits}
    for number, (count, length) in enumerate(zip((1, 2, 5, 9, 30), lengths, strict=True)):
        norm = 1.5 * (0.25 + 0.75 * quantize_length(length) / 100)
        expected = math.log(1 + 980.5 / 20.5) * 2.5 * count / (count + norm)
        assert hits[f"http://www.a.example/{number}"] == pytest.approx(expected, rel=1e-4)
    index.close()


def test_pages_about_the_subject_of_the_query_rank_higher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Jaguar: engine, wheels and gearbox of the motor car", "Jaguar: prey, claws and fur of the animal"]
    directory = create_collection(tmp_path / "c", [make_page(number, text) for number, text in enumerate(texts)])
    index = SearchIndex.open_updated(directory)
    # No page contains the second word; only the vectors tell which page it is about.
    assert search_names(index, "jaguar vehicle") == ["0", "1"]
    assert search_names(index, "jaguar wildlife") == ["1", "0"]
    assert search_names(index, '"jaguar prey"') == ["1"]
    monkeypatch.setattr("topicrawl.search.index.SIMILARITY_WEIGHT", 0.0)
    assert search_names(index, "jaguar vehicle") == search_names(index, "jaguar wildlife")
    index.close()


def test_copies_are_one_hit_and_counted_once(tmp_path: Path) -> None:
    pages = [*(make_page(number, "owls") for number in range(300)), make_page(300, "owls and", "owlets")]
    index = SearchIndex.open_updated(create_collection(tmp_path / "owls", pages))
    result = index.search(Query("owls", 2))
    assert (len(result.hits), result.total) == (2, 2)
    assert sorted(len(hit.copies) for hit in result.hits) == [0, 20]
    index.close()


def test_an_abstract_is_a_query(index: SearchIndex) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    assert search_names(index, f"{words} Which owls nest in a barn at night, and when do they hunt?")[0] == "owls"


def test_facets_count_the_matching_pages(index: SearchIndex) -> None:
    facets = index.search(Query("night", facets=True)).facets
    assert facets["host"] == {"www.a.example": 2, "b.example": 1}
    assert facets["language"] == {"en": 3}
    assert facets["verdict"] == {"none": 3}
    assert facets["month"] == {"2023-11": 3}
    assert facets["relevance"] == {"0.50": 3}
    assert facets["type"] == {"text/html": 3}
    assert index.search(Query("night")).facets == {}


def test_each_language_has_its_stemmer(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    texts = [("en", "The owls nested"), ("de", "Die Häuser der Eulen"), ("fr", "les maisons"), ("pl", "domy kotami")]
    rows = []
    for step, (language, text) in enumerate(texts, 1):
        url = f"http://{language}.example/"
        response = Response(url, url, 200, {"content-type": "text/html"}, f"<p>{text}</p>".encode(), START + step)
        page = Page(url, language, text=text, language=language, digest=f"{step:032x}")
        rows.append((Visit(step, Link(url), Priority(0.5), url, page, 0.5, None, START + step, 200), response, None))
    with Collection(directory, Topic.of("owls"), {"identity": {"strategy": "best_first"}}) as collection:
        collection.store_visits(rows)
    index = SearchIndex.open_updated(directory)
    for query, language in (("nesting", "en"), ("haus", "de"), ("maison", "fr"), ("kota", "pl")):
        assert [hit.language for hit in index.search(Query(query)).hits] == [language]
    assert [hit.language for hit in index.search(Query("owl eule language:de")).hits] == ["de"]
    index.close()


def test_open_index_finds_new_pages(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl")])
    index = SearchIndex.open_updated(directory)
    assert index.search(Query("owl")).total == 1
    create_collection(directory, [make_page(2, "snowy owl"), make_page(3, "lynx")], first=2)
    update_index(directory)
    assert index.search(Query("owl")).total == 2
    assert index.page_count == 3
    index.close()


def test_indexing_in_slices_indexes_all_pages(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(number, "owl", f"w{number}") for number in range(1, 51)])
    writer = IndexWriter(directory)
    assert [writer.update(max_pages=7) for _ in range(9)] == [7] * 7 + [1, 0]
    writer.close()
    index = SearchIndex(directory)
    assert [index.search(Query(f"w{number}")).total for number in range(1, 51)] == [1] * 50
    index.close()


def test_changed_page_is_found_by_its_new_text_only(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl"), make_page(2, "lynx")])
    index = SearchIndex.open_updated(directory)
    assert search_names(index, "owl") == ["1"]
    create_collection(directory, [make_page(1, "a fox now and nothing else")], is_changed=True)
    update_index(directory)
    assert (search_names(index, "owl"), search_names(index, "fox"), index.page_count) == ([], ["1"], 2)
    index.close()


def test_verdict_filter_follows_annotations(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl"), make_page(2, "snowy owl")])
    index = SearchIndex.open_updated(directory)
    store = CollectionStore(directory / "topicrawl.sqlite")
    annotation_log.annotate(store, ["http://www.a.example/2"], AnnotationLabel.RELEVANT, origin="one", at=START)
    update_index(directory)
    assert search_names(index, "owl verdict:relevant") == ["2"]
    assert search_names(index, "owl verdict:none") == ["1"]
    annotation_log.undo_last_action(store, at=START)
    store.close()
    update_index(directory)
    assert search_names(index, "owl verdict:relevant") == []
    index.close()


def set_relevance(directory: Path, relevance: dict[int, float]) -> None:
    store = CollectionStore(directory / "topicrawl.sqlite")
    with store.db.transaction():
        for step, value in relevance.items():
            store.db.execute("UPDATE visits SET relevance = ? WHERE step = ?", (value, step))
    store.close()


def test_a_new_verdict_reads_no_page_again(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl"), make_page(2, "snowy owl")])
    assert update_index(directory)
    archive = next((directory / "warc").iterdir())
    archive.write_bytes(b"")
    store = CollectionStore(directory / "topicrawl.sqlite")
    annotation_log.annotate(store, ["http://www.a.example/2"], AnnotationLabel.RELEVANT, origin="read", at=1.0)
    store.close()
    index = SearchIndex.open_updated(directory)
    assert search_names(index, "snowy verdict:relevant") == ["2"]
    assert search_names(index, "jaguar") == []
    index.close()


def test_last_verdict_decides_which_pages_are_indexed(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(number, f"owl {number}") for number in (1, 2, 3)])
    set_relevance(directory, {3: 0.1})
    index = SearchIndex.open_updated(directory)
    assert (search_names(index, "owl"), index.page_count) == (["1", "2"], 2)
    store = CollectionStore(directory / "topicrawl.sqlite")
    annotation_log.annotate(store, ["http://www.a.example/1"], AnnotationLabel.IRRELEVANT, origin="read", at=START)
    annotation_log.annotate(store, ["http://www.a.example/3"], AnnotationLabel.RELEVANT, origin="read", at=START)
    update_index(directory)
    assert (sorted(search_names(index, "owl")), index.page_count) == (["2", "3"], 2)
    assert index.compute_sketch(8)[0] == 2
    for _ in range(2):
        annotation_log.undo_last_action(store, at=START)
    store.close()
    update_index(directory)
    assert sorted(search_names(index, "owl")) == ["1", "2"]
    index.close()


def test_all_pages_are_indexed_on_request(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(number, f"owl {number}") for number in range(1, 10)])
    set_relevance(directory, dict.fromkeys(range(1, 9), 0.1))
    writer = IndexWriter(directory)
    assert writer.update() == 1
    select_all_pages(directory, all_pages=True)
    # The missing pages are before the last indexed one. Slices must find all of them.
    assert [writer.update(max_pages=3) for _ in range(4)] == [3, 3, 2, 0]
    select_all_pages(directory, all_pages=False)
    writer.update()
    writer.close()
    index = SearchIndex(directory)
    assert search_names(index, "owl") == ["9"]
    index.close()


def test_only_one_writer_per_index(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl")])
    first = IndexWriter(directory)
    with pytest.raises(CollectionError, match="in use"):
        IndexWriter(directory)
    assert not update_index(directory)
    first.update()
    first.close()
    assert update_index(directory)


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "foreign", "zeros"])
def test_damaged_index_is_rebuilt(tmp_path: Path, damage: str) -> None:
    directory = create_collection(
        tmp_path / "c", [make_page(number, "barn owl", "word" * number) for number in range(1, 60)]
    )
    update_index(directory)
    file = directory / "search.sqlite"
    data = file.read_bytes()
    for name in ("search.sqlite-wal", "search.sqlite-shm"):
        (directory / name).unlink(missing_ok=True)
    if damage == "gone":
        file.unlink()
    elif damage == "foreign":
        file.unlink()
        sqlite3.connect(file).executescript("CREATE TABLE other (x); PRAGMA application_id = 7;")
    else:
        file.write_bytes(
            {"empty": b"", "cut": data[: len(data) // 2], "zeros": data[:8192] + bytes(len(data) - 8192)}[damage]
        )
    index = SearchIndex.open_updated(directory)
    assert index.search(Query("owl")).total == 59
    index.close()


@pytest.mark.parametrize("place", mark_long(["marked", "committed", "between"], except_for=["committed"]))
def test_indexing_continues_after_a_kill(tmp_path: Path, place: str) -> None:
    directory = create_collection(
        tmp_path / "c", [make_page(number, "barn owl", f"w{number}") for number in range(1, 16)]
    )
    for count in (6, 3):
        command = [sys.executable, indexing_process.__file__, str(directory), place, str(count)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    index = SearchIndex(directory)
    assert index.search(Query("owl")).total == (9 if place == "between" else 6 if place == "committed" else 3)
    assert update_index(directory)
    assert index.search(Query("owl")).total == index.page_count == 15
    assert [index.search(Query(f"w{number}")).total for number in range(1, 16)] == [1] * 15
    index.close()


@pytest.mark.parametrize("application_id", [0x70C8, 0x70C9])
def test_index_of_an_earlier_version_is_replaced(tmp_path: Path, application_id: int) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl")])
    database = sqlite3.connect(directory / "search.sqlite")
    database.executescript(
        f"CREATE TABLE terms (x); PRAGMA application_id = {application_id}; PRAGMA user_version = 1;"
    )
    database.close()
    (directory / "search.sqlite-wal").touch()
    index = SearchIndex(directory)
    update_index(directory)
    assert index.search(Query("owl")).total == 1
    index.close()


def test_page_with_a_damaged_record_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl"), make_page(2, "snowy owl")])
    archive = next((directory / "warc").iterdir())
    archive.write_bytes(archive.read_bytes()[:-40])
    index = SearchIndex.open_updated(directory)
    assert (search_names(index, "owl"), index.page_count) == (["1"], 1)
    assert "cannot index page" in caplog.text
    index.close()


def test_words_before_a_colon_are_fields_only_if_known() -> None:
    keys = [part.key for part in parse_query(Query('http://a.example/x title:"Two words" c++ 10:30')).clause_weights]
    assert keys == ["http", "a", "example", "x", 'title:"two words"', "c", "10", "30"]
