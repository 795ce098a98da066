"""`crawl --reviewer`: usage in the output, verdicts in `why` and exports, and a key that is stored nowhere."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.helpers.chat_server import MODEL, TOKENS_IN, TOKENS_OUT, ChatServer, make_error, make_verdict, serve_chat
from tests.helpers.crawl_files import read_files
from tests.helpers.live_site import SiteAnswer, live_site

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.reviewer_log import load_report
from topicrawl.collection.store import CollectionStore

KEY = "k3y-of-the-reviewer"
OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5", "--no-distinct"]
LAST = 4  # number of the last page
#: The judge is unsure about a text that mentions the topic once.
TEXT = (
    "The town library keeps old maps, a reading room and a small garden. Opening hours change in winter. "
    "A lecture about dengue was given there by a doctor"
)


def make_site(wait: Callable[[], None] | None) -> SiteAnswer:
    """Return a chain of equal pages. The server calls `wait` before it sends the last one."""

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if not path[1:].isdecimal() or int(path[1:]) > LAST:
            return 404, {}, b""
        number = int(path[1:])
        if number == LAST and wait is not None:
            wait()
        return 200, {}, f'<p>{TEXT}</p><a href="/{number + 1}">more</a>'.encode()

    return answer


def wait_for_trouble() -> None:
    """Block the calling thread until the reviewer of the crawl has stopped."""
    deadline = monotonic() + 60
    while monotonic() < deadline:
        store = CollectionStore(Path("reviewed/topicrawl.sqlite"), readonly=True)
        report = load_report(store)
        store.close()
        if report is not None and report.trouble:
            return
        sleep(0.01)
    raise AssertionError("the reviewer has not stopped")


@pytest.fixture
def topic_file(run) -> Path:  # type: ignore[no-untyped-def]
    """A topic whose threshold is the relevance of the pages, so that the judge is unsure about them."""
    with live_site(make_site(None)) as (address, _):
        ran = run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--json", "--out", "plain")
    events = list(map(json.loads, ran.out.splitlines()))
    relevance = next(event["relevance"] for event in events if event["event"] == "visit")
    path = Path("topic.toml")
    path.write_text(f'name = "dengue fever"\nthreshold = {relevance}\n[words]\ndengue = 1.0\nfever = 1.0\n')
    return path


def crawl(run, address: str, chat: ChatServer, *more: object):  # type: ignore[no-untyped-def]
    reviewer = ("--reviewer", chat.url, "--reviewer-model", MODEL, "--reviewer-price-in", 2, "--reviewer-price-out", 10)
    return run(
        "crawl", "--topic", "topic.toml", "--seed", f"{address}/0", "--out", "reviewed", *OPTIONS, *reviewer, *more
    )


def list_reviewed_urls() -> list[str]:
    store = CollectionStore(Path("reviewed/topicrawl.sqlite"), readonly=True)
    try:
        return [row.url for row in annotation_log.list_current_annotations(store).values() if row.is_by_reviewer]
    finally:
        store.close()


def test_calls_tokens_and_cost_are_shown_at_the_end_and_in_the_status(run, topic_file: Path) -> None:  # type: ignore[no-untyped-def]
    with (
        serve_chat(lambda request: make_verdict(True)) as chat,
        live_site(make_site(lambda: chat.wait_for_requests(2))) as (address, _),
    ):
        ran = crawl(run, address, chat, "--reviewer-calls", 2)
    assert ran.code == 0, ran.err
    status = json.loads(run("status", "reviewed", "--json").out)
    reviewer = status["reviewer"]
    # The second call may be in progress when the crawl ends.
    assert reviewer["verdicts"] in (1, 2)
    assert reviewer == {
        "calls": 2,
        "limit": 2,
        "verdicts": reviewer["verdicts"],
        "relevant": reviewer["verdicts"],
        "irrelevant": 0,
        "unsure": 0,
        "tokens_in": reviewer["verdicts"] * TOKENS_IN,
        "tokens_out": reviewer["verdicts"] * TOKENS_OUT,
        "cost": pytest.approx(reviewer["verdicts"] * (2 * TOKENS_IN + 10 * TOKENS_OUT) / 1e6),
        "trouble": "",
    }
    assert "reviewer: 2 of 2 calls" in ran.err
    assert "reviewer   2 of 2 calls" in run("status", "reviewed").out
    assert json.loads(run("status", "plain", "--json").out)["reviewer"] is None


def test_the_events_of_a_crawl_end_with_the_usage(run, topic_file: Path) -> None:  # type: ignore[no-untyped-def]
    with (
        # After a certain rejection, the judge would be sure about the other pages.
        serve_chat(lambda request: make_verdict(False, 0.1)) as chat,
        live_site(make_site(lambda: chat.wait_for_requests(2))) as (address, _),
    ):
        ran = crawl(run, address, chat, "--json", "--reviewer-calls", 2)
    stop = json.loads(ran.out.splitlines()[-1])
    assert stop["event"] == "stop"
    assert stop["reviewer"]["calls"] == 2


def test_a_refusing_endpoint_is_named_once_at_the_end(run, topic_file: Path) -> None:  # type: ignore[no-untyped-def]
    with serve_chat(lambda request: make_error(401)) as chat, live_site(make_site(wait_for_trouble)) as (address, _):
        ran = crawl(run, address, chat)
    assert ran.code == 0
    assert f"{LAST + 1} pages" in ran.err
    assert ran.err.count("the reviewer stopped early: the reviewer endpoint refuses requests (status 401)") == 1
    assert Path("reviewed/crawl.log").read_text("utf-8").count("refuses requests") == 1
    assert "status 401" in json.loads(run("status", "reviewed", "--json").out)["reviewer"]["trouble"]


def test_why_and_exports_show_verdicts_and_the_label_of_a_user_comes_first(run, topic_file: Path) -> None:  # type: ignore[no-untyped-def]
    reason = "it explains dengue"
    with (
        serve_chat(lambda request: make_verdict(True, 0.75, reason)) as chat,
        live_site(make_site(lambda: chat.wait_for_requests(2))) as (address, _),
    ):
        crawl(run, address, chat)
    url = list_reviewed_urls()[0]
    assert f"labelled relevant by the reviewer {MODEL} (confidence 0.75): {reason}" in run("why", "reviewed", url).out
    assert find_export_label(run, url) == ("relevant", "reviewer", reason)
    store = CollectionStore(Path("reviewed/topicrawl.sqlite"))
    annotation_log.annotate(store, [url], AnnotationLabel.IRRELEVANT, origin="read", at=1.0)
    store.close()
    labels = json.loads(run("why", "reviewed", url, "--json").out)["labels"]
    assert [(label["label"], label["by"], label["reason"]) for label in labels] == [
        ("irrelevant", "user", ""),
        ("relevant", "reviewer", reason),
    ]
    assert find_export_label(run, url) == ("irrelevant", "user", "")


def find_export_label(run, url: str) -> tuple[str, str, str]:  # type: ignore[no-untyped-def]
    assert run("export", "reviewed", "--to", "csv", "--out", "pages.csv", "--all", "--force").code == 0
    with Path("pages.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["url"] == url]
    return row["label"], row["labelled_by"], row["label_reason"]


@pytest.mark.parametrize("status", [200, 401])
def test_the_key_is_sent_in_the_header_and_stored_nowhere(  # type: ignore[no-untyped-def]
    run, topic_file: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICRAWL_REVIEWER_KEY", f" {KEY}\n")
    reply = make_verdict(True) if status == 200 else make_error(status)
    with serve_chat(lambda request: reply) as chat:
        wait = wait_for_trouble if status == 401 else lambda: chat.wait_for_requests(2)
        with live_site(make_site(wait)) as (address, asked):
            ran = crawl(run, address, chat)
    assert {request.headers["authorization"] for request in chat.requests} == {f"Bearer {KEY}"}
    assert all(KEY not in json.dumps(request.body) for request in chat.requests)
    shown = run("status", "reviewed", "--json").out + ran.out + ran.err
    stored = read_files(Path("reviewed"))
    assert chat.url.encode() in stored, "the URL is stored in the settings"
    assert KEY.encode() not in stored + shown.encode()
    assert all("completions" not in path for path in asked)
    assert b"completions" not in read_files(Path("reviewed/warc"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--reviewer", "localhost:11434"], "http://localhost:11434/v1"),
        (["--reviewer", "http://localhost/v1?key=x", "--reviewer-model", "m"], "http://localhost:11434/v1"),
        (["--reviewer", f"http://me:{KEY}@localhost/v1", "--reviewer-model", "m"], "TOPICRAWL_REVIEWER_KEY"),
        (["--reviewer", "http://localhost/v1"], "--reviewer-model"),
        (["--reviewer", "http://localhost/v1", "--reviewer-model", "m", "--reviewer-calls", "-1"], "0 or more"),
        (["--reviewer", "http://localhost/v1", "--reviewer-model", "m", "--frontier", "redis://r/0"], "shared crawl"),
    ],
)
def test_invalid_options_are_reported_in_one_line(run, options: list[str], words: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue fever", "--seed", "http://127.0.0.1:8009/", *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert KEY not in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not list(Path().iterdir())


def test_a_key_that_is_not_a_header_value_is_rejected_without_printing_it(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TOPICRAWL_REVIEWER_KEY", f"{KEY}\nX-Other: 1")
    reviewer = ("--reviewer", "http://localhost:9/v1", "--reviewer-model", "m")
    ran = run("crawl", "dengue fever", "--seed", "http://127.0.0.1:8009/", *reviewer)
    assert ran.code == 2
    assert "TOPICRAWL_REVIEWER_KEY" in ran.err
    assert KEY not in ran.err
    assert not list(Path().iterdir())
