"""A crawl estimates its recall, and `--stop-when-found` stops it when few relevant pages are left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--strategy", "breadth_first"]
GOOD, ALL = 40, 1000


def site(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Serve forty pages on the topic, then some among other pages, then none."""
    number = path[1:]
    if not number.isdecimal() or int(number) >= ALL:
        return 404, {}, b"no such page"
    place = int(number)
    on_topic = place < GOOD or (place < 80 and place % 5 == 0)
    words = "dengue fever mosquitoes, dengue fever" if on_topic else "gardens, roofs, timber and stones of old towns"
    links = "".join(f'<a href="/{place * 3 + more}">page</a> ' for more in (1, 2, 3))
    # Every page has its own words, because the trap detector reacts to similar pages.
    own = " ".join(f"{'bcdfghklmn'[place // scale % 10]}aru" for scale in (1, 10, 100))
    return 200, {}, f"<title>{place}</title><p>{words} {own}</p><p>{links}</p>".encode()


@LONG
def test_a_killed_crawl_resumes_and_stops_when_nothing_promising_is_left(run) -> None:  # type: ignore[no-untyped-def]
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
        assert "% of what this crawl would find" in ran.err
        status = json.loads(run("status", "dengue-fever", "--json").out)
        fetches = len(asked)
        again = run("crawl", "dengue fever")
        assert "--stop-when-found 0" in again.err
        assert len(asked) == fetches
        more = run("crawl", "dengue fever", "--stop-when-found", "0", "--pages", status["pages"] + 5)
        assert "pages reached" in more.err
    outlook = status["outlook"]
    assert status["last_stop"] == "nothing promising left"
    assert 300 <= outlook["ahead"] < 600  # it needs enough fetches for an estimate, but not all pages
    assert outlook["found"] == status["relevant"] == GOOD + len(range(40, 80, 5))
    assert outlook["recall"] >= 0.95
    assert outlook["doubt"] == ""


def test_a_crawl_with_few_pages_has_no_estimate(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(site) as (address, _):
        ran = run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--pages", 8, "--json")
    stop = json.loads(ran.out.splitlines()[-1])
    assert stop["outlook"]["words"] == "too early to tell"
    assert (stop["outlook"]["recall"], stop["outlook"]["remaining_high"]) == (None, None)
    assert "too early to tell: 8 relevant pages" in run("status", "dengue-fever").out


def test_an_empty_frontier_leaves_no_pages_to_find(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(lambda path: (200, {}, b"<p>dengue fever</p>")) as (address, _):
        run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS)
    assert "nothing is left to fetch" in run("status", "dengue-fever").out


@pytest.mark.parametrize("share", ["1.5", "-0.1"])
def test_a_share_outside_0_to_1_is_rejected(run, share: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue", "--seed", "http://a.example/", f"--stop-when-found={share}")
    assert ran.code == 2
    assert "stop_when_found" in ran.err
    assert not Path("dengue").exists()
