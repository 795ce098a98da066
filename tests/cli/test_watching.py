"""A running crawl is watched from outside; its log can be read by programs; neither tells a secret."""

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
from tests.cli.live import Answer, chain, live_site
from tests.redis_server import RedisServer, running

from topicrawl.cli.logs import Json, Text

SECRET = "hush-6f1d"
OPTIONS = ("--delay", 0, "--allow-net", "127.0.0.0/8", "--min-free", 0)


@contextmanager
def password_redis(folder: Path) -> Iterator[RedisServer]:
    """A server on which a user has the rights that are asked for, and nobody else has any."""
    folder.mkdir()
    rights = "~{topicrawl}* +@all -@admin -@dangerous +info +keys +bgrewriteaof"
    (folder / "users.acl").write_text(f"user default off\nuser crawler on >{SECRET} {rights}\n")
    with running(folder, "--aclfile", str(folder / "users.acl")) as server:
        server.address = server.address.replace("redis://", "redis://crawler@")
        yield server


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def asking(own: Answer, metrics: list[str], where: list[str]) -> Answer:
    """A site that looks at the crawler's metrics when it is asked for its fourth page."""

    def answer(path: str) -> Any:
        if path == "/4":
            with urllib.request.urlopen(where[0], timeout=10) as got:
                metrics.append(got.read().decode())
        return own(path)

    return answer


def test_a_crawl_shows_its_figures_while_it_runs(run: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    seen: list[str] = []
    with live_site(asking(chain(6), seen, [f"http://{address}/metrics"])) as (site, _):
        seeds = ("--seed", f"{site}/none", "--seed", f"{site}/0")
        ran = run("crawl", "dengue fever", "--out", "owls", *seeds, "--metrics", address, *OPTIONS)
    assert (ran.code, f"metrics at http://{address}/metrics" in ran.err) == (0, True)
    figures = dict(re.findall(r"^(topicrawl_\w+)\{[^}]*\} (\S+)$", seen[0], re.M))
    assert (figures["topicrawl_pages_total"], figures["topicrawl_relevant_pages_total"]) == ("4", "4")
    assert figures["topicrawl_fetches_in_flight"] == "1"
    assert figures["topicrawl_fetch_seconds_count"] == "5"
    assert 'topicrawl_failures_total{crawl="owls",reason="not_found"} 1' in seen[0]
    assert {"topicrawl_links_waiting", "topicrawl_hosts_resting", "topicrawl_learned_visits_total"} <= figures.keys()
    listed = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text("utf-8")
    assert [name for name in re.findall(r"^# TYPE (\w+)", seen[0], re.M) if f"| `{name}" not in listed] == []


def test_a_log_for_programs_is_an_object_a_line_on_standard_error_too(run: Any) -> None:
    with live_site(chain(3)) as (site, _):
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


def test_a_mistake_is_an_object_too(run: Any) -> None:
    ran = run("crawl", "--out", "none", "--log-format", "json")
    (line,) = lines(ran.err)
    assert (ran.code, line["level"], line["event"], line["code"]) == (2, "error", "error", 2)


def test_no_password_is_logged_stored_or_told_to_other_workers(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", SECRET)
    with password_redis(tmp_path / "redis") as server, live_site(chain(3)) as (site, _):
        started = run("crawl", "dengue fever", "--out", "a", "--seed", f"{site}/0", "--frontier", server.address,
                      "--log-format", "json", *OPTIONS)  # fmt: skip
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


def test_a_password_on_the_command_line_is_warned_of_and_not_repeated(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
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


@pytest.mark.parametrize("formatter", [Text(), Json()], ids=["text", "json"])
def test_a_password_in_a_message_does_not_reach_the_log(formatter: logging.Formatter) -> None:
    words = f"no answer from http://me:{SECRET}@proxy:3128/"
    record = logging.LogRecord("topicrawl", logging.INFO, "", 0, "failed %s", (words,), None)
    assert SECRET not in formatter.format(record)
    assert "me:***@proxy:3128" in formatter.format(record)
