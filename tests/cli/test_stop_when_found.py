"""A crawl says how much of its topic it seems to have found, and stops when little is left to gain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.live import live_site

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--strategy", "breadth_first"]
GOOD, ALL = 40, 1000


def site(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Forty pages on the topic in a row, with fewer and fewer among the others behind them."""
    number = path[1:]
    if not number.isdecimal() or int(number) >= ALL:
        return 404, {}, b"no such page"
    place = int(number)
    on_topic = place < GOOD or (place < 80 and place % 5 == 0)
    words = "dengue fever mosquitoes, dengue fever" if on_topic else "gardens, roofs, timber and stones of old towns"
    links = "".join(f'<a href="/{place * 3 + more}">page</a> ' for more in (1, 2, 3))
    # Another text on every page: a row of equal ones would be taken for a trap.
    own = " ".join(f"{'bcdfghklmn'[place // scale % 10]}aru" for scale in (1, 10, 100))
    return 200, {}, f"<title>{place}</title><p>{words} {own}</p><p>{links}</p>".encode()


def test_a_crawl_that_was_killed_goes_on_and_stops_when_nothing_promising_is_left(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(site) as (address, asked):
        command = ["crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--stop-when-found", "0.95"]
        process = subprocess.Popen([sys.executable, "-m", "topicrawl", *command], stderr=subprocess.DEVNULL)
        while len(asked) < 150 and process.poll() is None:
            os.sched_yield()
        process.send_signal(signal.SIGKILL)
        process.wait()
        ran = run(*command)
        assert ran.code == 0, ran.err
        assert "nothing promising left" in ran.err
        assert "% found" in ran.err
        told = json.loads(run("status", "dengue-fever", "--json").out)
        fetches = len(asked)
        again = run("crawl", "dengue fever")
        assert "--stop-when-found 0" in again.err
        assert len(asked) == fetches
        more = run("crawl", "dengue fever", "--stop-when-found", "0", "--pages", told["pages"] + 5)
        assert "pages reached" in more.err
    outlook = told["outlook"]
    assert told["last_stop"] == "nothing promising left"
    assert 300 <= outlook["ahead"] < 600  # fetches made: it waited for a curve, and did not go to the end
    assert outlook["found"] == told["relevant"] == GOOD + len(range(40, 80, 5))
    assert outlook["recall"] >= 0.95
    assert outlook["doubt"] == ""


def test_a_young_crawl_says_that_it_is_too_early_to_tell(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(site) as (address, _):
        ran = run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--pages", 8, "--json")
    stop = json.loads(ran.out.splitlines()[-1])
    assert stop["outlook"]["words"] == "too early to tell"
    assert "too early to tell: 8 relevant pages" in run("status", "dengue-fever").out


def test_where_no_link_waits_nothing_is_left(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(lambda path: (200, {}, b"<p>dengue fever</p>")) as (address, _):
        run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS)
    assert "nothing is left to fetch" in run("status", "dengue-fever").out


@pytest.mark.parametrize("share", ["1.5", "-0.1"])
def test_a_share_is_from_0_to_1(run, share: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue", "--seed", "http://a.example/", f"--stop-when-found={share}")
    assert ran.code == 2
    assert "stop_when_found" in ran.err
    assert not Path("dengue").exists()
