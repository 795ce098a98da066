"""Random sentences, headings and titles of the sample web, generated from a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from topicrawl.sample_web.vocabulary import AMOUNTS, BACKGROUND, PEOPLE, PLACES, YEARS, TopicVocabulary

RandomFunction = Callable[[], float]  # 0 ≤ x < 1, like random.Random(n).random

_MASK = (1 << 64) - 1

#: Templates with a letter for the role of each slot: Thing (noun), Matter (noun phrase), Deed (verb phrase),
#: Adjective, Place, Who (person), Number, Year.
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("%s %s, while %s %s.", "TDMD"),
    ("in %s, %s were first described by %s in %s.", "PMWY"),
    ("most %s are %s, but some %s are not.", "TAT"),
    ("the %s %s that one sees in %s %s.", "ATPD"),
    ("%s of the %s were %s, according to %s.", "NTAW"),
    ("people in %s still talk about the %s of %s.", "PMY"),
    ("without %s there would be no %s, and without %s no %s.", "TTTM"),
    ("it is easy to confuse %s with %s, since both %s.", "TTD"),
    ("when %s %s, %s become %s.", "TDTA"),
    ("%s has written at length about %s and %s.", "WMT"),
    ("since %s, %s have been counted every year in %s, together with %s.", "YTPT"),
    ("this is why %s %s and why no" + "body in %s was surprised.", "MDP"),
    ("there are %s %s for every visitor who asks about %s.", "ATM"),
    ("%s, %s and %s belong together, as %s likes to say.", "TTTW"),
    ("few things are as %s as %s after the first %s of the year.", "ATT"),
    ("if the %s are %s, the %s will %s as well.", "TATD"),
    ("we asked %s what to do when %s %s.", "WTD"),
    ("%s published a list of %s in %s, and it is still in use.", "WMY"),
    ("%s of these %s %s, and the others are %s.", "NTDA"),
    ("before %s no" + "body had looked at %s in this way.", "YM"),
    ("the difference between %s and %s is that only the first %s.", "MTD"),
    ("a few %s can change how %s %s.", "TMD"),
)

_HEADINGS: tuple[tuple[str, str], ...] = (
    ("%s and %s", "TT"),
    ("Why %s %s", "TD"),
    ("More about %s", "M"),
    ("%s in %s", "TP"),
    ("The year %s", "Y"),
    ("What to know about %s", "T"),
    ("Background", ""),
    ("Further notes", ""),
)

_TITLES: tuple[tuple[str, str], ...] = (
    ("%s", "M"),
    ("%s and %s", "TT"),
    ("Why %s %s", "MD"),
    ("A short guide to %s", "M"),
    ("%s in %s", "TP"),
    ("%s %s: notes from %s", "ATP"),
    ("What %s can tell us about %s", "TM"),
    ("%s of %s", "MY"),
    ("How %s %s", "TD"),
    ("%s, %s and the rest", "MT"),
)

#: Titles without a relation to the subject of the page.
_BLANK_TITLES: tuple[tuple[str, str], ...] = (
    ("Letter from %s", "P"),
    ("Notes of %s", "Y"),
    ("A visit to %s", "P"),
    ("An interview with %s", "W"),
    ("The story of %s", "Y"),
)

_ROLES = "TMDAPWNY"


class ProseTemplates:
    """Templates with the word lists of a vocabulary resolved for each slot, for fast generation."""

    __slots__ = ("headings", "patterns", "titles")

    def __init__(self, words: TopicVocabulary) -> None:
        word_lists = (
            words.nouns,
            words.noun_phrases,
            words.verb_phrases,
            words.adjectives,
            PLACES,
            PEOPLE,
            AMOUNTS,
            YEARS,
        )
        by_role = {role: (entries, len(entries)) for role, entries in zip(_ROLES, word_lists, strict=True)}

        def resolve_slots(patterns: Sequence[tuple[str, str]]) -> tuple[_Pattern, ...]:
            return tuple((text, tuple(by_role[role] for role in roles)) for text, roles in patterns)

        self.patterns = resolve_slots(_PATTERNS)
        self.headings = resolve_slots(_HEADINGS)
        self.titles = resolve_slots(_TITLES), resolve_slots(_BLANK_TITLES)


_Pattern = tuple[str, tuple[tuple[tuple[str, ...], int], ...]]

_BACKGROUND = ProseTemplates(BACKGROUND)


def hash_numbers(*numbers: int) -> int:
    """Return a 64-bit hash of several numbers. It is the same on every machine and in every process.

    >>> hash_numbers(1, 2) == hash_numbers(1, 2), hash_numbers(1, 2) == hash_numbers(2, 1), hash_numbers(1, 2) >> 64
    (True, False, 0)
    """
    state = 0x243F6A8885A308D3
    for number in numbers:
        state = ((state ^ number) * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _MASK
        state ^= state >> 32
        state = (state * 0xD6E8FEB86659FD93) & _MASK
        state ^= state >> 29
    return state


def make_sentence(templates: ProseTemplates, chance: RandomFunction) -> str:
    """Generate one sentence from the templates of one vocabulary.

    >>> from topicrawl.sample_web.topics import CHESS
    >>> make_sentence(ProseTemplates(CHESS), lambda: 0.0)
    'Pawns control the centre, while Sicilian defences control the centre.'
    """
    patterns = templates.patterns
    text, slots = patterns[int(chance() * len(patterns))]
    filled = text % tuple([entries[int(chance() * size)] for entries, size in slots])
    return filled[0].upper() + filled[1:]


def make_sentences(
    count: int, template_sets: Sequence[ProseTemplates], density: float, chance: RandomFunction
) -> list[str]:
    """Generate sentences. On average a share of `density` is about the given subjects, the rest is background."""
    kinds = len(template_sets)
    return [
        make_sentence(template_sets[int(chance() * kinds)] if chance() < density else _BACKGROUND, chance)
        for _ in range(count)
    ]


def make_heading(templates: ProseTemplates, chance: RandomFunction) -> str:
    """Generate a heading inside a page."""
    text, slots = templates.headings[int(chance() * len(templates.headings))]
    filled = text % tuple([entries[int(chance() * size)] for entries, size in slots])
    return filled[0].upper() + filled[1:]


def make_title(templates: ProseTemplates, number: int) -> str:
    """Return the title of a page, determined by a 64-bit number. One in four is unrelated to the subject.

    >>> from topicrawl.sample_web.topics import CHEESE
    >>> make_title(ProseTemplates(CHEESE), 1)
    'Washed rind cheeses'
    """
    number, blank = divmod(number, 4)
    patterns = templates.titles[blank == 0]
    number, which = divmod(number, len(patterns))
    text, slots = patterns[which]
    words = []
    for entries, size in slots:
        number, at = divmod(number, size)
        words.append(entries[at])
    filled = text % tuple(words)
    return filled[0].upper() + filled[1:]
