"""Cohesive text: the sentences around a link that belong together. Hati et al. 2010, section 5.4.

A sentence that begins with It, This or And leans on the one before it, so that one is taken too.
"""

from __future__ import annotations

from topicrawl.text.sentences import sentences

LEANING = frozenset(["it", "this", "and"])
REACH = 600  # characters, before and behind, within which the neighbours of a sentence are looked for


def cohesive_text(text: str, sentence: str, start: int = 0) -> tuple[str, int]:
    """The sentences around a link's own in a text of blocks on lines, and where its own begins.

    The link's sentence; the one before it, and further ones as long as the last begins with It, This or And; the one
    behind it. The search begins at `start`; a sentence that is not there stands for itself.

    >>> text = "Owls hunt. They fly. It is dark. See the list of owls. Most are large. The rest is not."
    >>> cohesive_text(text, "See the list of owls.")[0]
    'They fly. It is dark. See the list of owls. Most are large.'
    """
    at = text.find(sentence, start)
    if at < 0:
        at = text.find(sentence)
    if not sentence or at < 0:
        return sentence, start
    back = _before(text, at)
    found = [sentence]
    while back:
        found.insert(0, back.pop())
        if found[0].partition(" ")[0].strip(",").lower() not in LEANING:
            break
    return " ".join((*found, *_behind(text, at + len(sentence)))), at


def _before(text: str, at: int) -> list[str]:
    """The sentences that end before a place: of its own line, or of the last one above it that says anything."""
    head = text[max(0, at - REACH) : at].rstrip()
    return sentences(head.rpartition("\n")[2])


def _behind(text: str, at: int) -> list[str]:
    """The sentence that begins behind a place, if there is one."""
    tail = text[at : at + REACH].lstrip(" .!?\n")
    return sentences(tail.partition("\n")[0])[:1]
