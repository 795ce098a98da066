"""The hosts of the made-up web: what kind of site each one is, how large, how it looks, and what ails it.

A few hosts are large and most are small (a power law). Every sixty of them have their share of trouble: hosts
that are slow, close the line, never answer, fail, or forbid robots.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Literal

from topicrawl.lab.sample_prose import mixed
from topicrawl.lab.sample_topics import TOPICS
from topicrawl.lab.sample_words import THEMES, listed

Kind = Literal["portal", "magazine", "specialist", "blog", "trade", "directory"]
Fault = Literal["", "closed", "silent", "failing", "forbidden"]

#: Topics first, so that a subject below `len(TOPICS)` is a topic and any other is a theme.
SUBJECTS = TOPICS + THEMES

#: The kinds of twenty hosts in a row.
_KINDS: tuple[Kind, ...] = (
    *("portal", "magazine", "specialist", "specialist", "trade", "specialist", "specialist", "directory"),
    *("magazine", "specialist", "specialist", "blog", "trade", "specialist", "specialist", "magazine"),
    *("specialist", "trade", "specialist", "blog"),
)
#: Where a host lies between the largest (0) and the smallest (1); a topic's first specialist is its largest.
_RANKS: dict[str, tuple[float, float]] = {
    "portal": (0.0, 0.02),
    "magazine": (0.05, 0.8),
    "specialist 0": (0.03, 0.3),
    "specialist 1": (0.1, 0.6),
    "specialist": (0.3, 1.0),
    "island": (0.15, 0.4),
    "blog": (0.4, 1.0),
    "trade": (0.2, 1.0),
    "directory": (0.3, 0.7),
}
_FAULTS: tuple[Fault, ...] = ("closed", "silent", "failing", "forbidden")
_SMALLEST = 8
_FAULTY_SIZE = 12
_EXPONENT = 0.85

_ENDINGS = listed(
    """watch, atlas, notes, society, journal, archive, guide, forum, club, house, lab, today, world,
    review, desk"""
)
_FRONTS = listed(
    """north, alder, quill, harbour, raven, copper, willow, stone, bright, maple, silver, hollow,
    amber, falcon"""
)
_BACKS = listed("""gate, field, press, house, bridge, works, lane, point, mill, court, hill, river, market, yard""")


@dataclass(frozen=True, slots=True)
class Host:
    """One site. Its pages have the numbers from `first` on."""

    index: int
    name: str
    kind: Kind
    subject: int  # what the site is mostly about
    first: int
    size: int
    island: bool = False  # reachable only by way of off-topic pages
    layout: int = 0
    addresses: int = 0  # how its URLs are made
    charset: str = "utf-8"
    delay: float = 0.0  # seconds before it answers
    crawl_delay: float = 0.0  # what its robots.txt asks for
    fault: Fault = ""
    calendar: bool = False  # has a calendar without end
    mirror: str = ""  # a second name that serves the same pages

    @property
    def bare(self) -> str:
        """The name without `www.`, which redirects to the full one; "" when there is no such name."""
        return self.name[4:] if self.name.startswith("www.") else ""


def _specialities() -> list[tuple[int, str]]:
    """Subjects of specialists in turn, spread evenly, with roles: the last of each topic is an island."""
    slots = []
    for subject, topic in enumerate(TOPICS):
        roles = ["specialist 0", "specialist 1", *("specialist" for _ in range(topic.share - 3)), "island"]
        if topic.share < 3:
            del roles[1]
        slots += [((turn + 0.5) / topic.share, subject, role) for turn, role in enumerate(roles)]
    return [(subject, role) for _, subject, role in sorted(slots)]


def _names(seed: int) -> Iterator[str]:
    """Endless stream of distinct two-part names that say nothing."""
    chance = random.Random(mixed(seed, 11))
    seen: set[str] = set()
    while True:
        name = chance.choice(_FRONTS) + chance.choice(_BACKS)
        if name in seen:
            name += str(len(seen))
        seen.add(name)
        yield name


def _sizes(seed: int, pages: int, roles: list[str]) -> list[int]:
    """How many pages each host has, in the order of `roles`; they sum to `pages`."""
    chance = random.Random(mixed(seed, 12))
    keys = [low + (high - low) * chance.random() for low, high in (_RANKS[role] for role in roles)]
    ranked = sorted(range(len(roles)), key=keys.__getitem__)
    weights = [rank**-_EXPONENT for rank in range(1, len(roles) + 1)]
    spare = pages - _SMALLEST * len(roles)
    scale = spare / sum(weights)
    sizes = [0] * len(roles)
    for weight, host in zip(weights, ranked, strict=True):
        sizes[host] = _SMALLEST + int(weight * scale)
    sizes[ranked[0]] += pages - sum(sizes)
    return sizes


def _name(kind: Kind, subject: int, blank: str, chance: random.Random) -> str:
    """A host name; specialists' names mostly tell their topic."""
    if kind == "specialist" and chance.random() < 0.7:
        stem = chance.choice(SUBJECTS[subject].words[:6]) + "-" + chance.choice(_ENDINGS)
    else:
        stem = blank
    front = "blog." if kind == "blog" else "www." if chance.random() < 0.7 else ""
    return f"{front}{stem}.example"


def _roles(kinds: list[Kind]) -> list[tuple[int, str]]:
    """What each host is about and the part it plays."""
    specialities = cycle(_specialities())
    themes = cycle(range(len(TOPICS), len(SUBJECTS)))
    return [next(specialities) if kind == "specialist" else (next(themes), str(kind)) for kind in kinds]


def hosts(seed: int, pages: int, count: int) -> list[Host]:
    """The hosts of a web: `count` that share its pages, and behind them those that never give a page.

    >>> web = hosts(1, 3000, 60)
    >>> sum(host.size for host in web if not host.fault), len(web), len({host.name for host in web})
    (3000, 64, 64)
    """
    chance = random.Random(mixed(seed, 13))
    blanks = _names(seed)
    faulty = [fault for _ in range(max(1, count // 60)) for fault in _FAULTS]
    kinds: list[Kind] = [_KINDS[index % len(_KINDS)] for index in range(count)]
    kinds += ["specialist" for _ in faulty]
    roles = _roles(kinds)
    sizes = _sizes(seed, pages, [role for _, role in roles[:count]]) + [_FAULTY_SIZE for _ in faulty]
    made: list[Host] = []
    names: set[str] = set()
    first = 0
    for index, (kind, (subject, role), size) in enumerate(zip(kinds, roles, sizes, strict=True)):
        name = _name(kind, subject, next(blanks), chance)
        if name.removeprefix("www.") in names:
            name = name.replace(".example", f"{index}.example")
        names.add(name.removeprefix("www."))
        fault = faulty[index - count] if index >= count else ""
        host = Host(index, name, kind, subject, first, size, role == "island" and not fault, fault=fault)
        made.append(_dressed(host, chance))
        first += size
    return made


def _dressed(host: Host, chance: random.Random) -> Host:
    """The host with its looks and its temper."""
    place = host.index % 60
    layout, addresses = int(chance.random() * 4), int(chance.random() * 5)
    mirror = "mirror." + host.name.removeprefix("www.") if place == 9 and not host.fault else ""
    return replace(
        host,
        layout=layout,
        addresses=addresses,
        charset="iso-8859-1" if layout == 1 else "utf-8",
        # Slow enough to be felt, quick enough for a demonstration.
        delay=0.1 + 0.2 * chance.random() if place % 20 == 6 else 0.0,
        crawl_delay=1.0 if place == 13 else 0.0,
        calendar=place == 4,
        mirror=mirror,
    )
