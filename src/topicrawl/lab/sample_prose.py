"""Sentences, headings and titles of the made-up web, drawn from a vocabulary by a given source of chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from topicrawl.lab.sample_words import AMOUNTS, BACKGROUND, PEOPLE, PLACES, YEARS, Vocabulary

Chance = Callable[[], float]  # 0 ≤ x < 1, like random.Random(n).random

_MASK = (1 << 64) - 1

#: Letters name the slots: Thing, Matter, Deed, Adjective, Place, Who, Number, Year.
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
    ("this is why %s %s and why nobody in %s was surprised.", "MDP"),
    ("there are %s %s for every visitor who asks about %s.", "ATM"),
    ("%s, %s and %s belong together, as %s likes to say.", "TTTW"),
    ("few things are as %s as %s after the first %s of the year.", "ATT"),
    ("if the %s are %s, the %s will %s as well.", "TATD"),
    ("we asked %s what to do when %s %s.", "WTD"),
    ("%s published a list of %s in %s, and it is still in use.", "WMY"),
    ("%s of these %s %s, and the others are %s.", "NTDA"),
    ("before %s nobody had looked at %s in this way.", "YM"),
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

#: Titles that say nothing about their page.
_BLANK_TITLES: tuple[tuple[str, str], ...] = (
    ("Letter from %s", "P"),
    ("Notes of %s", "Y"),
    ("A visit to %s", "P"),
    ("An interview with %s", "W"),
    ("The story of %s", "Y"),
)

_ROLES = "TMDAPWNY"


class Lexicon:
    """A vocabulary laid out for quick drawing, one list for each slot letter."""

    __slots__ = ("headings", "patterns", "titles")

    def __init__(self, words: Vocabulary) -> None:
        lists = (words.things, words.matters, words.deeds, words.traits, PLACES, PEOPLE, AMOUNTS, YEARS)
        by_role = {role: (entries, len(entries)) for role, entries in zip(_ROLES, lists, strict=True)}

        def laid_out(patterns: Sequence[tuple[str, str]]) -> tuple[_Pattern, ...]:
            return tuple((text, tuple(by_role[role] for role in roles)) for text, roles in patterns)

        self.patterns = laid_out(_PATTERNS)
        self.headings = laid_out(_HEADINGS)
        self.titles = laid_out(_TITLES), laid_out(_BLANK_TITLES)


_Pattern = tuple[str, tuple[tuple[tuple[str, ...], int], ...]]

_BACKGROUND = Lexicon(BACKGROUND)


def mixed(*numbers: int) -> int:
    """One well-stirred 64-bit number from several; the same on every machine and in every process.

    >>> mixed(1, 2) == mixed(1, 2), mixed(1, 2) == mixed(2, 1), mixed(1, 2) >> 64
    (True, False, 0)
    """
    state = 0x243F6A8885A308D3
    for number in numbers:
        state = ((state ^ number) * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _MASK
        state ^= state >> 32
        state = (state * 0xD6E8FEB86659FD93) & _MASK
        state ^= state >> 29
    return state


def sentence(lexicon: Lexicon, chance: Chance) -> str:
    """One sentence whose slots are all filled from one vocabulary.

    >>> from topicrawl.lab.sample_topics import CHESS
    >>> sentence(Lexicon(CHESS), lambda: 0.0)
    'Pawns control the centre, while Sicilian defences control the centre.'
    """
    patterns = lexicon.patterns
    text, slots = patterns[int(chance() * len(patterns))]
    filled = text % tuple([entries[int(chance() * size)] for entries, size in slots])
    return filled[0].upper() + filled[1:]


def sentences(count: int, lexicons: Sequence[Lexicon], density: float, chance: Chance) -> list[str]:
    """Sentences of which a share of `density` speaks about the lexicons, and the rest about nothing."""
    kinds = len(lexicons)
    return [
        sentence(lexicons[int(chance() * kinds)] if chance() < density else _BACKGROUND, chance) for _ in range(count)
    ]


def heading(lexicon: Lexicon, chance: Chance) -> str:
    """A heading inside a page."""
    text, slots = lexicon.headings[int(chance() * len(lexicon.headings))]
    filled = text % tuple([entries[int(chance() * size)] for entries, size in slots])
    return filled[0].upper() + filled[1:]


def title(lexicon: Lexicon, number: int) -> str:
    """A page's title, fixed by a 64-bit number; one in four says nothing about the page.

    >>> from topicrawl.lab.sample_topics import CHEESE
    >>> title(Lexicon(CHEESE), 1)
    'Washed rind cheeses'
    """
    number, blank = divmod(number, 4)
    patterns = lexicon.titles[blank == 0]
    number, which = divmod(number, len(patterns))
    text, slots = patterns[which]
    words = []
    for entries, size in slots:
        number, at = divmod(number, size)
        words.append(entries[at])
    filled = text % tuple(words)
    return filled[0].upper() + filled[1:]
