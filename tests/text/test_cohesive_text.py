"""Tests of cohesive text: Hati et al. 2010, section 5.4."""

from __future__ import annotations

import pytest

from topicrawl.text.cohesive_text import extract_cohesive_text

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
def test_neighbouring_sentences_are_included(text: str, sentence: str, expected: str) -> None:
    assert extract_cohesive_text(text, sentence)[0] == expected


def test_search_begins_at_start() -> None:
    text = "One. More here. Two. More here. Three."
    first, at = extract_cohesive_text(text, "More here.")
    second, _ = extract_cohesive_text(text, "More here.", at + 1)
    assert (first, second) == ("One. More here. Two.", "Two. More here. Three.")


def test_search_wraps_around() -> None:
    assert extract_cohesive_text("Owls. More here. Mice.", "More here.", 12)[0] == "Owls. More here. Mice."
