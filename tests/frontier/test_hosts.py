"""The schedule keeps no more than it needs."""

from __future__ import annotations

import random
from math import inf

from topicrawl.frontier.contract import Rules
from topicrawl.frontier.hosts import Host, Schedule


def test_stale_entries_never_outnumber_the_live_ones_by_much() -> None:
    draw, schedule, now = random.Random(1), Schedule(Rules()), 0.0
    hosts = [Host(f"h{n}.org", n, 1.0) for n in range(50)]
    for step in range(20_000):
        host = draw.choice(hosts)
        now += 0.001
        host.top = (-draw.random(), step)
        if draw.random() < 0.5:
            host.last = now
        schedule.file(host, now)
    assert len(schedule._ready) + len(schedule._waiting) <= 2 * len(hosts) + 2 * 64


def test_the_best_of_the_ready_hosts_comes_first_and_the_others_when_their_time_comes() -> None:
    schedule = Schedule(Rules())
    ready = Host("ready.org", 0, 1.0, top=(-0.2, 0))
    later = Host("later.org", 1, 1.0, top=(-0.9, 1), hold=5.0)
    never = Host("never.org", 2, 1.0, top=(-1.0, 2), blocked=inf)
    schedule.file_all([never, later, ready], 0.0)
    assert schedule.best(0.0) is ready
    assert schedule.soonest(0.0) == 0.0
    ready.top = None
    schedule.file(ready, 0.0)
    assert schedule.best(4.9) is None
    assert schedule.soonest(0.0) == 5.0
    assert schedule.best(5.0) is later


def test_a_longer_wait_is_not_shortened_by_a_shorter_one() -> None:
    host = Host("a.org", 0, 1.0)
    host.postpone(100.0, 60.0)
    host.postpone(101.0, 5.0)
    assert host.ready_at == 160.0
