"""Pages and actions of the web application: start and steer a crawl, review, train, search, compare."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG
from tests.helpers.web_client import PAGES, WebClient, crawl_hostile_site, respond_hostile, serve_collections

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.export.rows import ExportPages
from topicrawl.collection.export.run import FORMATS, ExportJob, choose_text_kind, run_export
from topicrawl.collection.page_filter import ExportFilter
from topicrawl.collection.store import CollectionStore
from topicrawl.sessions import read_labelled_sessions


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, str]:
    return tmp_path, crawl_hostile_site(tmp_path / "owls")


@pytest.fixture
def client(place: tuple[Path, str]) -> Iterator[WebClient]:
    with serve_collections([place[0]]) as client:
        yield client


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WebClient, Path, str]]:
    """A collection for tests that do not change it: its client, its directory, the address of the crawled site."""
    home = tmp_path_factory.mktemp("still")
    site = crawl_hostile_site(home / "owls")
    with serve_collections([home]) as client:
        yield client, home, site


def load_verdicts(place: tuple[Path, str]) -> dict[str, str]:
    """Return the verdicts of the collection by URL path."""
    store = CollectionStore(place[0] / "owls" / "topicrawl.sqlite", readonly=True)
    try:
        return {
            row.url.removeprefix(place[1]): str(row.label)
            for row in annotation_log.list_current_annotations(store).values()
        }
    finally:
        store.close()


def test_home_page_without_crawls_has_a_form_to_start_one(tmp_path: Path) -> None:
    with serve_collections([tmp_path]) as client:
        home = client.get("/")
        assert "There are no crawls yet" in home.text
        assert 'action="/crawls"' in home.text
        assert client.get("/search", q="owls").status == 200
        assert client.get("/compare").status == 200


def test_crawl_started_from_the_page_is_shown_there(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('allow_net = ["127.0.0.0/8"]\ndelay = 0.0\ndocuments = false\n')
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with live_site(respond_hostile) as (site, asked), serve_collections([shelf], config=config) as client:
        got = client.post("/crawls", words="--help owls", seeds=f"{site}/", pages=4)
        assert got.status == 303
        ((directory, started),) = client.site.crawls.get_processes().items()
        assert started.process.wait(60) == 0, started.read_output()
        assert directory.name == "help-owls"
        table = json.loads(client.get("/api/collections/help-owls").text)
        assert (table["pages"], table["topic"]) == (4, "--help owls")
        assert "relevant pages among" in client.get("/c/help-owls").text
        assert len(asked) > 3


def test_commands_are_stored_for_the_crawl(client: WebClient, place: tuple[Path, str]) -> None:
    for kind, target, amount in (
        ("seed", f"{place[1]}/x {place[1]}/y", 1),
        ("word", "barn tawny", 1),
        ("block", "A.example", 1),
        ("boost", "b.example", -0.5),
    ):
        assert client.post("/c/owls/order", kind=kind, target=target, amount=amount).status == 303
    store = CollectionStore(place[0] / "owls" / "topicrawl.sqlite", readonly=True)
    assert [(it.kind, it.target, it.amount) for it in commands.list_commands(store)] == [
        (CommandKind.SEED, f"{place[1]}/x", 1.0),
        (CommandKind.SEED, f"{place[1]}/y", 1.0),
        (CommandKind.WORD, "barn", 1.0),
        (CommandKind.WORD, "tawny", 1.0),
        (CommandKind.BLOCK, "a.example", 1.0),
        (CommandKind.BOOST, "b.example", -0.5),
    ]
    store.close()
    assert "will be applied when the crawl continues" in client.get("/c/owls").text
    assert client.post("/c/owls/order", kind="pause").status == 400
    assert client.post("/c/owls/order", kind="dance").status == 400


def test_good_sample_accepts_its_group_until_undo(client: WebClient, place: tuple[Path, str]) -> None:
    store = CollectionStore(place[0] / "owls" / "topicrawl.sqlite")
    with store.db.transaction():
        # The pages of this site are undoubtedly relevant and need no review.
        store.db.execute("UPDATE pages SET judgement = replace(judgement, 'undoubted', 'words')")
    store.close()
    read: list[str] = []
    before: dict[str, str] = {}
    while len(load_verdicts(place)) == len(read):
        text = client.get("/c/owls/review").text
        assert "There are no pages left" not in text, "no group was accepted by its sample"
        before = load_verdicts(place)
        read.append(text.partition('name="url" value="')[2].partition('"')[0])
        assert client.post("/c/owls/review", url=read[-1], verdict="relevant", place=0).status == 303
    assert len(load_verdicts(place)) > len(read)
    client.post("/c/owls/undo")
    assert len(load_verdicts(place)) == len(read)
    client.post("/c/owls/undo")
    assert load_verdicts(place) == before


def test_verdict_changes_the_scores_of_waiting_links(client: WebClient, place: tuple[Path, str]) -> None:
    got = client.post("/c/owls/verdict", url=f"{place[1]}/", verdict="irrelevant", back="page?url=x")
    assert (got.status, got.headers["location"]) == (303, "/c/owls/page?url=x")
    assert load_verdicts(place) == {"/": "irrelevant"}
    links = json.loads(client.get("/api/collections/owls/next").text)["links"]
    assert any(value < 0 for link in links for _, value in link["feedback"])
    assert client.post("/c/owls/verdict", url="http://unknown.example/", verdict="relevant").status == 400
    response = client.post("/c/owls/undo", back="//evil.example/")
    assert response.headers["location"] == "/c/owls"


def test_browsing_is_recorded_as_sessions(client: WebClient, place: tuple[Path, str]) -> None:
    site = place[1]
    for url in (f"{site}/", f"{site}/owls/1"):
        assert client.post("/c/owls/teach", session="one", url=url).status == 303
    client.post("/c/owls/teach/label", session="one", url=f"{site}/owls/1", verdict="relevant")
    client.post("/c/owls/teach/back", session="one")
    client.post("/c/owls/teach", session="one", url=f"{site}/owls/2")
    found = read_labelled_sessions(place[0] / "owls" / "browsing.tsv")
    assert found.click_paths == ((f"{site}/", f"{site}/owls/1", f"{site}/", f"{site}/owls/2"),)
    assert found.relevant == (f"{site}/owls/1",)
    assert load_verdicts(place) == {"/owls/1": "relevant"}
    assert "All of owls 2" in client.get("/c/owls/teach", session="one").text.replace("<mark>", "").replace(
        "</mark>", ""
    )


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]:22/"])
def test_server_refuses_to_fetch_private_addresses(tmp_path: Path, url: str) -> None:
    crawl_hostile_site(tmp_path / "owls")
    with serve_collections([tmp_path]) as client:
        got = client.post("/c/owls/teach", session="one", url=url)
        assert got.status == 400
        assert "address_refused" in got.text


def test_history_is_imported(client: WebClient, place: tuple[Path, str]) -> None:
    lines = b"a\thttp://a.example/\nb\thttp://b.example/\trelevant\n"
    got = client.send_request(
        "POST", "/c/owls/history", lines, origin=client.origin, content_type="application/octet-stream"
    )
    assert (got.status, got.text.partition(" were")[0]) == (200, "2 sessions with 2 clicks")
    bad = client.send_request(
        "POST", "/c/owls/history", b"\x00\xff", origin=client.origin, content_type="application/octet-stream"
    )
    assert bad.status == 400


def test_feedback_changes_results_and_becomes_a_verdict(client: WebClient, place: tuple[Path, str]) -> None:
    assert client.site.search.refresh_servers()
    asyncio.run(client.site.search.local_server.update_indexes())
    first = json.loads(client.get("/api/search", q="owls").text)["hits"]
    assert len(first) > 3
    wrong = first[0]["url"]
    assert client.post("/search", q="owls", url=wrong, verdict="irrelevant").status == 303
    again = json.loads(client.get("/api/search", q="owls").text)
    assert again["query"]["weights"]
    assert not json.loads(client.get("/api/search", q="owls", plain="1").text)["query"]["weights"]
    assert load_verdicts(place) == {}, "feedback on a search does not change the topic by default"
    assert client.post("/search", q="owls", url=wrong, verdict="irrelevant", teach="1").status == 303
    assert load_verdicts(place) == {wrong.removeprefix(place[1]): "irrelevant"}
    page = client.get("/search", q="owls").text
    assert "<mark>" in page
    assert client.get("/search", like=wrong).status == 200


@LONG
def test_strategies_are_compared_and_a_model_is_trained(client: WebClient, place: tuple[Path, str]) -> None:
    assert client.post("/compare", name="owls", strategy="os:system", fetches=20).status == 400
    assert client.post("/compare", name="owls", strategy="breadth_first", fetches=20).status == 303
    for url in ("/", "/owls/1", "/owls/2"):
        client.post("/c/owls/teach", session="one", url=f"{place[1]}{url}")
    client.post("/c/owls/teach/label", session="one", url=f"{place[1]}/owls/2", verdict="relevant")
    assert client.post("/c/owls/teach/train").status == 303
    client.site.jobs.wait()
    compared = client.get("/compare", name="owls").text
    assert re.search(
        r'</svg> breadth_first</td><td class="n" data-label="Found">[1-9]</td><td class="n" [^>]+>\d+ %</td>', compared
    ), compared
    assert (place[0] / "owls" / "hmm.json").exists(), client.get("/c/owls/teach").text
    assert "A trained model is available" in client.get("/c/owls/teach").text


@LONG
def test_a_trained_model_is_used_by_hmm_and_the_hybrids(client: WebClient, place: tuple[Path, str]) -> None:
    directory, site = place[0] / "owls", place[1]
    (directory / "browsing.tsv").write_text(f"one\t{site}/\none\t{site}/owls/2\trelevant\none\t{site}/unseen", "utf-8")
    shown = client.get("/c/owls/teach").text
    assert "Fetch the pages of the sessions that are not in the collection" in shown
    assert client.post("/c/owls/teach/train", fetch="yes").status == 303
    client.site.jobs.wait()
    assert "pages fetched" in client.get("/c/owls/teach").text
    assert (
        "<option>hybrid_anchor</option><option>hybrid</option><option>hmm</option>" in client.get("/c/owls/teach").text
    )
    assert client.post("/c/owls/teach/crawl", strategy="breadth_first").status == 400
    client.post("/compare", name="owls", strategy="hybrid", fetches=20)
    client.site.jobs.wait()
    text = client.get("/compare", name="owls").text
    assert "hybrid</td>" in text
    assert "failed" not in text


def test_failed_strategy_is_reported_and_verdicts_enable_learners(client: WebClient, place: tuple[Path, str]) -> None:
    assert 'value="nb4" disabled' in client.get("/compare", name="owls").text
    assert client.post("/c/owls/teach/crawl").status == 400
    client.post("/compare", name="owls", strategy="nb4", fetches=20)
    client.site.jobs.wait()
    text = client.get("/compare", name="owls").text
    assert "<strong>nb4</strong> failed: " in text
    assert "topicrawl:" not in text
    assert str(place[0]) not in text
    client.post("/c/owls/verdict", url=f"{place[1]}/owls/1", verdict="relevant")
    assert 'value="nb4" disabled' not in client.get("/compare", name="owls").text


def test_invalid_form_is_shown_again_with_its_values(still: tuple[WebClient, Path, str]) -> None:
    got = still[0].post("/crawls", words='barn "owls"', seeds="nonsense://x", pages=7, strategy="random")
    assert got.status == 400
    for part in ("barn &#34;owls&#34;", ">nonsense://x<", 'value="7"', "<option selected title"):
        assert part in got.text


def test_page_that_was_not_fetched_can_be_added_as_a_seed(still: tuple[WebClient, Path, str]) -> None:
    client, _, site = still
    got = client.get("/c/owls/page", url="http://a.example/x")
    assert got.status == 404
    assert 'name="target" value="http://a.example/x"' in got.text
    assert "not fetched" in client.get("/c/owls/page", url=f"{site}/").text


def test_unreadable_collection_is_reported_without_its_path(still: tuple[WebClient, Path, str]) -> None:
    client, home, _ = still
    (home / "torn").mkdir()
    (home / "torn" / "topicrawl.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    text = client.get("/").text
    assert "<strong>torn</strong> cannot be read" in text
    assert str(home) not in text
    assert client.get("/c/torn").status == 404
    assert client.get("/search", q="owls").status == 200


def test_settings_are_shown_without_network_settings(still: tuple[WebClient, Path, str]) -> None:
    text = still[0].get("/c/owls/settings").text
    assert '<code>robots</code></th><td class="url">yes' in text
    assert "allow_net" not in text


def test_lab_report_is_sandboxed(tmp_path: Path) -> None:
    (tmp_path / "week").mkdir()
    (tmp_path / "week" / "report.html").write_text("<h1>harvest</h1>")
    with serve_collections([tmp_path]) as client:
        assert 'href="/reports/week"' in client.get("/compare").text
        got = client.get("/reports/week")
        assert "sandbox" in got.headers["content-security-policy"]
        assert "harvest" in got.text
        assert client.get("/reports/..%2fweek").status == 404


def test_page_shows_the_link_that_led_to_it_and_its_score(client: WebClient, place: tuple[Path, str]) -> None:
    client.post("/c/owls/verdict", url=f"{place[1]}/owls/1", verdict="relevant")
    text = client.get("/c/owls/page", url=f"{place[1]}/owls/2").text
    assert 'class="lead"' in text
    assert "annotations of the same directory" in text
    assert '<ol class="path">' in text
    assert client.get("/c/owls/page", url=f"{place[1]}/").text.count("This page is a seed") == 1


def test_list_of_pages_can_be_filtered(client: WebClient, place: tuple[Path, str]) -> None:
    client.post("/c/owls/verdict", url=f"{place[1]}/", verdict="unsure")
    table = json.loads(client.get("/api/collections/owls").text)
    host = place[1].removeprefix("http://")
    for fields, count in (
        ({"show": "all"}, PAGES),
        ({"show": "relevant"}, table["relevant"]),
        ({"show": "reviewed"}, 1),
        ({"show": "x"}, PAGES),
        ({"text": "hub"}, 1),
        ({"host": host, "verdict": "none"}, PAGES - 1),
        ({"host": "other.example"}, 0),
        ({"from": "0", "to": "1", "since": "2020-01-01", "until": "2999-01-01", "sort": "-title"}, PAGES),
    ):
        text = client.get("/c/owls/pages", **fields).text
        assert text.count("/page?url=") == count, fields
        assert f'<b id="count">{count}</b>' in text
    assert "There are no failed pages" in client.get("/c/owls/pages", show="failed").text
    invalid = client.get("/c/owls/pages", text="kept", since="soon")
    assert (invalid.status, "A date must have the form" in invalid.text, 'value="kept"' in invalid.text) == (
        400,
        True,
        True,
    )
    assert client.get("/c/owls/pages", sort="evil").status == 400


def test_host_and_explanation_have_pages(still: tuple[WebClient, Path, str]) -> None:
    client, _, site = still
    text = client.get("/c/owls/host", name=site.removeprefix("http://")).text
    assert f"<dd>{PAGES}</dd>" in text
    assert "Why was this URL fetched?" in client.get("/c/owls/why", url=f"{site}/owls/2").text
    assert "unseen" in client.get("/c/owls/why", url="http://unknown.example/").text


def test_bulk_verdict_applies_to_the_filter_or_to_the_checked_pages(client: WebClient, place: tuple[Path, str]) -> None:
    query = urlencode({"text": "owls"})
    assert client.post("/c/owls/pages/verdict", query=query, verdict="relevant").status == 400
    got = client.post("/c/owls/pages/verdict", query=query, verdict="relevant", url=f"{place[1]}/owls/1")
    assert got.status == 303
    assert load_verdicts(place) == {"/owls/1": "relevant"}
    client.post("/c/owls/pages/verdict", query=query, verdict="irrelevant", scope="all")
    assert len(load_verdicts(place)) > 2
    client.post("/c/owls/undo")
    assert load_verdicts(place) == {"/owls/1": "relevant"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "warc", "parquet"])
def test_download_of_a_selection_equals_the_export_with_the_same_filter(
    still: tuple[WebClient, Path, str], tmp_path: Path, kind: str
) -> None:
    client, home, _ = still
    fields = urlencode({"query": urlencode({"text": "owls"}), "scope": "all", "format": kind}).encode()
    headers = {"origin": client.origin, "content-type": "application/x-www-form-urlencoded"}
    request = urllib.request.Request(f"{client.origin}/c/owls/pages/download", fields, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        downloaded = response.read()
        assert "attachment" in response.headers["content-disposition"]
    pages = ExportPages(
        home / "owls", ExportFilter(includes_irrelevant=True, text="owls"), choose_text_kind(kind, None)
    )
    out = tmp_path / f"owls{FORMATS[kind][1]}"
    assert run_export(pages, ExportJob(kind, out), lambda: None).pages > 2
    pages.close()
    exported = out.read_bytes()
    if kind == "warc":
        # The first record describes the file and contains the time at which it was written.
        downloaded, exported = (
            b"WARC/".join(gzip.decompress(data).split(b"WARC/")[2:]) for data in (downloaded, exported)
        )
        assert downloaded.count(b"WARC-Target-URI") > 2
    assert downloaded == exported


def test_undo_button_describes_the_last_verdict(client: WebClient, place: tuple[Path, str]) -> None:
    assert 'id="undo" hidden' in client.get("/c/owls/review").text
    asked = {"urls": [f"{place[1]}/owls/{number}" for number in (1, 2)], "verdict": "relevant"}
    client.send_request(
        "POST", "/api/collections/owls/verdicts", json.dumps(asked).encode(), content_type="application/json"
    )
    assert '<small id="undone">relevant, 2 pages</small>' in client.get("/c/owls/review").text
    client.post("/c/owls/undo", back="review")
    assert load_verdicts(place) == {}
