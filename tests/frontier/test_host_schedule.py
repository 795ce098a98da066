"""Host schedule: order of hosts, and bounded size of its heaps."""

from __future__ import annotations

import random
from math import inf

from topicrawl.frontier.base import FrontierRules, LeaseLimits
from topicrawl.frontier.host_schedule import HostSchedule, HostState


def test_stale_entries_are_removed() -> None:
    draw, schedule, now = random.Random(1), HostSchedule(FrontierRules()), 0.0
    hosts = [HostState(f"h{n}.org", n, 1.0) for n in range(50)]
    for step in range(20_000):
        host = draw.choice(hosts)
        now += 0.001
        host.best_rank = (-draw.random(), step)
        if draw.random() < 0.5:
            host.last_lease = now
        schedule.update_host(host, now)
    heaps = (schedule._ready, schedule._delayed, schedule._expected, schedule._distant)
    assert sum(len(heap._heap) for heap in heaps) <= 2 * 2 * len(hosts) + 4 * 64


def test_the_best_ready_host_comes_first_and_delayed_hosts_follow_in_time() -> None:
    schedule = HostSchedule(FrontierRules())
    ready = HostState("ready.org", 0, 1.0, best_rank=(-0.2, 0))
    later = HostState("later.org", 1, 1.0, best_rank=(-0.9, 1), hold_until=5.0)
    never = HostState("never.org", 2, 1.0, best_rank=(-1.0, 2), blocked_until=inf)
    schedule.update_hosts([never, later, ready], 0.0)
    assert schedule.get_best_host(0.0) is ready
    assert schedule.get_next_ready_time(0.0) == 0.0
    ready.best_rank = None
    schedule.update_host(ready, 0.0)
    assert schedule.get_best_host(4.9) is None
    assert schedule.get_next_ready_time(0.0) == 5.0
    assert schedule.get_best_host(5.0) is later


def test_a_shorter_wait_does_not_shorten_a_longer_one() -> None:
    host = HostState("a.org", 0, 1.0)
    host.postpone(100.0, 60.0)
    host.postpone(101.0, 5.0)
    assert host.ready_at == 160.0


def test_a_host_is_expected_within_its_crawl_delay_and_while_its_lease_is_not_slow() -> None:
    schedule = HostSchedule(FrontierRules())

    def poor_below(now: float) -> float:
        return schedule.create_budget(LeaseLimits(focus=0.5), now, leased_scores=(), leased=0).poor_below

    poor = HostState("poor.org", 0, 1.0, best_rank=(-0.125, 0))
    good = HostState("good.org", 1, 2.0, best_rank=(-1.0, 1), last_lease=0.0, hold_until=7.0)
    schedule.update_hosts([poor, good], 0.0)
    # Until 5 s, the host waits for longer than its delay, as after a failure.
    assert [poor_below(now) for now in (0.0, 4.9, 5.0, 7.0)] == [
        0.0625,
        0.0625,
        0.5,
        0.5,
    ]
    good.leased, good.last_lease = 1, 7.0
    schedule.update_host(good, 7.0)
    assert [poor_below(now) for now in (8.0, 17.0, 17.1)] == [0.5, 0.5, 0.0625]
