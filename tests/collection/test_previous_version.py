"""A collection of the previous version (formats 4 and 1) can be read, resumed and exported."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.helpers.markers import LONG
from tests.helpers.previous_version import extract_fixture, run_topicrawl, serve_sample_web

from topicrawl.collection import queries
from topicrawl.collection.annotations import AnnotationLabel, list_current_annotations, undo_last_action
from topicrawl.collection.commands import CommandKind, list_commands
from topicrawl.collection.review import build_groups, find_group, label_group, load_candidates
from topicrawl.collection.review_report import build_review_report
from topicrawl.collection.store import SCHEMA, CollectionStore
from topicrawl.frontier.sqlite.file import FRONTIER_SCHEMA

# Ids and relevance in the export of the previous version.
EXPORTED = {
    "f55f823e4110d1cd": 0.22025091115745538,
    "0d7eb1afff95c8dd": 0.4580259953039769,
    "c1add6016cfa7ef5": 0.7061048214365913,
    "0a2d6913d30807d1": 0.34922201918617585,
    "b98cf7f19857ea14": 0.6432486809324243,
}
COLUMNS = (
    *("id", "url", "title", "text", "language", "type", "bytes", "words", "relevance", "relevant", "fetched", "status"),
    *("canonical", "digest", "requested", "source", "anchor", "chain", "depth", "step", "score", "segment", "offset"),
    *("length", "licence", "licence_from", "robots", "tdm_reserved", "tdm_policy"),
    *("label", "labelled_by", "label_reason"),  # added later
)
WAITING = 178  # links that the previous version left waiting


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    extract_fixture("collection-0.1.tar.xz", tmp_path)
    return tmp_path / "crawl"


def read_formats(directory: Path) -> list[int]:
    formats = []
    for name in ("topicrawl.sqlite", "frontier.sqlite"):
        with closing(sqlite3.connect(directory / name)) as database:
            formats.append(database.execute("PRAGMA user_version").fetchone()[0])
    return formats


def read_bytes(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.sqlite*"))}


def export_rows(directory: Path) -> list[dict[str, object]]:
    lines = run_topicrawl("export", directory, "--to", "jsonl", "--out", "-", "--no-card").splitlines()
    return [json.loads(line) for line in lines]


@LONG
def test_read_only_commands_read_the_old_format_and_do_not_change_it(crawl: Path) -> None:
    assert read_formats(crawl) == [4, 1]
    before = read_bytes(crawl)
    status = json.loads(run_topicrawl("status", crawl, "--json"))
    # Five pages reach the threshold, and a user marked another page as relevant.
    assert (status["pages"], status["relevant"], status["frontier"]["waiting"]) == (24, 6, WAITING)
    rows = export_rows(crawl)
    assert {str(row["id"]): row["relevance"] for row in rows if not row["label"]} == pytest.approx(EXPORTED)
    # The page that a user marked as relevant is exported too, whatever its relevance is.
    assert [(row["url"], row["relevant"]) for row in rows if row["label"]] == [
        ("http://www.hollowworks.example:8311/", True)
    ]
    assert {tuple(row) for row in rows} == {COLUMNS}
    assert "fumigation" in run_topicrawl("search", "fumigation", crawl)
    reason = run_topicrawl("why", crawl, "http://www.ravenmarket.example:8311/fevers/")
    assert "0.737" in reason
    assert "format 4" in run_topicrawl("doctor", crawl)
    after = read_bytes(crawl)
    assert after["topicrawl.sqlite"] == before["topicrawl.sqlite"]
    assert after["frontier.sqlite"] == before["frontier.sqlite"]


@pytest.mark.parametrize("readonly", [True, False], ids=["old format", "upgraded"])
def test_annotations_commands_and_visits_are_readable(crawl: Path, readonly: bool) -> None:
    store = CollectionStore(crawl / "topicrawl.sqlite", readonly=readonly)
    try:
        labels = [(row.url, row.label, row.origin) for row in list_current_annotations(store).values()]
        commands = [(row.kind, row.target) for row in list_commands(store)]
        visit = store.find_visit("http://www.ravenmarket.example:8311/fevers/")
        repeated = [row.duplicate_of for row in store.iterate_visits("duplicate_of <> ''")]
        ((with_keys,),) = store.query_rows("SELECT count(duplicate_keys) FROM pages")
    finally:
        store.close()
    assert labels == [
        ("http://www.hollowworks.example:8311/", AnnotationLabel.RELEVANT, "review"),
        ("http://www.ravenpress.example:8311/", AnnotationLabel.IRRELEVANT, "review"),
    ]
    assert commands == [(CommandKind.WORD, "mosquito"), (CommandKind.BLOCK, "www.amberbridge.example")]
    assert visit is not None
    assert (visit.step, visit.priority.score) == (16, pytest.approx(0.736668288707733))
    assert [name for name, _ in visit.priority.parts] != []
    assert len(repeated) == 2
    assert with_keys == 24


@pytest.mark.parametrize("readonly", [True, False], ids=["old format", "upgraded"])
def test_pages_without_a_stored_judgement_are_reviewed_by_their_relevance(crawl: Path, readonly: bool) -> None:
    store = CollectionStore(crawl / "topicrawl.sqlite", readonly=readonly)
    try:
        report = build_review_report(store, 0.16)
        candidates = load_candidates(store, 0.16)
    finally:
        store.close()
    assert (report.pages, report.recommended) == (24, 5)
    assert {group.metric: group.pages for group in report.groups} == {"undoubted": 3, "relevance": 2, "rejected": 19}
    assert sum(candidate.is_reviewed for candidate in candidates) == 2


def test_the_upgraded_collection_accepts_a_group_decision(crawl: Path) -> None:
    store = CollectionStore(crawl / "topicrawl.sqlite")
    try:
        groups = build_groups(load_candidates(store, 0.16), 0.16)
        decision = label_group(store, find_group(groups, "relevance"), AnnotationLabel.IRRELEVANT, at=1.8e9)
        assert decision.pages == 2
        assert queries.count_relevant_pages(store, 0.16) == (24, 4)
    finally:
        store.close()


def test_an_annotation_of_the_previous_version_can_be_undone(crawl: Path) -> None:
    store = CollectionStore(crawl / "topicrawl.sqlite")
    try:
        (undone,) = undo_last_action(store, at=1.8e9)
        assert (undone.url, undone.label) == ("http://www.ravenpress.example:8311/", AnnotationLabel.NONE)
        assert len(list_current_annotations(store)) == 1
    finally:
        store.close()


def test_a_read_only_directory_is_readable(crawl: Path) -> None:
    shutil.rmtree(crawl / "warc")
    crawl.chmod(0o555)
    try:
        store = CollectionStore(crawl / "topicrawl.sqlite", readonly=True)
        assert len(list_commands(store)) == 2
        store.close()
    finally:
        crawl.chmod(0o755)


@LONG
def test_the_crawl_resumes_and_upgrades_the_databases(crawl: Path) -> None:
    with serve_sample_web():
        run_topicrawl("crawl", "--out", crawl, "--pages", "40", "--min-free", "0")
    assert read_formats(crawl) == [SCHEMA.version, FRONTIER_SCHEMA.version]
    status = json.loads(run_topicrawl("status", crawl, "--json"))
    assert status["pages"] == 40
    assert status["relevant"] > 5
    exported = {str(row["id"]): row["relevance"] for row in export_rows(crawl)}
    assert {page: exported[page] for page in EXPORTED} == pytest.approx(EXPORTED)
    assert "0 problems" in run_topicrawl("doctor", crawl)
