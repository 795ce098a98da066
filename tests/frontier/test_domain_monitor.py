"""Ratings of registered domains: keyword stuffing, repeated pages, mirrors, page budgets, and honest domains."""

from __future__ import annotations

import json
import random

from tests.frontier.test_trap_detector import MENU, article, note, stub, table

from topicrawl.frontier.domain_monitor import DomainMonitor, measure_stuffing

TOPIC = frozenset({"dengue", "fever"})


def make_stuffed_page(draw: random.Random, share: float = 0.4, length: int = 150) -> list[str]:
    """Return a page of random words, in which a share of the words are topic words."""
    words = article(0, draw)[-length:]
    return [draw.choice(sorted(TOPIC)) if draw.random() < share else word for word in words]


def add_farm(monitor: DomainMonitor, pages: int) -> None:
    draw = random.Random(1)
    for number in range(pages):
        monitor.add_page(f"http://h{number}.farm.example/{number}", make_stuffed_page(draw))


def test_a_stuffed_domain_falls_and_is_demoted_on_all_its_hosts() -> None:
    monitor = DomainMonitor(TOPIC)
    factors = []
    for number in range(20):
        factors.append(monitor.get_factor("http://new.farm.example/"))
        monitor.add_page(f"http://h{number}.farm.example/", make_stuffed_page(random.Random(number)))
    assert factors[0] == 1.0
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] < 0.1
    assert monitor.is_demoted("http://new.farm.example/")
    assert not monitor.is_demoted("http://other.example/")


def test_a_domain_whose_pages_repeat_each_other_falls() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(2)
    pool = article(0, draw)
    for number in range(30):
        monitor.add_page(f"http://h{number}.copies.example/", draw.sample(pool, len(pool)))
    assert monitor.is_demoted("http://h99.copies.example/")


def test_honest_domains_keep_their_share() -> None:
    for page in (article, note, stub, table):
        monitor, draw = DomainMonitor(TOPIC), random.Random(3)
        for number in range(400):
            monitor.add_page(f"http://h{number % 3}.honest.example/{number}", [*page(number, draw), "dengue", "fever"])
            assert monitor.get_factor("http://h1.honest.example/x") == 1.0, (page.__name__, number)
        assert not monitor.has_suspects


def test_a_long_template_is_no_repetition() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(4)
    for number in range(300):
        monitor.add_page(f"http://docs.honest.example/{number}", MENU + note(number, draw)[-40:])
    assert not monitor.has_suspects


def test_a_domain_recovers() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(5)
    add_farm(monitor, 20)
    for number in range(12):
        monitor.add_page(f"http://www.farm.example/{number}", article(number, draw))
    assert monitor.get_factor("http://www.farm.example/") == 1.0
    assert not monitor.has_suspects


def test_mirrors_with_the_same_paths_are_recognised() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(6)
    for number in range(10):
        monitor.add_page(f"http://www.mirror.example/{number}", article(number, draw))
    for number in range(3):
        assert not monitor.is_demoted("http://m9.mirror.example/5")
        monitor.add_duplicate(f"http://m{number}.mirror.example/{number}", f"http://www.mirror.example/{number}")
    assert monitor.is_demoted("http://m9.mirror.example/5")
    assert not monitor.is_demoted("http://www.mirror.example/5")
    assert not monitor.is_demoted("http://www.mirror.example/77")


def test_mirrors_with_other_paths_are_recognised_by_their_hosts() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(7)
    for number in range(10):
        monitor.add_page(f"http://www.mirror.example/{number}", article(number, draw))
    for number in range(4):
        monitor.add_duplicate(f"http://m{number}.mirror.example/copy{number}", f"http://www.mirror.example/{number}")
    assert monitor.is_demoted("http://m1.mirror.example/new")
    assert monitor.is_demoted("http://m9.mirror.example/new")
    assert not monitor.is_demoted("http://www.mirror.example/new")


def test_one_alternative_host_is_no_mirror_farm() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(8)
    for number in range(30):
        monitor.add_page(f"http://www.honest.example/{number}", article(number, draw))
        if number % 2:
            monitor.add_duplicate(f"http://honest.example/print/{number}", f"http://www.honest.example/{number}")
    assert not monitor.is_demoted("http://www.honest.example/x")
    assert monitor.get_factor("http://www.honest.example/x") == 1.0


def test_a_domain_reaches_its_page_budget() -> None:
    monitor, draw = DomainMonitor(max_pages=5), random.Random(9)
    for number in range(5):
        assert not monitor.is_budget_spent("http://z.example.org/")
        monitor.add_page(f"http://h{number}.example.org/", article(number, draw))
    assert monitor.is_budget_spent("http://z.example.org/")
    assert not monitor.is_budget_spent("http://example.net/")


def test_new_hosts_of_a_domain_get_few_concurrent_fetches() -> None:
    monitor, draw = DomainMonitor(TOPIC), random.Random(10)
    assert monitor.may_fetch("http://a.example.org/", 3)
    assert not monitor.may_fetch("http://a.example.org/", 4)
    for number in range(8):
        monitor.add_page(f"http://a.example.org/{number}", article(number, draw))
    assert monitor.may_fetch("http://a.example.org/", 50)
    assert not monitor.may_fetch("http://b.example.org/", 4)


def test_the_state_survives_a_restart() -> None:
    monitor, draw = DomainMonitor(TOPIC, max_pages=25), random.Random(11)
    add_farm(monitor, 20)
    for number in range(25):
        monitor.add_page(f"http://large.example/{number}", article(number, draw))
    restored = DomainMonitor(TOPIC, max_pages=25)
    restored.restore_state(json.loads(json.dumps(monitor.get_state())))
    assert restored.is_demoted("http://h77.farm.example/")
    assert restored.is_budget_spent("http://large.example/99")
    assert round(restored.get_factor("http://farm.example/"), 3) == round(monitor.get_factor("http://farm.example/"), 3)


def test_memory_is_bounded() -> None:
    monitor = DomainMonitor(TOPIC, max_domains=10)
    for number in range(30):
        for _ in range(20):
            monitor.add_page(f"http://h.d{number}.example/", make_stuffed_page(random.Random(number)))
    assert len(monitor.get_state()["domains"]) == 10
    assert len(monitor._suspected) <= 10


def test_stuffing_grows_with_the_share_of_topic_words() -> None:
    draw = random.Random(12)
    degrees = [measure_stuffing(make_stuffed_page(draw, share, 400), TOPIC) for share in (0.05, 0.16, 0.5)]
    assert 0.1 > degrees[0] < degrees[1] < degrees[2] == 1.0


def test_long_pages_in_a_common_vocabulary_are_no_repetition() -> None:
    draw, monitor = random.Random(1), DomainMonitor(TOPIC)
    vocabulary = ["".join(draw.choices("abcdefghijklmnop", k=7)) for _ in range(6000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]  # frequencies of natural text
    for number in range(150):
        monitor.add_page(f"http://manual.example/{number}", draw.choices(vocabulary, weights, k=1700))
    assert monitor.rate_link("http://manual.example/next") == (1.0, False)
