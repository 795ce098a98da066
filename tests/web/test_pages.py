"""What a visitor sees and does: start and steer a crawl, review, teach, search, compare."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.live import live_site
from tests.web.served import PAGES, Client, answer, collected, served

from topicrawl.collection import orders, verdicts
from topicrawl.collection.orders import Order
from topicrawl.collection.store import Store
from topicrawl.sessions import labelled_sessions


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, str]:
    return tmp_path, collected(tmp_path / "owls")


@pytest.fixture
def client(place: tuple[Path, str]) -> Iterator[Client]:
    with served([place[0]]) as client:
        yield client


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path, str]]:
    """One collection for all who change nothing in it: its server, its shelf, its site."""
    home = tmp_path_factory.mktemp("still")
    site = collected(home / "owls")
    with served([home]) as client:
        yield client, home, site


def said(place: tuple[Path, str]) -> dict[str, str]:
    store = Store(place[0] / "owls" / "topicrawl.sqlite", readonly=True)
    try:
        return {row.url.removeprefix(place[1]): str(row.verdict) for row in verdicts.latest(store).values()}
    finally:
        store.close()


def test_a_shelf_without_crawls_says_so_and_offers_to_start_one(tmp_path: Path) -> None:
    with served([tmp_path]) as client:
        home = client.get("/")
        assert "No crawl is here yet" in home.text
        assert 'action="/crawls"' in home.text
        assert client.get("/search", q="owls").status == 200
        assert client.get("/compare").status == 200


def test_a_crawl_is_started_from_the_page_and_seen_there(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('allow_net = ["127.0.0.0/8"]\ndelay = 0.0\ndocuments = false\n')
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with live_site(answer) as (site, asked), served([shelf], config=config) as client:
        got = client.post("/crawls", words="--help owls", seeds=f"{site}/", pages=4)
        assert got.status == 303
        ((directory, started),) = client.site.crawls.waiting().items()
        assert started.process.wait(60) == 0, started.words()
        assert directory.name == "help-owls"
        table = json.loads(client.get("/api/collections/help-owls").text)
        assert (table["pages"], table["topic"]) == (4, "--help owls")
        assert "relevant pages among" in client.get("/c/help-owls").text
        assert len(asked) > 3


def test_orders_are_written_down_for_the_crawl(client: Client, place: tuple[Path, str]) -> None:
    for kind, target, amount in (
        ("seed", f"{place[1]}/x {place[1]}/y", 1),
        ("word", "barn tawny", 1),
        ("block", "A.example", 1),
        ("boost", "b.example", -0.5),
    ):
        assert client.post("/c/owls/order", kind=kind, target=target, amount=amount).status == 303
    store = Store(place[0] / "owls" / "topicrawl.sqlite", readonly=True)
    assert [(it.kind, it.target, it.amount) for it in orders.given(store)] == [
        (Order.SEED, f"{place[1]}/x", 1.0), (Order.SEED, f"{place[1]}/y", 1.0), (Order.WORD, "barn", 1.0),
        (Order.WORD, "tawny", 1.0), (Order.BLOCK, "a.example", 1.0), (Order.BOOST, "b.example", -0.5),
    ]  # fmt: skip
    store.close()
    assert "wait until the crawl goes on" in client.get("/c/owls").text
    assert client.post("/c/owls/order", kind="pause").status == 400
    assert client.post("/c/owls/order", kind="dance").status == 400


def test_a_good_sample_accepts_its_group_and_undo_takes_it_back(client: Client, place: tuple[Path, str]) -> None:
    read: list[str] = []
    before: dict[str, str] = {}
    while len(said(place)) == len(read):
        text = client.get("/c/owls/review").text
        assert "Nothing is left" not in text, "no group was accepted by its sample"
        before = said(place)
        read.append(text.partition('name="url" value="')[2].partition('"')[0])
        assert client.post("/c/owls/review", url=read[-1], verdict="relevant", place=0).status == 303
    assert len(said(place)) > len(read)
    client.post("/c/owls/undo")
    assert len(said(place)) == len(read)
    client.post("/c/owls/undo")
    assert said(place) == before


def test_a_verdict_moves_links_on_the_page_of_the_crawl(client: Client, place: tuple[Path, str]) -> None:
    got = client.post("/c/owls/verdict", url=f"{place[1]}/", verdict="irrelevant", back="page?url=x")
    assert (got.status, got.headers["location"]) == (303, "/c/owls/page?url=x")
    assert said(place) == {"/": "irrelevant"}
    links = json.loads(client.get("/api/collections/owls/next").text)["links"]
    assert any(value < 0 for link in links for _, value in link["readers"])
    assert client.post("/c/owls/verdict", url="http://nobody.example/", verdict="relevant").status == 400
    elsewhere = client.post("/c/owls/undo", back="//evil.example/")
    assert elsewhere.headers["location"] == "/c/owls"


def test_browsing_is_recorded_in_order_and_read_as_sessions(client: Client, place: tuple[Path, str]) -> None:
    site = place[1]
    for url in (f"{site}/", f"{site}/owls/1"):
        assert client.post("/c/owls/teach", session="one", url=url).status == 303
    client.post("/c/owls/teach/label", session="one", url=f"{site}/owls/1", verdict="relevant")
    client.post("/c/owls/teach/back", session="one")
    client.post("/c/owls/teach", session="one", url=f"{site}/owls/2")
    found = labelled_sessions(place[0] / "owls" / "browsing.tsv")
    assert found.walks == ((f"{site}/", f"{site}/owls/1", f"{site}/", f"{site}/owls/2"),)
    assert found.relevant == (f"{site}/owls/1",)
    assert said(place) == {"/owls/1": "relevant"}
    assert "All of owls 2" in client.get("/c/owls/teach", session="one").text.replace("<mark>", "").replace(
        "</mark>", ""
    )


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]:22/"])
def test_nobody_makes_the_server_ask_private_addresses(tmp_path: Path, url: str) -> None:
    collected(tmp_path / "owls")
    with served([tmp_path]) as client:
        got = client.post("/c/owls/teach", session="one", url=url)
        assert got.status == 400
        assert "address_refused" in got.text


def test_a_history_is_imported(client: Client, place: tuple[Path, str]) -> None:
    lines = b"a\thttp://a.example/\nb\thttp://b.example/\trelevant\n"
    got = client.ask("POST", "/c/owls/history", lines, origin=client.own, content_type="application/octet-stream")
    assert (got.status, got.text.partition(" were")[0]) == (200, "2 sessions with 2 clicks")
    bad = client.ask("POST", "/c/owls/history", b"\x00\xff", origin=client.own, content_type="application/octet-stream")
    assert bad.status == 400


def test_an_answer_changes_after_feedback_and_the_collection_learns_too(
    client: Client, place: tuple[Path, str]
) -> None:
    assert client.site.finder.servers()
    asyncio.run(client.site.finder.here.catch_up())
    first = json.loads(client.get("/api/search", q="owls").text)["hits"]
    assert len(first) > 3
    wrong = first[0]["url"]
    assert client.post("/search", q="owls", url=wrong, verdict="irrelevant").status == 303
    again = json.loads(client.get("/api/search", q="owls").text)
    assert again["query"]["weights"]
    assert said(place) == {wrong.removeprefix(place[1]): "irrelevant"}
    page = client.get("/search", q="owls").text
    assert "<mark>" in page
    assert client.get("/search", like=wrong).status == 200


def test_strategies_are_tried_on_what_a_crawl_recorded_and_a_model_is_trained_on_browsing(
    client: Client, place: tuple[Path, str]
) -> None:
    assert client.post("/compare", name="owls", strategy="os:system", fetches=20).status == 400
    assert client.post("/compare", name="owls", strategy="breadth_first", fetches=20).status == 303
    for url in ("/", "/owls/1", "/owls/2"):
        client.post("/c/owls/teach", session="one", url=f"{place[1]}{url}")
    client.post("/c/owls/teach/label", session="one", url=f"{place[1]}/owls/2", verdict="relevant")
    assert client.post("/c/owls/teach/train").status == 303
    client.site.jobs.wait()
    compared = client.get("/compare", name="owls").text
    assert re.search(r'</svg> breadth_first</td><td class="n">[1-9]</td><td class="n">\d+ %</td>', compared), compared
    assert (place[0] / "owls" / "hmm.json").exists(), client.get("/c/owls/teach").text
    assert "A model is trained" in client.get("/c/owls/teach").text


def test_what_could_not_be_tried_says_why_and_what_was_learned_can_lead_a_crawl(
    client: Client, place: tuple[Path, str]
) -> None:
    assert 'value="nb4" disabled' in client.get("/compare", name="owls").text
    assert client.post("/c/owls/teach/crawl").status == 400
    client.post("/compare", name="owls", strategy="nb4", fetches=20)
    client.site.jobs.wait()
    text = client.get("/compare", name="owls").text
    assert "<strong>nb4</strong> could not be tried: " in text
    assert "topicrawl:" not in text
    assert str(place[0]) not in text
    client.post("/c/owls/verdict", url=f"{place[1]}/owls/1", verdict="relevant")
    assert 'value="nb4" disabled' not in client.get("/compare", name="owls").text


def test_a_form_comes_back_as_it_was_filled_in(still: tuple[Client, Path, str]) -> None:
    got = still[0].post("/crawls", words='barn "owls"', seeds="nonsense://x", pages=7, strategy="random")
    assert got.status == 400
    for part in ("barn &#34;owls&#34;", ">nonsense://x<", 'value="7"', "<option selected title"):
        assert part in got.text


def test_a_page_that_was_not_fetched_can_be_made_a_seed(still: tuple[Client, Path, str]) -> None:
    client, _, site = still
    got = client.get("/c/owls/page", url="http://a.example/x")
    assert got.status == 404
    assert 'name="target" value="http://a.example/x"' in got.text
    assert "not fetched" in client.get("/c/owls/page", url=f"{site}/").text


def test_a_collection_that_cannot_be_read_is_named_without_its_place(still: tuple[Client, Path, str]) -> None:
    client, home, _ = still
    (home / "torn").mkdir()
    (home / "torn" / "topicrawl.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    text = client.get("/").text
    assert "<strong>torn</strong> cannot be read" in text
    assert str(home) not in text
    assert client.get("/c/torn").status == 404
    assert client.get("/search", q="owls").status == 200


def test_what_is_set_is_shown_but_not_how_the_network_is_built(still: tuple[Client, Path, str]) -> None:
    text = still[0].get("/c/owls").text
    assert '<code>robots</code></td><td class="url">yes' in text
    assert "allow_net" not in text


def test_a_report_of_the_lab_is_shown_in_a_box_without_scripts(tmp_path: Path) -> None:
    (tmp_path / "week").mkdir()
    (tmp_path / "week" / "report.html").write_text("<h1>harvest</h1>")
    with served([tmp_path]) as client:
        assert 'href="/reports/week"' in client.get("/compare").text
        got = client.get("/reports/week")
        assert "sandbox" in got.headers["content-security-policy"]
        assert "harvest" in got.text
        assert client.get("/reports/..%2fweek").status == 404


def test_the_reader_says_which_link_led_to_a_page_and_what_it_was_worth(
    client: Client, place: tuple[Path, str]
) -> None:
    client.post("/c/owls/verdict", url=f"{place[1]}/owls/1", verdict="relevant")
    text = client.get("/c/owls/page", url=f"{place[1]}/owls/2").text
    assert 'class="lead"' in text
    assert "verdicts on the same directory" in text
    assert '<ol class="path">' in text
    assert client.get("/c/owls/page", url=f"{place[1]}/").text.count("A page to start from") == 1


def test_pages_are_narrowed_to_what_someone_wants_to_see(client: Client, place: tuple[Path, str]) -> None:
    client.post("/c/owls/verdict", url=f"{place[1]}/", verdict="unsure")
    table = json.loads(client.get("/api/collections/owls").text)
    for show, count in (("all", PAGES), ("relevant", table["relevant"]), ("reviewed", 1), ("failed", 0), ("x", PAGES)):
        text = client.get("/c/owls/pages", show=show).text
        assert text.count("/page?url=") == count, show
        assert ("No failed page is here" in text) == (show == "failed")


def test_undo_says_what_it_takes_back(client: Client, place: tuple[Path, str]) -> None:
    assert 'data-key="z"' not in client.get("/c/owls/review").text
    asked = {"urls": [f"{place[1]}/owls/{number}" for number in (1, 2)], "verdict": "relevant"}
    client.ask("POST", "/api/collections/owls/verdicts", json.dumps(asked).encode(), content_type="application/json")
    assert "<small>relevant, 2 pages</small>" in client.get("/c/owls/review").text
    client.post("/c/owls/undo", back="review")
    assert said(place) == {}
