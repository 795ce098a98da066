"""What is asked and what is answered; `tabled` makes of it what JSON can write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LONGEST = 1000  # characters of a query
MOST = 100  # hits of an answer
DEEPEST = 1000  # hits that may be passed over


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for; `text` may hold phrases and fields (see `query.py`)."""

    text: str
    count: int = 10
    offset: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)  # word → weight, beside the text: from feedback
    without: tuple[str, ...] = ()  # addresses that are not wanted among the hits
    learned: bool = True  # whether servers may add what they learned from earlier feedback to such queries


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found."""

    url: str
    title: str
    score: float
    snippet: tuple[tuple[str, bool], ...] = ()  # pieces of plain text, and whether a piece was looked for
    language: str = ""
    relevance: float = 0.0  # to the collection's topic
    verdict: str = ""  # of reviewers: "yes", "no", "unsure"; "": nobody looked
    at: float = 0.0  # when it was fetched
    digest: str = ""
    collections: tuple[str, ...] = ()  # the names of those that hold it
    copies: tuple[str, ...] = ()  # other addresses of the same text that were found


@dataclass(frozen=True, slots=True)
class Asked:
    """A collection that was considered, and what became of it."""

    name: str  # unique in an answer: the collection's own, after its server's address when it is elsewhere
    pages: int
    belief: float  # that it holds what is looked for, 0…1 (CORI)
    chosen: bool
    found: int = 0  # pages that match
    trouble: str = ""  # one line for people


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of the smaller of two collections is in the other one too."""

    one: str
    other: str
    share: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The best hits of all collections that were asked."""

    query: Query
    hits: tuple[Hit, ...] = ()
    found: int = 0  # pages that match, before copies are folded
    asked: tuple[Asked, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Feedback:
    """Which hits of a query were right and which were wrong."""

    query: str
    relevant: tuple[str, ...] = ()  # addresses
    irrelevant: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)  # word → weight, by Rocchio; filled by `judge`
    id: str = ""  # the same on every server it is passed on to
    at: float = 0.0


def tabled(value: Any) -> dict[str, Any]:
    """One of these as a table, and those in it as tables: a twentieth of what `dataclasses.asdict` takes.

    >>> tabled(Answer(Query("owl"), (Hit("http://a.example/", "A", 1.5, (("owl", True),)),)))["hits"][0]["snippet"]
    (('owl', True),)
    """
    found: dict[str, Any] = {name: getattr(value, name) for name in value.__slots__}
    for name, held in found.items():
        if hasattr(held, "__slots__") and hasattr(held, "__dataclass_fields__"):
            found[name] = tabled(held)
        elif isinstance(held, tuple) and held and hasattr(held[0], "__dataclass_fields__"):
            found[name] = [tabled(one) for one in held]
    return found
