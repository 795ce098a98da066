"""Find the sentence that contains a link, by searching outward from its offset.

Splitting whole paragraphs into sentences and keeping those with links costs several times as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from topicrawl.text.sentences import split_sentences

MAX_SENTENCE_LENGTH = 1000
#: Largest distance from the link to the start and to the end of its sentence.
MAX_DISTANCE = MAX_SENTENCE_LENGTH // 2

# Languages with other sentence terminators use the full sentence splitter.
_OTHER_SCRIPT_LANGUAGES = frozenset(
    ["zh", "ja", "ar", "fa", "ur", "hi", "mr", "ne", "bn", "sa", "pa", "am", "ti", "my"]
)
_SENTENCE_END = re.compile("[.?!] ")
# Text before a full stop that does not end a sentence: an initial, an abbreviation with dots, a title.
_ABBREVIATION = re.compile(r"(?:^|[\s(\[\"'“.])(?:[^\W\d_]|[A-Z][a-z]|Mrs|Prof|Gen|Col|Rev|Gov|Sen|vs|cf|pp|ca)$")


def find_sentences(text: str, offsets: Sequence[int], *, language: str = "") -> list[str]:
    """Return the sentence at each offset of a text, truncated if it is too long. The offsets must be ascending.

    >>> find_sentences("It rained. Dr. Owl slept.", [3, 15, 19])
    ['It rained.', 'Dr. Owl slept.', 'Dr. Owl slept.']
    """
    result: list[str] = []
    start = end = -1
    sentence = ""
    is_foreign = language in _OTHER_SCRIPT_LANGUAGES
    for place in offsets:
        # Links in the same sentence share one search, unless the sentence is so long that each gets its own part.
        if not start <= place < end or end - start >= MAX_DISTANCE:
            start, end = _find_bounds(text, place, is_other_script=is_foreign)
            sentence = text[start:end].strip()
        result.append(sentence)
    return result


def _find_bounds(text: str, offset: int, *, is_other_script: bool) -> tuple[int, int]:
    """Return start and end of the sentence at an offset."""
    low, high = max(0, offset - MAX_DISTANCE), offset + MAX_DISTANCE
    start = text.rfind("\n", low, offset) + 1 or low
    end = text.find("\n", offset, high)
    end = min(high, len(text)) if end < 0 else end
    line = text[start:end]
    if is_other_script:
        return _find_bounds_by_splitting(line, start, offset)
    # Menus, lists and tables have no sentence ends.
    if ". " not in line and "? " not in line and "! " not in line:
        return start, end
    # The space in "<a> owl</a>" belongs to the following text.
    before = offset - start + line.startswith(" ", offset - start)
    while (before := max(line.rfind(". ", 0, before), line.rfind("? ", 0, before), line.rfind("! ", 0, before))) >= 0:
        if _ends_sentence(line, before):
            start += before + 2
            line = line[before + 2 :]
            break
    for stop in _SENTENCE_END.finditer(line, offset - start):
        if _ends_sentence(line, stop.start()):
            return start, start + stop.start() + 1
    return start, end


def _ends_sentence(line: str, stop: int) -> bool:
    """Return whether the punctuation mark at `stop` ends a sentence."""
    if line[stop + 2 : stop + 3].islower():
        return False
    # Three lower-case letters before the stop are an ordinary word: the most common and cheapest case.
    if line[stop] != "." or line[max(0, stop - 3) : stop].islower():
        return True
    return not _ABBREVIATION.search(line, max(0, stop - 8), stop)


def _find_bounds_by_splitting(line: str, start: int, offset: int) -> tuple[int, int]:
    """Return start and end of the sentence at an offset, using the sentence splitter."""
    position = 0
    for sentence in split_sentences(line):
        position = line.index(sentence, position)
        if start + position + len(sentence) > offset:
            return start + position, start + position + len(sentence)
        position += len(sentence)
    return start + position, start + len(line)
