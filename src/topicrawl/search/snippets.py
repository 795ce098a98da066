"""Snippets: the passage of a page that matches a query best, as pieces of plain text without markup."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from topicrawl.search.analysis import stem_word
from topicrawl.text.tokenizer import tokenise

SNIPPET_LENGTH = 240  # characters of a snippet
_MAX_OCCURRENCES = 24  # occurrences to examine, divided among the prefixes
_MIN_OCCURRENCES = 4  # occurrences to examine of each prefix, at least
_MAX_SCANNED_CHARS = 20_000  # characters of a page to examine
_WORD_PATTERN = re.compile(r"\w+")
_BOUNDARY_WINDOW = 25  # characters in which to look for a word boundary

Snippet = tuple[tuple[str, bool], ...]


class SnippetBuilder:
    """Build the snippets of all hits of one query, with a cache of stems that the hits share.

    >>> SnippetBuilder({"owl"}).build("At night all owls hunt.", "en")
    (('At night all ', False), ('owls', True), (' hunt.', False))
    """

    def __init__(self, stems: Collection[str]) -> None:
        self._query_stems = frozenset(stems)
        self._prefixes = _reduce_prefixes(stems)
        self._max_per_prefix = max(_MIN_OCCURRENCES, _MAX_OCCURRENCES // max(1, len(self._prefixes)))
        self._stem_cache: dict[str, dict[str, str]] = {}  # language → word → its stem, or "" if not in the query

    def build(self, text: str, language: str) -> Snippet:
        """Return the passage with the most query stems, as pieces of text with a flag: the piece matches a stem."""
        places = self._find_matches(text, language)
        start, end = _find_best_window(text, places)
        pieces: list[tuple[str, bool]] = []
        at = start
        for begin, stop, _ in places:
            if begin >= at and stop <= end:
                pieces += [(text[at:begin], False), (text[begin:stop], True)]
                at = stop
        pieces.append((text[at:end], False))
        snippet = [(piece.replace("\n", " "), marked) for piece, marked in pieces if piece]
        if snippet and start > 0:
            snippet.insert(0, ("… ", False))
        if snippet and end < len(text):
            snippet.append((" …", False))
        return tuple(snippet)

    def _find_matches(self, text: str, language: str) -> list[tuple[int, int, str]]:
        """Return (start, end, stem) of the words with a query stem, in text order."""
        low = text[:_MAX_SCANNED_CHARS].lower()
        if len(low) != min(len(text), _MAX_SCANNED_CHARS):
            low = text[:_MAX_SCANNED_CHARS]  # lower-casing some letters changes the length, and so all later positions
        stems = self._stem_cache.setdefault(language, {})
        matches: dict[int, tuple[int, int, str]] = {}
        for prefix in self._prefixes:
            at = low.find(prefix)
            for _ in range(self._max_per_prefix):
                if at < 0:
                    break
                word = _WORD_PATTERN.match(low, at)
                end = word.end() if word else at + len(prefix)
                if prefix[0] > "\u0e00" or not (at and low[at - 1].isalnum()):
                    form = low[at:end] if prefix[0] < "\u0e00" else prefix
                    stem = stems.get(form)
                    if stem is None:
                        stem = stems[form] = self._match_stem(form, language)
                    if stem:
                        matches[at] = at, at + len(form), stem
                at = low.find(prefix, end)
        return [matches[at] for at in sorted(matches)]

    def _match_stem(self, word: str, language: str) -> str:
        """Return the query stem of a word, or "" if the query does not contain it."""
        forms = {form for part in tokenise(word) for form in (part, stem_word(part, language))}
        return min(forms & self._query_stems, default="")


def _reduce_prefixes(stems: Collection[str]) -> list[str]:
    """Return the prefixes of the stems, without those that have a shorter one as a prefix.

    >>> _reduce_prefixes(["chemic", "chemical", "owl"])
    ['chemi', 'owl']
    """
    prefixes: list[str] = []
    for prefix in sorted({_stem_prefix(stem) for stem in stems if stem}):
        if not prefixes or not prefix.startswith(prefixes[-1]):
            prefixes.append(prefix)
    return prefixes


def _stem_prefix(stem: str) -> str:
    """Return a common prefix of all words with a stem: a stemmer changes only the last letters.

    >>> _stem_prefix("happi"), _stem_prefix("owl"), _stem_prefix("東京")
    ('happ', 'owl', '東京')
    """
    return stem[:-1] if len(stem) > 3 else stem


def _find_best_window(text: str, matches: list[tuple[int, int, str]]) -> tuple[int, int]:
    """Return the start and end of the window with the most distinct stems, at word boundaries."""
    best, start = 0, 0
    last = 0
    for first, (begin, _, _) in enumerate(matches):
        last = max(last, first)
        while last < len(matches) and matches[last][1] <= begin + SNIPPET_LENGTH * 3 // 4:
            last += 1
        score = len({stem for _, _, stem in matches[first:last]}) * 1000 + last - first
        if score > best:
            best, start = score, max(0, begin - SNIPPET_LENGTH // 4)
    if start:
        blank = max(text.find(" ", start, start + _BOUNDARY_WINDOW), text.find("\n", start, start + _BOUNDARY_WINDOW))
        start = blank + 1 if blank >= 0 else start
    end = min(len(text), start + SNIPPET_LENGTH)
    if end < len(text):
        blank = max(text.rfind(" ", end - _BOUNDARY_WINDOW, end), text.rfind("\n", end - _BOUNDARY_WINDOW, end))
        end = blank if blank > start else end
    return start, end


def join_pieces(pieces: Iterable[tuple[str, bool]]) -> str:
    """Return the text of a snippet without the match flags."""
    return "".join(piece for piece, _ in pieces)
