"""From a paragraph to its sentences, as they stand.

A full stop ends a sentence when white space follows and neither the word before it is an abbreviation or an
initial nor the word after it starts in lower case. Full stops of scripts without spaces end one at once.
"""

from __future__ import annotations

import re

#: Abbreviations that a name, a number or another word follows; without their dots, in lower case.
_SHORT = """
    mr mrs ms messrs dr prof rev hon st sr jr gen col capt lt sgt cmdr adm maj gov sen rep pres mt ft
    vs cf eg ie viz al approx ca resp esp incl est ed eds vol vols no nos nr p pp pg fig figs eq eqs sec ch
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri
    inc ltd co corp dept univ assn bros tel ext
    bzw usw evtl ggf vgl bspw sog zb dh str hr hrn abb bd jh
    mme mlle mm av env ex sra srta ud uds dott sig sigra ing bijv enz blz dhr mevr
"""
_ABBREVIATIONS = frozenset(_SHORT.split())
# Stops, then closing quotes and brackets: what white space must follow, and what needs none. A run of stops is taken
# whole and never in part, or a page of dots would take hours; a first character of its own makes the search fast.
_STOP = re.compile(
    r"""[.!?…‽؟۔।॥։።᙮⁇⁈⁉。！？｡．](?:(?<=[。！？｡．])[。！？｡．]*+["'”’»」』）】〉》)\]]*+"""
    r"""|(?<![。！？｡．])[.!?…‽؟۔।॥։።᙮⁇⁈⁉]*+["'”’»›)\]}*†]*+)"""
)
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«„]+$")
_NEXT = re.compile(r"[\s\"'“‘«„(\[{¿¡—–-]*(.?)", re.DOTALL)


def sentences(block: str) -> list[str]:
    """The sentences of one paragraph, in order, without the white space around them.

    >>> sentences("Dr. J. Smith paid $3.50. It rained! “Why?” she asked. See Fig. 2 etc. for more.")
    ['Dr. J. Smith paid $3.50.', 'It rained!', '“Why?” she asked.', 'See Fig. 2 etc. for more.']
    >>> sentences("今日は。元気？")
    ['今日は。', '元気？']
    """
    if block.isascii() and not ("." in block or "!" in block or "?" in block):
        # Menus, cells and headings: most blocks of most pages.
        whole = block.strip()
        return [whole] if whole else []
    found = []
    start = 0
    for stop in _STOP.finditer(block):
        if _ends(block, start, stop):
            found.append(block[start : stop.end()].strip())
            start = stop.end()
    found.append(block[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends(block: str, start: int, stop: re.Match[str]) -> bool:
    """Does this stop end the sentence that began at `start`?"""
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
    # No word is longer than this, and long blocks must not be searched from their start again and again.
    before = _LAST_WORD.search(block, max(start, stop.start() - 40), stop.start())
    return before is None or not _is_shortened(before[0])


def _is_shortened(word: str) -> bool:
    """Is a word before a full stop an initial ("J", "U.S") or a known abbreviation?

    >>> _is_shortened("J"), _is_shortened("e.g"), _is_shortened("Prof"), _is_shortened("rain")
    (True, True, True, False)
    """
    plain = word.replace(".", "").lower()
    if plain in _ABBREVIATIONS:
        return True
    if len(word) == 1:
        # "Plan B." ends a sentence now and then; initials are far more frequent. "I." is neither.
        return word.isalpha() and word.isupper() and word != "I"
    # "U.S", "e.g", "z.B": single letters with dots between them.
    return word[1::2] == "." * (len(word) // 2) and word[0::2].isalpha()
