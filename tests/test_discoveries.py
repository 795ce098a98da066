"""The watch over a crawl's discoveries: seldom asked, right about the end, cheap."""

from __future__ import annotations

from time import process_time

import pytest

from topicrawl.discoveries import Discoveries


def falling(step: int) -> bool:
    return step < 90 or (step < 150 and step % 3 == 0) or (step < 220 and step % 20 == 0)


def test_a_crawl_is_over_when_its_discoveries_have_dried_up_and_stays_over() -> None:
    found = Discoveries(threshold=0.5, enough=0.95)
    ends = []
    for step in range(1200):
        found.seen(0.9 if falling(step) else 0.1)
        if found.over():
            ends.append(step)
    assert 300 <= ends[0] < 800
    assert ends == list(range(ends[0], 1200))


def test_a_crawl_that_is_gone_on_with_is_over_when_it_would_have_been_over() -> None:
    whole = Discoveries(threshold=0.5, enough=0.95)
    row = [falling(step) for step in range(1200)]
    end = next(place for place, found in enumerate(row) if whole.seen(float(found)) or whole.over())
    for cut in (100, end - 30, end, end + 1):
        again = Discoveries(threshold=0.5, enough=0.95)
        again.again(row[:cut])
        again_end = next(
            place for place, found in enumerate(row[cut:], cut) if again.over() or again.seen(float(found))
        )
        assert again.over()
        assert again_end in (end, end + 1)


def test_without_a_share_it_is_never_over() -> None:
    found = Discoveries(threshold=0.5)
    found.again(map(falling, range(1000)))
    assert not found.over()
    assert found.outlook().nearly_all()


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("too early", [True] * 20 + [False] * 200),
        ("too little found", [True] * 10 + [False] * 2000),
        ("still flowing", [step % 5 == 0 for step in range(2000)]),
        ("rising", [step % max(2, 40 - step // 40) == 0 for step in range(1500)]),
    ],
)
def test_a_crawl_goes_on_while_there_is_doubt(name: str, row: list[bool]) -> None:
    found = Discoveries(threshold=0.5, enough=0.9)
    for relevant in row:
        found.seen(float(relevant))
        assert not found.over(), name


def test_a_fetch_without_a_page_is_a_fetch_that_found_nothing() -> None:
    found = Discoveries(threshold=0.0)
    found.seen(None)
    found.seen(0.0)
    assert (found.left.fetches, found.left.found) == (2, 1)


def test_what_is_shown_is_at_most_a_tenth_old() -> None:
    found = Discoveries(threshold=0.5)
    found.again(map(falling, range(1000)))
    before = found.outlook()
    found.again([False] * 99)
    assert found.outlook() is before
    found.again([False])
    assert found.outlook().ahead == 1100
    assert found.outlook(waiting=0).words == "nothing is left to fetch"


def test_watching_costs_some_microseconds_a_fetch() -> None:
    found = Discoveries(threshold=0.5, enough=0.95)
    begun = process_time()
    for step in range(10_000):
        found.seen(0.9 if step % (2 + step // 50) == 0 else 0.1)
        found.over()
    assert (process_time() - begun) / 10_000 < 200e-6  # about 15 µs; a busy machine is slow, not wrong
