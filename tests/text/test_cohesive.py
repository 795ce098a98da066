"""Which sentences around a link belong together: Hati et al. 2010, section 5.4."""

from __future__ import annotations

import pytest

from topicrawl.text.cohesive import cohesive_text

OWLS = "Owls hunt at night. Their wings are soft. See the list. It is long. This list is new."


@pytest.mark.parametrize(
    ("text", "sentence", "expected"),
    [
        (OWLS, "See the list.", "Their wings are soft. See the list. It is long."),
        (OWLS, "Owls hunt at night.", "Owls hunt at night. Their wings are soft."),
        (OWLS, "This list is new.", "See the list. It is long. This list is new."),
        ("And so. It rains. This is a link.", "This is a link.", "And so. It rains. This is a link."),
        ("Above.\nHome About\nBelow. More.", "Home About", "Above. Home About Below."),
        ("Only this", "Only this", "Only this"),
        ("Something else.", "Not there.", "Not there."),
        ("Something.", "", ""),
        ("", "Not there.", "Not there."),
    ],
)
def test_a_sentence_takes_its_neighbours_along(text: str, sentence: str, expected: str) -> None:
    assert cohesive_text(text, sentence)[0] == expected


def test_of_two_equal_sentences_the_next_one_is_meant() -> None:
    text = "One. More here. Two. More here. Three."
    first, at = cohesive_text(text, "More here.")
    second, _ = cohesive_text(text, "More here.", at + 1)
    assert (first, second) == ("One. More here. Two.", "Two. More here. Three.")


def test_a_search_that_starts_too_late_starts_again() -> None:
    assert cohesive_text("Owls. More here. Mice.", "More here.", 12)[0] == "Owls. More here. Mice."
