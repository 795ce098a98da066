"""Metrics and JSON log of a running crawl; neither contains secrets."""

from __future__ import annotations

import json
import logging
import re
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.live_site import SiteAnswer, live_site, make_chain_site
from tests.helpers.redis_server import RedisServer, running

from topicrawl.cli.logs import JsonLogFormatter, TextLogFormatter

SECRET = "hush-6f1d"
OPTIONS = ("--delay", 0, "--allow-net", "127.0.0.0/8", "--min-free", 0)


@contextmanager
def password_redis(folder: Path) -> Iterator[RedisServer]:
    """Run a Redis server on which only the user `crawler` has access, with the documented permissions."""
    folder.mkdir()
    rights = "~{topicrawl}* +@all -@admin -@dangerous +info +keys +bgrewriteaof"
    (folder / "users.acl").write_text(f"user default off\nuser crawler on >{SECRET} {rights}\n")
    with running(folder, "--aclfile", str(folder / "users.acl")) as server:
        server.address = server.address.replace("redis://", "redis://crawler@")
        yield server


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def asking(own: SiteAnswer, metrics: list[str], where: list[str]) -> SiteAnswer:
    """Return a site that fetches the metrics of the crawler when the crawler requests its page /4."""

    def answer(path: str) -> Any:
        if path == "/4":
            with urllib.request.urlopen(where[0], timeout=10) as got:
                metrics.append(got.read().decode())
        return own(path)

    return answer


def test_a_running_crawl_serves_metrics(run: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    seen: list[str] = []
    with live_site(asking(make_chain_site(6), seen, [f"http://{address}/metrics"])) as (site, _):
        seeds = ("--seed", f"{site}/none", "--seed", f"{site}/0")
        ran = run("crawl", "dengue fever", "--out", "owls", *seeds, "--metrics", address, *OPTIONS)
    assert (ran.code, f"metrics at http://{address}/metrics" in ran.err) == (0, True)
    figures = dict(re.findall(r"^(topicrawl_\w+)\{[^}]*\} (\S+)$", seen[0], re.M))
    assert (figures["topicrawl_pages_total"], figures["topicrawl_relevant_pages_total"]) == ("4.0", "4.0")
    assert figures["topicrawl_fetches_in_flight"] == "1.0"
    assert figures["topicrawl_fetch_seconds_count"] == "5.0"
    assert 'topicrawl_failures_total{crawl="owls",reason="not_found"} 1.0' in seen[0]
    assert all('{crawl="owls"' in line for line in seen[0].splitlines() if not line.startswith("#"))
    assert re.search(r'^topicrawl_fetch_seconds_bucket\{crawl="owls",le="\+Inf"\} 5\.0$', seen[0], re.M)
    assert {"topicrawl_links_waiting", "topicrawl_hosts_resting", "topicrawl_learned_visits_total"} <= figures.keys()
    listed = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text("utf-8")
    documented = dict(re.findall(r"^\| `(\w+)(?:\{.*\})?` (\| \w+ \| .*) \|$", listed, re.M))
    kinds, helps = (dict(re.findall(rf"^# {word} (\w+) (.*)$", seen[0], re.M)) for word in ("TYPE", "HELP"))
    assert kinds.keys() == {name for name in documented if "_redis_" not in name}
    assert [name for name in kinds if documented[name] != f"| {kinds[name]} | {helps[name]}"] == []


def test_a_metrics_port_in_use_is_one_line_and_a_usage_error(run: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = run(
            "crawl", "dengue fever", "--out", "owls", "--seed", "http://127.0.0.1:9/", "--metrics", address, *OPTIONS
        )
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith(f"topicrawl: metrics cannot be served at {address}: ")


def test_the_json_log_is_written_to_the_file_and_to_standard_error(run: Any) -> None:
    with live_site(make_chain_site(3)) as (site, _):
        ran = run("crawl", "dengue fever", "--out", "owls", "--seed", f"{site}/0", "--log-format", "json", *OPTIONS)
    assert (ran.code, ran.out) == (0, "")
    log = Path("owls/crawl.log").read_text()
    for line in (*lines(ran.err), *lines(log)):
        assert list(line)[:6] == ["time", "level", "event", "url", "worker", "message"]
    events = [line["event"] for line in lines(log)]
    assert (events[0], events[-1]) == ("start", "stop")
    failed = {line["url"]: line["failure"] for line in lines(log) if line["event"] == "failed"}
    assert failed == {f"{site}/3": "not_found", f"{site}/secret": "robots"}
    assert "progress" in [line["event"] for line in lines(ran.err)]


def test_an_error_is_a_json_object(run: Any) -> None:
    ran = run("crawl", "--out", "none", "--log-format", "json")
    (line,) = lines(ran.err)
    assert (ran.code, line["level"], line["event"], line["code"]) == (2, "error", "error", 2)


def test_no_password_is_logged_stored_or_shared(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", SECRET)
    with password_redis(tmp_path / "redis") as server, live_site(make_chain_site(3)) as (site, _):
        started = run(
            "crawl",
            "dengue fever",
            "--out",
            "a",
            "--seed",
            f"{site}/0",
            "--frontier",
            server.address,
            "--log-format",
            "json",
            *OPTIONS,
        )
        joined = run("worker", server.address, "a", "--out", "b", "--log-format", "json")
        again = run("crawl", "--out", "a", "--pages", 0)
        monkeypatch.setenv("REDISCLI_AUTH", f"not-{SECRET}")
        refused = run("worker", server.address, "a")
        server.kill()
        assert [ran.code for ran in (started, joined, again, refused)] == [0, 0, 0, 2]
        assert {line["worker"] for line in lines(Path("b/crawl.log").read_text())} != {""}
    said = "".join(ran.out + ran.err for ran in (started, joined, again, refused))
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "users.acl")
    assert len(kept) > 10_000
    assert SECRET not in said
    assert SECRET.encode() not in kept


def test_a_password_on_the_command_line_gives_a_warning_without_it(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), _heard(caplog.handler):
        ran = run("worker", f"redis://me:{SECRET}@127.0.0.1:1/0", "owls")
    assert "TOPICRAWL_REDIS_PASSWORD_FILE" in caplog.text
    assert SECRET not in ran.err + caplog.text


@contextmanager
def _heard(handler: logging.Handler) -> Iterator[None]:
    log = logging.getLogger("topicrawl")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


@pytest.mark.parametrize("formatter", [TextLogFormatter(), JsonLogFormatter()], ids=["text", "json"])
def test_a_password_in_a_message_does_not_reach_the_log(formatter: logging.Formatter) -> None:
    words = f"no answer from http://me:{SECRET}@proxy:3128/"
    record = logging.LogRecord("topicrawl", logging.INFO, "", 0, "failed %s", (words,), None)
    assert SECRET not in formatter.format(record)
    assert "me:***@proxy:3128" in formatter.format(record)
