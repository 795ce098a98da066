"""Review by samples over the API and in a browser; the export follows the verdicts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.review_site import SECTIONS, crawl_review_site, is_on_topic
from tests.helpers.search_collections import create_collection, make_page
from tests.helpers.web_client import WebClient, serve_collections

from topicrawl.collection.export.rows import ExportPages, TextKind
from topicrawl.collection.page_filter import ExportFilter

REVIEW = "/api/collections/crawl/review"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished crawl, and the address of its site."""
    directory = tmp_path_factory.mktemp("review") / "crawl"
    return directory, crawl_review_site(directory)


@pytest.fixture
def place(crawled: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A copy of the finished crawl, and the address of its site."""
    shutil.copytree(crawled[0], tmp_path / "crawl")
    return tmp_path / "crawl", crawled[1]


@pytest.fixture
def client(place: tuple[Path, str]) -> Iterator[WebClient]:
    with serve_collections([place[0]]) as client:
        yield client


def send(client: WebClient, path: str, body: object) -> tuple[int, dict[str, Any]]:
    """Send JSON to the API. Return the status and the JSON of the response."""
    headers = {"origin": client.origin, "content_type": "application/json"}
    response = client.send_request("POST", path, json.dumps(body).encode(), **headers)
    return response.status, json.loads(response.text)


def list_exported(directory: Path) -> set[str]:
    pages = ExportPages(directory, ExportFilter(), TextKind.NONE)
    try:
        return {row.url for row in pages}
    finally:
        pages.close()


def list_section(address: str, *names: str) -> set[str]:
    return {f"{address}/{name}/{number}" for name in names for number in range(SECTIONS[name][0])}


def test_groups_are_decided_over_the_api(client: WebClient, place: tuple[Path, str]) -> None:
    directory, address = place
    queue = [page["url"] for page in json.loads(client.get(REVIEW).text)["queue"]]
    ponds, planes = ([url for url in queue if name in url] for name in ("/ponds/", "/planes/"))
    status, report = send(client, REVIEW, {"relevant": ponds, "irrelevant": planes, "accept": "undoubted"})
    assert status == 200
    assert report["decisions"] == [
        {"group": f"vsm {address}/ponds/", "label": "relevant", "pages": 16},
        {"group": f"vsm {address}/planes/", "label": "irrelevant", "pages": 16},
        {"group": "undoubted", "label": "relevant", "pages": 6},
    ]
    assert list_exported(directory) == list_section(address, "clinic", "ponds")
    # A changed verdict on a sampled page revokes the rejection of its group.
    send(client, "/api/collections/crawl/verdicts", {"urls": planes, "verdict": "relevant"})
    assert list_exported(directory) == list_section(address, "clinic", "ponds", "planes")
    # The undo of this verdict restores the rejection too.
    assert send(client, "/api/collections/crawl/undo", {})[0] == 200
    assert list_exported(directory) == list_section(address, "clinic", "ponds")


def test_sheet_goes_through_the_api(client: WebClient, place: tuple[Path, str]) -> None:
    directory, address = place
    response = client.get(f"{REVIEW}.csv")
    assert response.headers["content-type"].startswith("text/csv")
    lines = [
        line if number == 0 else ("relevant" if is_on_topic(line) else "irrelevant") + line
        for number, line in enumerate(response.text.splitlines())
    ]
    status, report = send(client, f"{REVIEW}.csv", {"csv": "\n".join(lines)})
    assert (status, report["queue"], len(report["decisions"])) == (200, [], 2)
    assert list_exported(directory) == list_section(address, "clinic", "ponds")


def test_several_groups_are_accepted_and_rejected_at_once(client: WebClient, place: tuple[Path, str]) -> None:
    directory, address = place
    body = {"accept": [f"vsm {address}/ponds/", "undoubted"], "reject": [f"vsm {address}/planes/"]}
    status, report = send(client, REVIEW, body)
    assert (status, len(report["decisions"])) == (200, 3)
    assert [group["decision"] for group in report["groups"] if group["name"] == "undoubted"] == ["relevant"]
    assert list_exported(directory) == list_section(address, "clinic", "ponds")


def test_another_judge_reviews_over_the_api(client: WebClient) -> None:
    status, report = send(client, REVIEW, {"judge": "summary"})
    assert (status, report["queue"]) == (200, [])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (REVIEW, {}),
        (REVIEW, {"relevant": ["http://unknown.example/"]}),
        (REVIEW, {"accept": "unknown"}),
        (REVIEW, {"accept": ["undoubted", "unknown"]}),
        (REVIEW, {"accept": [1]}),
        (REVIEW, {"reject": {"undoubted": True}}),
        (REVIEW, {"judge": "os:system"}),
        (f"{REVIEW}.csv", {"csv": 1}),
        (f"{REVIEW}.csv", {"csv": "nothing"}),
    ],
)
def test_invalid_requests_are_refused(client: WebClient, path: str, body: object) -> None:
    status, answer = send(client, path, body)
    assert status == 400
    assert answer["error"]


def test_verdict_is_undone_on_the_page_itself(tmp_path: Path) -> None:
    create_collection(tmp_path / "owls", [make_page(number, "owls") for number in range(2)])
    url = make_page(1)[0]
    with serve_collections([tmp_path]) as client:
        assert 'id="undo"' not in client.get("/c/owls/page", url=url).text
        client.post("/c/owls/verdict", url=url, verdict="relevant")
        client.post("/c/owls/verdict", url=make_page(0)[0], verdict="relevant")
        action = re.search(r'name="action" value="(\d+)"', client.get("/c/owls/page", url=url).text)
        assert action is not None
        # The verdict on the other page, which is newer, stays.
        client.post("/c/owls/undo", action=action[1])
        assert 'id="undo"' not in client.get("/c/owls/page", url=url).text
        assert 'id="undo"' in client.get("/c/owls/page", url=make_page(0)[0]).text
