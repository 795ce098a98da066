"""Search queries about one URL: its backlinks and its description.

Hati, Kumar and Mishra 2010, 5.1 and 5.3; Kluev 2000, 1. The engines of that time supported the operator `link:`.
Today's engines do not, but pages that mention a URL often link to it. Parsing these pages shows whether they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from topicrawl.seeds.provider import EngineAnswer
from topicrawl.seeds.voting import elect_seeds, get_page_key

MAX_BACKLINKS = 10  # backlinks per page, as in Kluev; Safran and Hati use five of them
MAX_DESCRIBING_RESULTS = 10  # results that describe a URL, as in Hati 5.3


def build_backlink_query(url: str) -> str:
    """Return the query for the backlinks of a URL.
    >>> build_backlink_query("https://www.who.int/dengue/")
    '"who.int/dengue"'
    """
    return f'"{get_page_key(url)}"'


def build_description_query(url: str) -> str:
    """Return the query for the description of a URL, as in Hati et al.
    >>> build_description_query("https://www.who.int/dengue/")
    'description of who.int/dengue'
    """
    return f"description of {get_page_key(url)}"


def extract_backlinks(answers: Sequence[EngineAnswer], url: str, limit: int = MAX_BACKLINKS) -> list[str]:
    """Return the pages that may link to a URL, sorted by the number of engines that return them."""
    return [seed.url for seed in elect_seeds(answers, votes=1) if get_page_key(seed.url) != get_page_key(url)][:limit]


def extract_description(answers: Sequence[EngineAnswer], limit: int = MAX_DESCRIBING_RESULTS) -> str:
    """Return the titles and snippets of the first results of the query for a description, or "" if there are none.

    The results of several engines alternate, and a page counts once.
    """
    ranked = [answer.hits for answer in answers if not answer.trouble]
    distinct: dict[str, str] = {}
    for hit in (hit for same_rank in zip_longest(*ranked) for hit in same_rank if hit is not None):
        distinct.setdefault(get_page_key(hit.url), f"{hit.title} {hit.snippet}".strip())
    return " ".join(list(distinct.values())[:limit])
