"""The benchmark of the web application runs, and its collection has what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.markers import LONG

import web_pages
from topicrawl.collection.store import CollectionStore
from topicrawl.web.app import create_app

PAGES, VERDICTS = 300, 60


@LONG
def test_all_requests_of_the_benchmark_succeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    monkeypatch.chdir(tmp_path)
    directory = web_pages.prepare_collection(PAGES, VERDICTS)
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    assert store.query_value(int, "SELECT count(*) FROM visits") == PAGES
    assert store.query_value(int, "SELECT count(*) FROM annotations") == VERDICTS
    page = str(store.query_rows("SELECT url FROM pages LIMIT 1")[0][0])
    store.close()
    app = create_app([directory])
    requests = web_pages.list_requests(directory.name, page)
    with TestClient(app) as client:
        failed = {name: path for name, path in requests.items() if client.get(path).status_code != 200}
    assert not failed
