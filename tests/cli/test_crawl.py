"""`crawl`, `status` and `why` on a live site."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.markers import LONG, mark_long
from warcio.archiveiterator import ArchiveIterator

from topicrawl import Settings, Topic, open_crawl

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5"]


def crawl(run, address: str, *more: object):  # type: ignore[no-untyped-def]
    return run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, *more)


def rows(sql: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect("dengue-fever/topicrawl.sqlite")
    found = database.execute(sql).fetchall()
    database.close()
    return found


def test_a_crawl_writes_one_directory(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(5)) as (address, asked):
        ran = crawl(run, address)
    assert ran.code == 0, ran.err
    assert "frontier empty" in ran.err
    assert sorted(asked) == ["/0", "/1", "/2", "/3", "/4", "/5", "/robots.txt"]
    names = {path.name for path in Path("dengue-fever").iterdir()}
    assert {"topicrawl.sqlite", "frontier.sqlite", "warc", "topic.toml", "crawl.log"} <= names
    assert "dengue" in Path("dengue-fever/topic.toml").read_text()
    assert [url for (url,) in rows("SELECT url FROM pages ORDER BY step")] == [f"{address}/{n}" for n in range(5)]
    assert rows("SELECT failure, count(*) FROM visits GROUP BY 1 ORDER BY 1") == [
        (None, 5),
        ("not_found", 1),
        ("robots", 1),
    ]


@pytest.mark.parametrize("in_header", [True, False])
def test_a_noarchive_page_is_not_stored_but_its_links_are_followed(run, in_header: bool) -> None:  # type: ignore[no-untyped-def]
    pages = {
        "/0": b"<p>dengue fever at home <a href='/1'>dengue</a></p>",
        "/1": b"<p>dengue fever secretword <a href='/2'>dengue</a></p>",
        "/2": b"<p>dengue fever abroad</p>",
    }
    if not in_header:
        pages["/1"] = b"<meta name=robots content=noarchive>" + pages["/1"]

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        headers = {"X-Robots-Tag": "noarchive"} if in_header and path == "/1" else {}
        return (200, headers, pages[path]) if path in pages else (404, {}, b"")

    with live_site(answer) as (address, _):
        assert crawl(run, address).code == 0
    visits = rows("SELECT url, failure FROM visits ORDER BY step")
    assert visits == [(f"{address}/0", None), (f"{address}/1", "noarchive"), (f"{address}/2", None)]
    with gzip.open("dengue-fever/warc/00001.warc.gz") as file:
        archived = file.read()
    assert b"abroad" in archived
    assert b"secretword" not in archived
    exported = run("export", "dengue-fever", "--to", "jsonl", "--out", "-").out
    assert [json.loads(line)["url"] for line in exported.splitlines()] == [f"{address}/0", f"{address}/2"]
    assert "not stored: noarchive" in run("why", "dengue-fever", f"{address}/1").out


def test_the_archive_can_be_read_by_warcio(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address)
    with Path("dengue-fever/warc/00001.warc.gz").open("rb") as file:
        responses = [record for record in ArchiveIterator(file) if record.rec_type == "response"]
        urls = [record.rec_headers.get_header("WARC-Target-URI") for record in responses]
    # The last link leads to an error page.
    assert urls == [f"{address}/{n}" for n in range(4)]


def test_a_crawl_resumes(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(9)) as (address, asked):
        assert crawl(run, address, "--pages", 3).code == 0
        ran = run("crawl", "dengue fever", "--pages", 6)
        assert ran.code == 0, ran.err
        assert "resuming" in ran.err
        again = run("crawl", "--out", "dengue-fever", "--pages", 6)
        assert "nothing to do: 6 pages are stored already" in again.err
    pages = [path for path in asked if path[1:].isdecimal()]
    assert pages == [f"/{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crawl", "malaria", "--out", "dengue-fever"], "other words: dengue fever, not malaria"),
        (["crawl", "dengue fever", "--strategy", "breadth_first"], "other strategy: apprentice, not breadth_first"),
    ],
)
def test_options_that_contradict_a_crawl_are_rejected(run, arguments: list[str], words: str) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address)
        before = rows("SELECT * FROM visits")
        ran = run(*arguments)
    assert ran.code == 2
    assert words in ran.err
    assert rows("SELECT * FROM visits") == before


def test_json_events_are_one_object_per_line(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        ran = crawl(run, address, "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [event["event"] for event in events] == ["start", *["visit"] * 5, "stop"]
    assert events[1]["url"] == f"{address}/0"
    assert events[-1]["reason"] == "frontier empty"
    assert events[-1]["pages"] == 3


def test_status_shows_counts_and_failures(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address)
    status = json.loads(run("status", "dengue-fever", "--json").out)
    assert (status["pages"], status["strategy"], status["topic"]) == (3, "apprentice", "dengue fever")
    assert status["failures"] == {"not_found": 1, "robots": 1}
    assert status["last_stop"] == "frontier empty"
    assert status["frontier"]["waiting"] == 0
    assert status["archive_bytes"] > 0
    assert "3 from 1 hosts" in run("status", "dengue-fever").out


def test_why_shows_the_links_from_the_seed(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address, "--strategy", "best_first")
    explanation = json.loads(run("why", "dengue-fever", f"{address}/2", "--json").out)
    assert [step["url"] for step in explanation["chain"]] == [f"{address}/{n}" for n in range(3)]
    assert [step["anchor"] for step in explanation["chain"]] == ["", "dengue 1", "dengue 2"]
    last = explanation["chain"][-1]
    assert last["score"] == pytest.approx((last["parts"]["page"] + last["parts"]["anchor"]) / 2)
    text = run("why", "dengue-fever", f"{address}/2").out
    assert "as a seed" in text
    assert "anchor" in text


def test_why_without_a_url_suggests_some(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address)
    suggestions = json.loads(run("why", "dengue-fever", "--json").out)
    assert {url for _, url in suggestions["best"]} == {f"{address}/{n}" for n in range(3)}
    assert suggestions["failures"] == {"not_found": f"{address}/3", "robots": f"{address}/secret"}
    lines = run("why", "dengue-fever").out.splitlines()
    assert lines[-1] == "explain one of them: topicrawl why dengue-fever URL"
    assert [line.split()[1] for line in lines[-3:-1]] == [f"{address}/3", f"{address}/secret"]


def test_a_directory_without_its_topic_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(1)) as (address, _):
        crawl(run, address)
    Path("dengue-fever/topic.toml").unlink()
    for command in (
        ["status", "dengue-fever"],
        ["crawl", "--out", "dengue-fever"],
        ["export", "dengue-fever", "--to", "csv"],
    ):
        ran = run(*command)
        assert (ran.code, ran.err.count("\n")) == (3, 1)
        assert "topic.toml is missing" in ran.err


@pytest.mark.parametrize(("path", "reason"), [("/3", "not_found"), ("/secret", "robots"), ("/elsewhere", "unseen")])
def test_why_names_the_reason_when_a_page_was_not_fetched(run, path: str, reason: str) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address)
    explanation = json.loads(run("why", "dengue-fever", address + path, "--json").out)
    assert (explanation["fetched"], explanation["reason"]) == (False, reason)
    assert reason in run("why", "dengue-fever", address + path).out


def test_why_explains_waiting_and_refused_links(run) -> None:  # type: ignore[no-untyped-def]
    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        body = b'<p>dengue <a href="/a/a/a">round</a> <a href="/next">on</a> <a rel="nofollow" href="/ad">ad</a></p>'
        return 200, {}, body

    with live_site(answer) as (address, _):
        crawl(run, address, "--pages", 1, "--no-robots")
    explained = {}
    for path in ("/a/a/a", "/ad"):
        explained[path] = json.loads(run("why", "dengue-fever", address + path, "--json").out)
    assert (explained["/a/a/a"]["reason"], explained["/ad"]["reason"]) == ("repeating_path", "nofollow")
    waiting = json.loads(run("why", "dengue-fever", address + "/next", "--json").out)
    assert waiting["reason"] == "waiting"
    assert waiting["waiting"]["anchor"] == "on"
    parts = waiting["waiting"]["parts"]
    assert {"always", "siblings"} & parts.keys(), "a waiting link has the same parts as a fetched one"


def test_an_unreachable_seed_is_a_named_failure(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue", "--seed", "http://127.0.0.1:9/", *OPTIONS, "--attempts", 1)
    assert ran.code == 5
    assert "connection" in ran.err or "robots_unreachable" in ran.err
    assert "Traceback" not in ran.err


def test_a_private_address_is_a_named_failure(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue", "--seed", "http://127.0.0.1:81/", "--delay", 0, "--min-free", 0)
    assert ran.code == 5
    assert "address_refused" in ran.err


def test_a_port_of_another_service_is_a_named_failure(run) -> None:  # type: ignore[no-untyped-def]
    # The address of the host name decides. This one is outside the allowed network.
    resolve = ("--resolve", "cache.test=93.184.215.14", "--allow-net", "10.0.0.0/8")
    ran = run("crawl", "dengue", "--seed", "http://cache.test:6379/", *resolve, "--delay", 0, "--min-free", 0)
    assert ran.code == 5
    assert "port_refused 1" in ran.err


def test_pages_of_a_truncated_archive_are_fetched_again(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(8)) as (address, asked):
        assert crawl(run, address).code == 0
        archive = Path("dengue-fever/warc/00001.warc.gz")
        size = archive.stat().st_size
        os.truncate(archive, size // 2)
        assert run("status", "dengue-fever").code == 0
        del asked[:]
        ran = run("crawl", "dengue fever")
        assert ran.code == 0, ran.err
    assert asked, "lost pages are fetched again"
    assert len(asked) < 8, "the other pages are not"
    assert len(rows("SELECT * FROM pages")) == 8
    for path in sorted(Path("dengue-fever/warc").iterdir()):
        with gzip.open(path) as file:
            file.read()


def test_an_incomplete_record_is_truncated_on_opening(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(8)) as (address, _):
        assert crawl(run, address, "--pages", 4).code == 0
        archive = Path("dengue-fever/warc/00001.warc.gz")
        whole = archive.read_bytes()
        archive.write_bytes(whole + whole[:77])
        assert run("crawl", "dengue fever", "--pages", 8).code == 0
    assert archive.read_bytes().startswith(whole)
    with gzip.open(archive) as file:
        assert file.read().count(b"WARC-Type: response") == 8


def test_too_little_disk_space_loses_no_pages(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(8)) as (address, _):
        ran = crawl(run, address, "--min-free", 10**9)
        assert ran.code == 4
        assert "must stay free" in ran.err
        assert crawl(run, address, "--min-free", 0).code == 0
    assert len(rows("SELECT * FROM pages")) == 8


def started(address: str, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=accept_hangup)


def accept_hangup() -> None:
    # A test run that was started with nohup ignores SIGHUP, and so do its child processes.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def eventually(asked: list[str], count: int) -> None:
    deadline = time.monotonic() + 20
    while len(asked) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(asked) >= count


@pytest.mark.parametrize(
    "number", mark_long([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], except_for=[signal.SIGTERM])
)
def test_a_signal_finishes_the_fetches_in_flight(run, number: signal.Signals) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(100_000)) as (address, asked):
        process = started(address)
        eventually(asked, 20)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "run the same command again to resume" in err
        assert "Traceback" not in err
        kept = len(rows("SELECT * FROM pages"))
        assert kept == len([path for path in asked if path[1:].isdecimal()]), "every fetched page is stored"
        assert run("crawl", "dengue fever", "--pages", kept + 5).code == 0
    assert len(rows("SELECT * FROM pages")) == kept + 5


@pytest.mark.usefixtures("run")
def test_a_crawl_whose_terminal_closes_finishes_the_fetches_in_flight() -> None:
    # The leader of a session receives SIGHUP when its controlling terminal closes.
    start = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from topicrawl.cli import main; main()"
    with live_site(make_chain_site(100_000)) as (address, asked):
        ours, theirs = os.openpty()
        command = [sys.executable, "-c", start, "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS]
        process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=accept_hangup
        )
        os.close(theirs)
        try:
            eventually(asked, 20)
        finally:
            os.close(ours)
            code = process.wait(20)
    assert code == 130
    kept = len(rows("SELECT * FROM pages"))
    assert kept == len([path for path in asked if path[1:].isdecimal()]), "every fetched page is stored"


@LONG
@pytest.mark.usefixtures("run")
def test_a_crawl_under_nohup_continues_after_sighup() -> None:
    with live_site(make_chain_site(100_000)) as (address, asked):
        command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS]
        process = subprocess.Popen(["nohup", *command], stderr=subprocess.PIPE, text=True)
        eventually(asked, 20)
        process.send_signal(signal.SIGHUP)
        eventually(asked, len(asked) + 20)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 130


def test_a_second_process_is_rejected_while_one_is_crawling(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(100_000)) as (address, asked):
        process = started(address, "--delay", "0.05")
        eventually(asked, 5)
        ran = run("crawl", "dengue fever")
        status = run("status", "dengue-fever")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert ran.code == 3
    assert str(process.pid) in ran.err
    assert status.code == 0, "`status` works during a crawl"


def test_a_full_disk_stops_with_its_own_exit_code(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    # A limit of the file size has the same effect as a full disk.
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY)); "
        "from topicrawl.cli import main; main()"
    )
    with live_site(make_chain_site(300)) as (address, _):
        command = [sys.executable, "-c", limited, "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS]
        ran = subprocess.run([*command, "--depth", "1000"], capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 4, ran.stderr
        assert "Traceback" not in ran.stderr
        again = run("crawl", "dengue fever")
        assert again.code == 0, again.err
    assert len(rows("SELECT * FROM pages")) == 300


@pytest.mark.parametrize("files", mark_long([8, 12, 16, 24, 40], except_for=[12, 40]))
@pytest.mark.usefixtures("run")
def test_too_few_file_descriptors_are_reported_in_one_line(files: int) -> None:
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); "
        "from topicrawl.cli import main; main()"
    )
    with live_site(make_chain_site(3)) as (address, _):
        command = [sys.executable, "-c", limited, "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 4, ran.stderr
    assert ran.stderr.startswith(f"topicrawl: the process may open only {files} files")
    assert ran.stderr.count("\n") == 1


def test_too_little_memory_is_reported_in_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    learn = "    def learn(self, visit):\n        bytearray(1 << 62)\n"
    base = "from topicrawl.strategies.outlink import OutlinkCount\n\nclass Large(OutlinkCount):\n    name = 'large'\n"
    Path("large_strategy.py").write_text(base + learn, "utf-8")
    monkeypatch.syspath_prepend(Path.cwd())
    with live_site(make_chain_site(3)) as (address, _):
        ran = crawl(run, address, "--strategy", "large_strategy:Large")
    assert ran.code == 4
    assert ran.err.splitlines()[-1].startswith("topicrawl: not enough memory: ")
    assert "Traceback" not in ran.err


def test_seeds_with_transient_failures_are_retried_when_they_are_given_again(run) -> None:  # type: ignore[no-untyped-def]
    up = False

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        return (200, {}, b"<p>dengue fever</p>") if up else (503, {}, b"")

    with live_site(answer) as (address, _):
        assert crawl(run, address, "--attempts", 1, "--no-robots").code == 5
        up = True
        assert crawl(run, address, "--no-robots").code == 0
    assert rows("SELECT step, failure FROM visits") == [(1, None)]


def test_a_crawl_without_its_frontier_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address)
        Path("dengue-fever/frontier.sqlite").unlink()
        ran = crawl(run, address)
    assert ran.code == 3
    assert "frontier.sqlite is missing" in ran.err


@pytest.mark.parametrize("leftover", ["topic.toml", "lock", "topicrawl.sqlite", "topic.new", "crawl.log"])
def test_files_of_a_start_that_was_killed_do_not_prevent_a_crawl(run, leftover: str) -> None:  # type: ignore[no-untyped-def]
    Path("dengue-fever").mkdir()
    Path("dengue-fever", leftover).write_bytes(b"")
    with live_site(make_chain_site(2)) as (address, _):
        assert crawl(run, address).code == 0
    assert len(rows("SELECT * FROM pages")) == 2


def test_a_failed_resume_does_not_forget_lost_pages(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(4)) as (address, _):
        assert crawl(run, address).code == 0
        archive = Path("dengue-fever/warc/00001.warc.gz")
        os.truncate(archive, archive.stat().st_size - 40)
        assert run("crawl", "malaria", "--out", "dengue-fever").code == 2
        assert run("crawl", "dengue fever").code == 0
    assert len(rows("SELECT * FROM pages")) == 4


def test_a_lost_page_behind_a_redirect_is_fetched_again(run) -> None:  # type: ignore[no-untyped-def]
    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        if path == "/0":
            return 200, {}, b'<p>dengue</p><a href="/old">dengue fever</a>'
        return (301, {"Location": "/new"}, b"") if path == "/old" else (200, {}, b"<p>dengue fever</p>")

    with live_site(answer) as (address, _):
        assert crawl(run, address, "--no-robots").code == 0
        archive = Path("dengue-fever/warc/00001.warc.gz")
        os.truncate(archive, archive.stat().st_size - 10)
        assert run("crawl", "dengue fever").code == 0
    assert [url for (url,) in rows("SELECT url FROM pages ORDER BY url")] == [f"{address}/0", f"{address}/new"]


def test_a_damaged_page_is_fetched_again(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(4)) as (address, _):
        assert crawl(run, address, "--pages", 2).code == 0
        before = Path("dengue-fever/frontier.sqlite").read_bytes()
        assert crawl(run, address, "--pages", 4).code == 0
        # Simulate a power cut after which the frontier is older than the store, and damage one record.
        for path in Path("dengue-fever").glob("frontier.sqlite*"):
            path.unlink()
        Path("dengue-fever/frontier.sqlite").write_bytes(before)
        archive = Path("dengue-fever/warc/00001.warc.gz")
        data = bytearray(archive.read_bytes())
        ((start,),) = rows("SELECT start FROM visits WHERE step=3")
        data[int(str(start)) + 20 : int(str(start)) + 60] = bytes(40)
        archive.write_bytes(data)
        ran = run("crawl", "dengue fever", "--pages", 9)
        assert ran.code == 0, ran.err
    # The damaged page is a new visit. The page of step 4, which the frontier did not know, is read from the archive.
    assert [step for (step,) in rows("SELECT step FROM visits WHERE failure IS NULL ORDER BY step")] == [1, 2, 4, 5]


def test_links_that_robots_forbids_take_no_crawl_delay(run) -> None:  # type: ignore[no-untyped-def]
    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /no\n"
        forbidden = "".join(f'<a href="/no/{n}">dengue fever</a>' for n in range(40))
        return 200, {}, f'<p>dengue</p>{forbidden}<a href="/good">x</a>'.encode()

    begun = time.monotonic()
    with live_site(answer) as (address, asked):
        assert crawl(run, address, "--delay", "0.5").code == 0
    assert asked == ["/robots.txt", "/0", "/good"]
    assert time.monotonic() - begun < 5


def test_why_names_the_host_budget(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(9)) as (address, _):
        crawl(run, address, "--host-pages", 3)
    explanation = json.loads(run("why", "dengue-fever", f"{address}/3", "--json").out)
    assert explanation["reason"] == "host_budget"


def test_a_resumed_crawl_uses_the_topic_file_of_its_directory(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(3)) as (address, _):
        crawl(run, address, "--pages", 1)
        topic = Path("dengue-fever/topic.toml")
        assert "threshold = 0.5\n" in topic.read_text()
        topic.write_text(topic.read_text().replace("threshold = 0.5\n", "threshold = 1.0\n"))
        ran = run("crawl", "dengue fever", "--pages", 3)
    assert "3 pages, 0 relevant" in ran.err


def test_only_restricts_a_crawl_to_hosts(run) -> None:  # type: ignore[no-untyped-def]
    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, b'<p>dengue</p><a href="/1">dengue</a><a href="http://elsewhere.example/">dengue fever</a>'

    with live_site(answer) as (address, asked):
        assert crawl(run, address, "--no-robots", "--only", "127.0.0.1").code == 0
        assert asked == ["/0", "/1"]
        explanation = json.loads(run("why", "dengue-fever", "http://elsewhere.example/", "--json").out)
        assert explanation["reason"] == "out_of_scope"
        ran = run("crawl", "dengue", "--seed", f"{address}/0", "--only", "who.int")
    assert ran.code == 2
    assert "is not on who.int" in ran.err


def test_leaving_the_visits_loop_early_loses_no_pages(tmp_path: Path) -> None:
    settings = Settings(delay=0.0, pages=50, allow_net=("127.0.0.0/8",), robots=False, min_free=0)

    async def some(address: str, most: int) -> list[str]:
        found = []
        async with open_crawl(tmp_path / "c", Topic.of("dengue fever"), [f"{address}/0"], settings) as running:
            async for visit in running.visits():
                found.append(visit.url)
                if len(found) == most:
                    break
        return found

    with live_site(make_chain_site(30)) as (address, _):
        first = asyncio.run(some(address, 5))
        second = asyncio.run(some(address, 1000))
    pages = [url for url in first + second if not url.endswith(("/30", "/secret"))]
    assert sorted(set(pages)) == sorted(f"{address}/{n}" for n in range(30))
