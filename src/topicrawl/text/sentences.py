"""Split a paragraph into sentences.

A full stop ends a sentence if white space follows, the word before it is neither an abbreviation nor an initial, and
the word after it does not start in lower case. Full stops of scripts without spaces always end a sentence.
"""

from __future__ import annotations

import re

#: Abbreviations that are followed by a name, a number or another word; without dots, in lower case.
_ABBREVIATION_TEXT = """
    mr mrs ms messrs dr prof rev hon st sr jr gen col capt lt sgt cmdr adm maj gov sen rep pres mt ft
    vs cf eg ie viz al approx ca resp esp incl est ed eds vol vols no nos nr p pp pg fig figs eq eqs sec ch
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri
    inc ltd co corp dept univ assn bros tel ext
    bzw usw evtl ggf vgl bspw sog zb dh str hr hrn abb bd jh
    mme mlle mm av env ex sra srta ud uds dott sig sigra ing bijv enz blz dhr mevr
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_TEXT.split())
# Stops, followed by closing quotes and brackets: stops that need white space after them, and stops that do not. The
# quantifiers are possessive, because backtracking over a page of dots would take hours. The leading character class
# makes the search fast.
_STOP = re.compile(
    r"""[.!?…‽؟۔।॥։።᙮⁇⁈⁉。！？｡．](?:(?<=[。！？｡．])[。！？｡．]*+["'”’»」』）】〉》)\]]*+"""
    r"""|(?<![。！？｡．])[.!?…‽؟۔।॥։።᙮⁇⁈⁉]*+["'”’»›)\]}*†]*+)"""
)
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«„]+$")
_NEXT = re.compile(r"[\s\"'“‘«„(\[{¿¡—–-]*(.?)", re.DOTALL)


def split_sentences(block: str) -> list[str]:
    """Return the sentences of one paragraph in order, without surrounding white space.

    >>> split_sentences("Dr. J. Smith paid $3.50. It rained! “Why?” she asked. See Fig. 2 etc. for more.")
    ['Dr. J. Smith paid $3.50.', 'It rained!', '“Why?” she asked.', 'See Fig. 2 etc. for more.']
    >>> split_sentences("今日は。元気？")
    ['今日は。', '元気？']
    """
    if block.isascii() and not ("." in block or "!" in block or "?" in block):
        # Fast path for menus, table cells and headings, which are most blocks of most pages.
        whole = block.strip()
        return [whole] if whole else []
    parts = []
    start = 0
    for stop in _STOP.finditer(block):
        if _ends_sentence(block, start, stop):
            parts.append(block[start : stop.end()].strip())
            start = stop.end()
    parts.append(block[start:].strip())
    return [sentence for sentence in parts if sentence]


def _ends_sentence(block: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether a stop ends the sentence that began at `start`."""
    if stop[0][0] in "。！？｡．":
        return True
    if not block[stop.end() : stop.end() + 1].isspace():
        return False
    following = _NEXT.match(block, stop.end())
    if following is not None and following[1].islower():
        return False
    if stop[0] != ".":
        # "?!", "...", '."' and the stops of other scripts never mark an abbreviation.
        return True
    # The search is limited to 40 characters, so that long blocks are not searched from their start again and again.
    before = _LAST_WORD.search(block, max(start, stop.start() - 40), stop.start())
    return before is None or not _is_abbreviation(before[0])


def _is_abbreviation(word: str) -> bool:
    """Return whether a word before a full stop is an initial ("J", "U.S") or a known abbreviation.

    >>> _is_abbreviation("J"), _is_abbreviation("e.g"), _is_abbreviation("Prof"), _is_abbreviation("rain")
    (True, True, True, False)
    """
    plain = word.replace(".", "").lower()
    if plain in _ABBREVIATIONS:
        return True
    if len(word) == 1:
        # A letter before a full stop is usually an initial, rarely the end of a sentence ("Plan B."). "I" is a word.
        return word.isalpha() and word.isupper() and word != "I"
    # Single letters with dots between them: "U.S", "e.g", "z.B".
    return word[1::2] == "." * (len(word) // 2) and word[0::2].isalpha()
