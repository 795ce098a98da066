"""Trap detection on synthetic traps and on synthetic series of genuine pages."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from topicrawl.frontier import page_novelty
from topicrawl.frontier.page_novelty import SampledSlots, find_slots
from topicrawl.frontier.trap_detector import TrapDetector, extract_pattern

DRAW = random.Random(5)
LETTERS = "abcdefghijklmnoprstuvz"
WORDS = ["".join(DRAW.choices(LETTERS, k=DRAW.randrange(3, 11))) for _ in range(30_000)]
MENU = WORDS[:400]  # words on every page of the site
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
Page = Callable[[int, random.Random], list[str]]


def common_text(draw: random.Random, length: int) -> list[str]:
    """Return words with a realistic distribution: a few frequent words and many rare ones."""
    return [WORDS[400 + min(int(draw.paretovariate(0.4)), 29_000)] for _ in range(length)]


def calendar(number: int, draw: random.Random) -> list[str]:
    return [*MENU[:60], MONTHS[number % 12], str(1990 + number // 12), *map(str, range(1, 31)), "no", "events"]


def session(number: int, draw: random.Random) -> list[str]:
    """Return one of ten pages, each under many session ids."""
    return MENU + common_text(random.Random(number % 10), 500)


def facets(number: int, draw: random.Random) -> list[str]:
    """Return a page of a shop with 120 products, of which each combination of filters shows some."""
    goods = [WORDS[1000 + 5 * n : 1005 + 5 * n] for n in draw.sample(range(120), 20)]
    return MENU[:200] + [word for words in goods for word in words] + [f"{draw.randrange(900)}.99"] * 20


def advertised(number: int, draw: random.Random) -> list[str]:
    """Return an empty calendar page with some of sixty headlines."""
    return calendar(number, draw) + [
        word for n in draw.sample(range(60), 6) for word in WORDS[2000 + 6 * n : 2006 + 6 * n]
    ]


def article(number: int, draw: random.Random) -> list[str]:
    return MENU + common_text(draw, 600)


def note(number: int, draw: random.Random) -> list[str]:
    """Return a glossary entry: a few words in a large page template."""
    return MENU + common_text(draw, 30)


def stub(number: int, draw: random.Random) -> list[str]:
    return ["home", "next", *common_text(draw, 15)]


def table(number: int, draw: random.Random) -> list[str]:
    """Return a table of measurements with a few words."""
    return MENU[:50] + common_text(draw, 25) + [f"{draw.random():.3f}" for _ in range(600)]


def buried(number: int, draw: random.Random) -> list[str]:
    """Return an article after a menu of 3000 words."""
    return WORDS[:3000] + common_text(draw, 1500)


@pytest.mark.parametrize(("page", "within"), [(calendar, 30), (session, 30), (facets, 60), (advertised, 90)])
def test_a_trap_is_detected_soon(page: Page, within: int) -> None:
    detector, draw = TrapDetector(), random.Random(3)
    for number in range(within):
        detector.add_page(f"https://example.org/trap/{number}", page(number, draw))
    assert detector.is_exhausted("https://example.org/trap/99999")


@pytest.mark.parametrize("page", [article, note, stub, table, buried])
@pytest.mark.parametrize("url", ["https://example.org/series/{}", "https://example.org/words/{}"])
def test_a_genuine_series_is_not_a_trap(page: Page, url: str) -> None:
    detector, draw = TrapDetector(), random.Random(4)
    for number in range(400):
        name = number if "series" in url else WORDS[number]
        detector.add_page(url.format(name), page(number, draw))
        assert not detector.is_exhausted(url.format(99999)), number


def test_soft_404_pages_exhaust_their_directory() -> None:
    detector, draw = TrapDetector(), random.Random(6)
    for _ in range(12):
        name = "-".join(draw.sample(WORDS, 3))
        text = f"The page {name.replace('-', ' ')} does not exist."
        detector.add_page(f"https://example.org/wiki/{name}", text.lower().split(), text=text)
    assert detector.is_exhausted("https://example.org/wiki/another-name")
    assert not detector.is_exhausted("https://example.org/about")


def test_combined_filters_exhaust_all_queries_of_a_path() -> None:
    detector, draw = TrapDetector(), random.Random(7)
    names = ["colour", "size", "brand", "price", "sort", "page"]
    for number in range(40):
        query = "&".join(f"{name}={number}" for name in draw.sample(names, draw.randrange(1, 6)))
        detector.add_page(f"https://example.org/shop?{query}", ["twelve", "nets", "for", "sale"])
    assert detector.is_exhausted("https://example.org/shop?material=cotton")


def test_links_on_pages_with_the_same_words_are_suspected() -> None:
    detector = TrapDetector()
    urls = [f"https://example.org/{'x' * number}/y/" for number in range(1, 5)]
    for url in urls:
        assert not detector.is_exhausted("https://example.org/new/", source=url)
        detector.add_page(url, ["the", "same", "page"])
    assert all(detector.is_exhausted("https://example.org/new/", source=url) for url in urls)
    assert not detector.is_exhausted("https://example.org/new/", source="https://example.org/")


def test_duplicates_exhaust_a_pattern() -> None:
    detector = TrapDetector()
    for number in range(6):
        assert not detector.is_exhausted("https://example.org/print/99")
        detector.add_duplicate(f"https://example.org/print/{number}")
    assert detector.is_exhausted("https://example.org/print/99")


def test_a_run_of_exhausted_pages_is_endless() -> None:
    detector, source = TrapDetector(patience=2, max_run=4), "https://example.org/"
    for number in range(10):
        url = f"https://example.org/month/{number}"
        assert detector.is_endless(url, source) == (number > 4)
        detector.add_page(url, ["no", "events", "in", "this", "month"], source)
        source = url


def test_a_page_with_new_words_resets_the_count() -> None:
    detector, draw = TrapDetector(patience=10), random.Random(1)
    for number in range(100):
        page = article(number, draw) if number % 5 == 0 else calendar(0, draw)
        detector.add_page(f"https://example.org/mixed/{number}", page)
    assert not detector.is_exhausted("https://example.org/mixed/1")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/wiki/Bird", None),
        ("https://example.org/", None),
        ("https://example.org/news/12345", "example.org/news/*"),
        ("https://example.org/2031/05/", "example.org/*/*/"),
        ("https://example.org/top-10-places-to-visit-in-rome", "example.org/top-*-places-to-visit-in-rome"),
        ("https://example.org/s/4f2a9c1e77b0/list", "example.org/s/*/list"),
        ("https://example.org/s/f47ac10b-58cc-4372-a567-0e02b2c3d479", "example.org/s/*"),
        ("https://example.org/s/aZ3kQ9xLmN7pR2tV/", "example.org/s/*/"),
        ("https://example.org/incomprehensibilities", None),
        ("https://example.org/effaced/defaced", None),
        ("https://example.org/shop?colour=red&size=4", "example.org/shop?colour&size"),
        ("https://example.org/shop?size=4&colour=blue", "example.org/shop?colour&size"),
        ("https://example.org/?q", "example.org/?q"),
        ("https://10.0.0.1:8080/a", None),
    ],
)
def test_patterns(url: str, expected: str | None) -> None:
    assert extract_pattern(url) == expected


def test_a_long_series_is_not_a_trap_until_it_repeats() -> None:
    detector, draw = TrapDetector(), random.Random(4)
    for number in range(8000):
        detector.add_page(f"https://example.org/series/{number}", stub(number, draw))
    assert not detector.is_exhausted("https://example.org/series/1")
    for number in range(90):
        detector.add_page(f"https://example.org/series/{number}", calendar(number, draw))
    assert detector.is_exhausted("https://example.org/series/1")


def test_the_state_survives_a_restart() -> None:
    draw = random.Random(2)
    whole = TrapDetector()
    half = TrapDetector()
    for number in range(40):
        for name, page in (("trap", calendar), ("series", article), ("shop", facets)):
            words = page(number, draw)
            url = f"https://example.org/{name}/{number}"
            whole.add_page(url, words)
            half.add_page(url, words)
            for detector in (whole, half):
                assert detector.is_exhausted("https://example.org/series/1") is False
        if number % 7 == 3:
            state = json.loads(json.dumps(half.get_state()))
            half = TrapDetector()
            half.restore_state(state)
    for name in ("trap", "series"):
        url = f"https://example.org/{name}/1"
        assert half.is_exhausted(url) == whole.is_exhausted(url) == (name == "trap")


def test_memory_is_bounded() -> None:
    detector = TrapDetector(patience=2, max_patterns=10)
    for site in range(40):
        for number in range(5):
            detector.add_page(f"https://h{site}.org/{number}", ["nothing", "new"])
            detector.add_page(f"https://h{site}.org/honest/{number}", article(number, random.Random(number)))
    state = detector.get_state()
    assert len(state["exhausted"]) <= 10
    assert len(detector._memories) <= 10
    assert detector.is_exhausted("https://h39.org/1")
    assert not detector.is_exhausted("https://h0.org/1")


def test_overlong_tokens_have_no_slot() -> None:
    assert find_slots(["x" * 100_000, "owls"]).tolist() == find_slots(["owls"]).tolist()


def test_the_slot_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_novelty, "_MAX_VOCABULARY", 10)
    slots = SampledSlots()
    for number in range(40):
        words = [f"{'abcdefgh'[number % 8]}{'abcdefgh'[number // 8]}", "owls"]
        assert slots.find_slots(words).tolist() == find_slots(words).tolist()
    assert len(slots._lookup) <= 12
