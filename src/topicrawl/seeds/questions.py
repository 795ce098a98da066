"""Two questions about one address: who links to it, and what it is about.

Hati, Kumar and Mishra 2010, 5.1 and 5.3; Kluev 2000, 1. The engines of those days knew the operator `link:`; those of
today do not, but pages that name an address often link to it. Whether they do shows when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from topicrawl.seeds.provider import Answer
from topicrawl.seeds.voting import elected, same

FIRST = 10  # pages that link to a page which are asked for, as Kluev has it; Safran and Hati take five of them


def who_links_to(url: str) -> str:
    """
    >>> who_links_to("https://www.who.int/dengue/")
    '"who.int/dengue"'
    """
    return f'"{same(url)}"'


def what_is(url: str) -> str:
    """
    >>> what_is("https://www.who.int/dengue/")
    'who.int/dengue'
    """
    return same(url)


def parents(answers: Sequence[Answer], url: str, most: int = FIRST) -> list[str]:
    """The pages that may link to a URL, those that most engines name first."""
    return [seed.url for seed in elected(answers, votes=1) if same(seed.url) != same(url)][:most]


def description(answers: Sequence[Answer], url: str) -> str:
    """What engines say of a URL, each once; "" when none knows it."""
    found = [hit for answer in answers if not answer.trouble for hit in answer.hits if same(hit.url) == same(url)]
    return " ".join(dict.fromkeys(hit.snippet or hit.title for hit in found)).strip()
