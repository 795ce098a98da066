"""Repetitive sections of a host, on synthetic shops, error pages, manuals and lists."""

from __future__ import annotations

from random import Random

from topicrawl.frontier.section_monitor import LineMemory, SectionMonitor

DRAW = Random(1)
WORDS = ["".join(DRAW.choices("abcdefghijklmnop", k=6)) for _ in range(3000)]
MENU = ["Home", "News", "About us", "Contact"]
FOOTER = " ".join(WORDS[:60])


def write_line(draw: Random, length: int = 15) -> str:
    return " ".join(draw.choices(WORDS, k=length))


def test_combined_filters_in_paths_exhaust_their_tree() -> None:
    monitor, draw = SectionMonitor(), Random(2)
    goods = [write_line(draw) for _ in range(40)]
    filters = [f"{kind}-{name}" for kind in ("colour", "size", "brand") for name in WORDS[:4]]
    for number in range(40):
        chosen = draw.sample(filters, 2)
        text = "\n".join([*MENU, f"Shop: {' '.join(chosen)}", *draw.sample(goods, 12), FOOTER])
        monitor.add_page(f"https://example.org/shop/{'/'.join(chosen)}/{number % 3}", text, MENU)
    assert monitor.is_repetitive("https://example.org/shop/colour-x/size-y/1")
    assert not monitor.is_repetitive("https://example.org/shop-news/1")


def test_error_pages_with_suggestions_exhaust_their_directory() -> None:
    monitor, draw = SectionMonitor(), Random(3)
    for _ in range(14):
        name = "-".join(draw.sample(WORDS, 3))
        links = [write_line(draw, 4) for _ in range(5)]
        title = name.replace("-", " ")
        text = "\n".join([title, f"We could not find {title}. These pages may help:", " ".join(links), FOOTER])
        monitor.add_page(f"https://example.org/old/{name}.html", text, links)
    assert monitor.is_repetitive("https://example.org/old/other.html")


def test_a_manual_with_a_long_menu_is_not_repetitive() -> None:
    monitor, draw = SectionMonitor(), Random(4)
    menu = [write_line(draw, 3) for _ in range(100)]
    for number in range(300):
        own = [write_line(draw) for _ in range(3)]
        monitor.add_page(f"https://example.org/manual/{WORDS[number]}.html", "\n".join([*menu, *own, FOOTER]), menu)
        assert not monitor.is_repetitive("https://example.org/manual/x.html")


def test_repetitive_files_do_not_exhaust_the_tree_of_their_directory() -> None:
    monitor = SectionMonitor()
    for letter in WORDS[:20]:
        monitor.add_page(f"https://example.org/en/index-{letter}.html", FOOTER, ())
    assert monitor.is_repetitive("https://example.org/en/index-z.html")
    assert not monitor.is_repetitive("https://example.org/en/library/owls.html")


def test_lists_that_lead_to_new_pages_are_not_repetitive() -> None:
    monitor, draw = SectionMonitor(), Random(5)
    for number in range(40):
        source = f"https://example.org/lists/{WORDS[number]}"
        links = [write_line(draw, 3) for _ in range(10)]
        monitor.add_page(source, "\n".join([*links, FOOTER]), links)
        monitor.add_page(f"https://example.org/owls/{WORDS[number]}", write_line(draw, 80), (), source)
    assert not monitor.is_repetitive("https://example.org/lists/other")


def test_duplicates_count_as_repetitive() -> None:
    monitor = SectionMonitor()
    for number in range(12):
        monitor.add_duplicate(f"https://example.org/print/{WORDS[number]}")
    assert monitor.is_repetitive("https://example.org/print/x")


def test_long_sections_tolerate_more_repetition() -> None:
    monitor, draw = SectionMonitor(patience=5), Random(6)
    for number in range(100):
        monitor.add_page(f"https://example.org/api/{WORDS[number]}", write_line(draw, 60), ())
    for number in range(100, 107):
        monitor.add_page(f"https://example.org/api/{WORDS[number]}", FOOTER, ())
    assert not monitor.is_repetitive("https://example.org/api/x")


def test_the_state_survives_a_restart() -> None:
    monitor, other = SectionMonitor(), SectionMonitor()
    for name in WORDS[:20]:
        monitor.add_page(f"https://example.org/old/{name}", "not found", ())
    other.restore_state(monitor.get_state())
    assert other.is_repetitive("https://example.org/old/x")
    assert other.has_repetitive_sections


def test_memory_is_bounded() -> None:
    monitor = SectionMonitor(patience=2, max_sections=10)
    for number in range(600):
        for name in WORDS[:4]:
            monitor.add_page(f"https://h{number}.org/d/{name}", "nothing new", ())
    assert len(monitor.get_state()) <= 10
    assert len(monitor._memories) <= 500
    assert len(monitor._sections) <= 10
    assert not monitor.is_repetitive("https://h0.org/d/x")


def test_old_lines_are_forgotten() -> None:
    memory = LineMemory()
    assert count_new_lines(memory, 100, 7919) == 100
    assert count_new_lines(memory, 100, 7919) == 0
    count_new_lines(memory, 20_000, 104_729)
    # Some of the bits are used by other lines.
    assert count_new_lines(memory, 100, 7919) > 50


def count_new_lines(memory: LineMemory, count: int, step: int) -> int:
    return len(memory.add_lines({b"%d" % number: (number * step,) for number in range(count)}))
