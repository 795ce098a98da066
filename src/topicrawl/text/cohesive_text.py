"""Cohesive text: the sentences around a link that belong together (Hati et al. 2010, section 5.4).

A sentence that begins with It, This or And depends on the sentence before it, so that one is included too.
"""

from __future__ import annotations

from topicrawl.text.sentences import split_sentences

DEPENDENT_OPENERS = frozenset(["it", "this", "and"])
CONTEXT_CHARS = 600  # characters before and after the sentence that are searched for neighbouring sentences


def extract_cohesive_text(text: str, sentence: str, start: int = 0) -> tuple[str, int]:
    """Return the cohesive text around the sentence of a link, and the position of that sentence.

    It consists of the sentence itself, the sentence after it, and the sentences before it: one, and further ones as
    long as the last one begins with It, This or And. Each line of the text is a block. The search begins at `start`; a
    sentence that is not in the text is returned alone.

    >>> text = "Owls hunt. They fly. It is dark. See the list of owls. Most are large. The rest is not."
    >>> extract_cohesive_text(text, "See the list of owls.")[0]
    'They fly. It is dark. See the list of owls. Most are large.'
    """
    at = text.find(sentence, start)
    if at < 0:
        at = text.find(sentence)
    if not sentence or at < 0:
        return sentence, start
    previous = _get_sentences_before(text, at)
    cohesive = [sentence]
    while previous:
        cohesive.insert(0, previous.pop())
        if cohesive[0].partition(" ")[0].strip(",").lower() not in DEPENDENT_OPENERS:
            break
    return " ".join((*cohesive, *_get_sentence_after(text, at + len(sentence)))), at


def _get_sentences_before(text: str, at: int) -> list[str]:
    """Return the sentences before a position: of its line, or of the last line above with text."""
    head = text[max(0, at - CONTEXT_CHARS) : at].rstrip()
    return split_sentences(head.rpartition("\n")[2])


def _get_sentence_after(text: str, at: int) -> list[str]:
    """Return the sentence after a position as a list of at most one element."""
    tail = text[at : at + CONTEXT_CHARS].lstrip(" .!?\n")
    return split_sentences(tail.partition("\n")[0])[:1]
