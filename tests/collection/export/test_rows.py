"""Exports: the same pages in every format, atomic output, bounded memory."""

from __future__ import annotations

import csv
import gzip
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from tests.helpers.collection import HOST, START, create_collection, make_html
from warcio.archiveiterator import ArchiveIterator

from topicrawl.collection.directory import Collection
from topicrawl.collection.export import parquet
from topicrawl.collection.export.rows import ExportPages, ExportRow, TextKind, list_columns
from topicrawl.collection.export.run import FORMATS, ExportJob, ExportResult, choose_text_kind, run_export
from topicrawl.collection.page_filter import ExportFilter
from topicrawl.errors import UsageError
from topicrawl.models import Link, Page, Priority, ReadableDocument, Response, Visit
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint

RELEVANT = [1, 2, 3, 4, 6]
DAY = 86_400.0


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_collection(tmp_path_factory.mktemp("export") / "dengue")


def export_pages(
    directory: Path, job: ExportJob, choice: ExportFilter | None = None, text: TextKind | None = None
) -> ExportResult:
    pages = ExportPages(directory, choice or ExportFilter(), choose_text_kind(job.to, text))
    try:
        return run_export(pages, job, lambda: None, clock=lambda: START)
    finally:
        pages.close()


def rows(directory: Path, choice: ExportFilter | None = None, text: TextKind = TextKind.VISIBLE) -> list[ExportRow]:
    pages = ExportPages(directory, choice or ExportFilter(), text)
    try:
        return list(pages)
    finally:
        pages.close()


def numbers(found: list[ExportRow]) -> list[int]:
    return [int(row.url.rpartition("/")[2]) for row in found]


# What is in it


def test_a_row_says_all_that_is_known_of_a_page(collection: Path) -> None:
    row = rows(collection)[2]
    assert row.id == f"{fingerprint(row.url) % 2**64:016x}"
    assert (row.url, row.text, row.language, row.type) == (f"{HOST}/3", "Number 3\nFieber", "de", "text/html")
    assert (row.relevance, row.relevant, row.score, row.step, row.depth) == (0.7, True, 0.5, 3, 2)
    assert row.fetched == datetime.fromtimestamp(START + 3 * DAY, UTC)
    assert row.chain == (f"{HOST}/1", f"{HOST}/2", f"{HOST}/3")
    assert (row.robots, row.tdm_reserved, row.segment) == (("noai",), True, "00001.warc.gz")
    assert row.title == 'half ?, "quotes", <b>, a | pipe,\nnew line = =cmd()'


def test_a_licence_comes_with_where_it_was_named(collection: Path) -> None:
    row = rows(collection)[1]
    assert (row.licence, row.licence_from) == ("https://creativecommons.org/licenses/by/4.0/", "rel")


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        (ExportFilter(), RELEVANT),
        (ExportFilter(relevance=0.0), [1, 2, 3, 4, 5, 6]),
        (ExportFilter(relevance=0.75), [1, 2]),
        (ExportFilter(languages=("de", "")), [3, 6]),
        (ExportFilter(hosts=("a.example",)), RELEVANT),
        (ExportFilter(hosts=("w.a.example", "xa.example")), []),
        (ExportFilter(types=("text/plain",)), [4]),
        (ExportFilter(types=("text",)), RELEVANT),
        (ExportFilter(since=START + 3 * DAY), [3, 4, 6]),
        (ExportFilter(until=START + 3 * DAY), [1, 2]),
        (ExportFilter(max_relevance=0.75), [3, 4, 6]),
        (ExportFilter(text="EXAMPLE/3"), [3]),
        (ExportFilter(text="%"), []),
        (ExportFilter(urls=(f"{HOST}/2", f"{HOST}/3")), [2, 3]),
        (ExportFilter(tags=("x",)), []),
    ],
    ids=[
        "relevant",
        "all",
        "very",
        "language",
        "host",
        "other hosts",
        "type",
        "family of types",
        "since",
        "until",
        "at most",
        "text",
        "no wildcard",
        "urls",
        "tag",
    ],
)
def test_filters_choose_pages(collection: Path, choice: ExportFilter, chosen: list[int]) -> None:
    assert numbers(rows(collection, choice)) == chosen


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TextKind.VISIBLE, "Number 1\ndengue fever, the seed"),
        (TextKind.MAIN, "Number 1\ndengue fever, the seed"),
        (TextKind.MARKDOWN, "# Number 1\n\ndengue fever, the seed"),
        (TextKind.NONE, ""),
    ],
    ids=["visible", "main", "markdown", "none"],
)
def test_the_text_is_as_chosen(collection: Path, text: TextKind, expected: str) -> None:
    assert rows(collection, text=text)[0].text == expected


def test_a_page_that_is_no_html_is_text_in_markdown_too(collection: Path) -> None:
    assert rows(collection, text=TextKind.MARKDOWN)[3].text == "Plain words\nof dengue"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(TextKind.VISIBLE, "On dengue\nread from a document"), (TextKind.MARKDOWN, "# On dengue\n\nread from a document")],
    ids=["visible", "markdown"],
)
def test_a_document_is_exported_as_it_was_made_readable(tmp_path: Path, text: TextKind, expected: str) -> None:
    url = f"{HOST}/paper.pdf"
    readable = ReadableDocument("text/html; charset=utf-8", b"<h1>On dengue</h1><p>read from a document</p>")
    response = Response(url, url, 200, {"content-type": "application/pdf"}, b"%PDF-1.7 ...", START, readable=readable)
    visit = Visit(1, Link(url), Priority(1.0), url, Page(url), 0.9, None, START, 200)
    with Collection(tmp_path / "dengue", Topic.of("dengue"), {"identity": {}}) as collection:
        collection.store_visits([(visit, response, None)])
    (row,) = rows(tmp_path / "dengue", text=text)
    assert (row.text, row.type) == (expected, "application/pdf")
    export_pages(tmp_path / "dengue", ExportJob("warc", tmp_path / "out.warc.gz"))
    assert [found["id"] for found in _of_warc(tmp_path / "out.warc.gz")] == [row.id]


# In every format


def _of_jsonl(path: Path) -> Iterator[dict[str, object]]:
    yield from map(json.loads, path.read_text("utf-8").splitlines())


def _of_csv(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _of_parquet(path: Path) -> Iterator[dict[str, object]]:
    # Imported late, because every test process imports this file.
    from pyarrow import parquet

    yield from parquet.read_table(path).to_pylist()


def _of_warc(path: Path) -> Iterator[dict[str, object]]:
    with path.open("rb") as file:
        responses = set()
        for record in ArchiveIterator(file, check_digests="raise"):
            body = record.content_stream().read()
            if record.rec_type == "response":
                responses.add(record.rec_headers.get_header("WARC-Record-ID"))
            if record.rec_type == "metadata":
                assert record.rec_headers.get_header("WARC-Refers-To") in responses
                assert not record.rec_headers.get_header("WARC-Target-URI"), "it would replace the page in a replay"
                yield json.loads(body)


def _of_markdown(path: Path) -> Iterator[dict[str, object]]:
    for file in path.glob("??/*.md"):
        head = file.read_text("utf-8").split("---\n")[1]
        row = {name: json.loads(value) for name, _, value in (line.partition(": ") for line in head.splitlines())}
        assert file.stem == row["id"]
        yield row


READERS: dict[str, Callable[[Path], Iterator[dict[str, object]]]] = {
    "jsonl": _of_jsonl,
    "csv": _of_csv,
    "parquet": _of_parquet,
    "warc": _of_warc,
    "markdown": _of_markdown,
}


@pytest.mark.parametrize("to", FORMATS)
def test_ids_agree_across_formats(collection: Path, tmp_path: Path, to: str) -> None:
    done = export_pages(collection, ExportJob(to, tmp_path / "out"))
    assert done.pages == len(RELEVANT)
    found = {str(row["id"]): row["url"] for row in READERS[to](tmp_path / "out")}
    assert found == {row.id: row.url for row in rows(collection)}


@pytest.mark.parametrize("to", FORMATS)
def test_the_same_pages_make_the_same_bytes(collection: Path, tmp_path: Path, to: str) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        export_pages(collection, ExportJob(to, tmp_path / name / "out"))
    first, second = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "two")
    )
    assert first == second


def test_pandas_and_arrow_read_the_parquet(collection: Path, tmp_path: Path) -> None:
    import pandas
    import pyarrow
    from pyarrow import parquet

    export_pages(collection, ExportJob("parquet", tmp_path / "out.parquet"))
    frame = pandas.read_parquet(tmp_path / "out.parquet")
    assert list(frame.columns) == [column.name for column in list_columns()]
    assert frame.fetched.dt.year.unique().tolist() == [2023]
    assert [list(chain) for chain in frame.chain][1] == [f"{HOST}/1", f"{HOST}/2"]
    assert frame.tdm_reserved.tolist() == [None, None, True, None, None]
    schema = parquet.read_schema(tmp_path / "out.parquet")
    assert schema.field("relevance").type == pyarrow.float64()
    assert b"threshold" in schema.field("relevant").metadata[b"description"]


def test_pandas_reads_the_csv(collection: Path, tmp_path: Path) -> None:
    import pandas

    export_pages(collection, ExportJob("csv", tmp_path / "out.csv"))
    frame = pandas.read_csv(tmp_path / "out.csv")
    assert frame.text.tolist() == [row.text for row in rows(collection)]
    assert frame.chain[1].split() == [f"{HOST}/1", f"{HOST}/2"]


def test_records_are_copied_as_they_stand_in_the_archive(collection: Path, tmp_path: Path) -> None:
    export_pages(collection, ExportJob("warc", tmp_path / "out.warc.gz"))
    row, copied = rows(collection)[0], (tmp_path / "out.warc.gz").read_bytes()
    archive = (collection / "warc" / row.segment).read_bytes()
    assert archive[row.offset : row.offset + row.length] in copied


@pytest.mark.parametrize(
    ("kind", "unpack"),
    [("gz", gzip.decompress), ("zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data))],
    ids=["gz", "zst"],
)
@pytest.mark.parametrize("to", ["jsonl", "csv"])
def test_lines_may_be_compressed(
    collection: Path, tmp_path: Path, to: str, kind: str, unpack: Callable[[bytes], bytes]
) -> None:
    export_pages(collection, ExportJob(to, tmp_path / "plain"))
    export_pages(collection, ExportJob.from_options(to, collection, tmp_path / f"out.{to}.{kind}"))
    assert unpack((tmp_path / f"out.{to}.{kind}").read_bytes()) == (tmp_path / "plain").read_bytes()


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_of_nothing_is_whole(collection: Path, tmp_path: Path, to: str) -> None:
    assert export_pages(collection, ExportJob(to, tmp_path / "out"), ExportFilter(languages=("xx",))).pages == 0
    assert list(READERS[to](tmp_path / "out")) == []


def test_the_card_tells_topic_counts_dates_strategy_licences_and_columns(collection: Path, tmp_path: Path) -> None:
    done = export_pages(collection, ExportJob("jsonl", tmp_path / "out.jsonl"))
    card = Path(done.card).read_text("utf-8")
    assert done.card == str(tmp_path / "out.jsonl.card.md")
    for words in (
        "# Web pages about dengue fever",
        "5 pages as jsonl",
        "Strategy: `best_first`",
        "2023-11-15 to 2023-11-20",
        "- CC BY 4.0: 1",
        "- none named: 4",
        "1 pages reserve",
        "`noai` 1",
        f"Seeds: <{HOST}/1>",
        "- en: 3",
        "robots.txt was obeyed",
        "on 2023-11-14",
    ):
        assert words in card, words
    assert all(f"\n| `{column.name}` | {column.description} |" in card for column in list_columns())


# All or nothing


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_that_is_interrupted_leaves_nothing_behind(collection: Path, tmp_path: Path, to: str) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    pages = ExportPages(collection, ExportFilter(), choose_text_kind(to, None))
    with pytest.raises(KeyboardInterrupt):
        run_export(pages, ExportJob(to, tmp_path / "out"), interrupted)
    pages.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", FORMATS)
def test_what_exists_is_replaced_only_when_asked(collection: Path, tmp_path: Path, to: str) -> None:
    export_pages(collection, ExportJob(to, tmp_path / "out"), ExportFilter(relevance=0.75))
    with pytest.raises(UsageError, match="--force"):
        export_pages(collection, ExportJob(to, tmp_path / "out"))
    assert len(list(READERS[to](tmp_path / "out"))) == 2
    export_pages(collection, ExportJob(to, tmp_path / "out", force=True))
    assert len(list(READERS[to](tmp_path / "out"))) == len(RELEVANT)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_folder_that_is_not_an_export_is_never_replaced(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "README.md").write_text("years of work")
    with pytest.raises(UsageError, match="choose another"):
        export_pages(collection, ExportJob("markdown", tmp_path / "thesis", force=True))
    assert (tmp_path / "thesis" / "README.md").read_text() == "years of work"


def test_damaged_records_are_counted_and_the_rest_is_exported(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "dengue")
    spoiled = rows(directory)[1]
    with (directory / "warc" / spoiled.segment).open("r+b") as file:
        file.seek(spoiled.offset + 20)
        file.write(b"\xff" * 40)
    done = export_pages(directory, ExportJob("jsonl", tmp_path / "out.jsonl"))
    assert (done.pages, done.unreadable) == (4, 1)
    assert "1 pages whose stored record is damaged" in Path(done.card).read_text("utf-8")


def test_without_pyarrow_the_error_says_what_to_install(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"topicrawl\[parquet\]"):
        export_pages(collection, ExportJob("parquet", tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", FORMATS)
def test_memory_does_not_grow_with_the_collection(
    tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch, many: tuple[Path, Path]
) -> None:
    monkeypatch.setattr(parquet, "_GROUP_CHARACTERS", 30_000)
    peaks = []
    for number, directory in enumerate(many):
        tracemalloc.start()
        export_pages(directory, ExportJob(to, tmp_path / str(number)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + 50_000, peaks


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Create two collections, one seven times as large as the other, with 260 KB of text."""
    folder = tmp_path_factory.mktemp("many")
    filler = "dengue fever " * 500
    one, two = (
        create_collection(
            folder / str(count), {n: (make_html(n, f"{n} {filler}"), {}, "en", 0.9) for n in range(1, count + 1)}
        )
        for count in (6, 40)
    )
    return one, two
