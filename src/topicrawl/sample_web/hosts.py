"""Hosts of the sample web: kind of site, size, layout and faults.

Host sizes follow a power law: a few hosts are large and most are small. For every sixty hosts there are four faulty
ones, which close the connection, never answer, fail with an error or forbid robots. Some other hosts are slow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Literal

from topicrawl.sample_web.prose import hash_numbers
from topicrawl.sample_web.topics import TOPICS
from topicrawl.sample_web.vocabulary import THEMES, split_entries

HostKind = Literal["portal", "magazine", "specialist", "blog", "trade", "directory"]
HostFault = Literal["", "closed", "silent", "failing", "forbidden"]

#: All subjects. A subject number below `len(TOPICS)` is a topic, any other is a theme.
SUBJECTS = TOPICS + THEMES

#: Kinds of twenty consecutive hosts. The sequence repeats.
_KINDS: tuple[HostKind, ...] = (
    *("portal", "magazine", "specialist", "specialist", "trade", "specialist", "specialist", "directory"),
    *("magazine", "specialist", "specialist", "blog", "trade", "specialist", "specialist", "magazine"),
    *("specialist", "trade", "specialist", "blog"),
)
#: Range of the relative size rank of a host, from the largest (0) to the smallest (1), by role.
_SIZE_RANKS: dict[str, tuple[float, float]] = {
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
_FAULTS: tuple[HostFault, ...] = ("closed", "silent", "failing", "forbidden")
_MIN_HOST_PAGES = 8
_FAULTY_HOST_PAGES = 12
_SIZE_EXPONENT = 0.85

_NAME_ENDINGS = split_entries(
    """watch, atlas, notes, society, journal, archive, guide, forum, club, house, lab, today, world,
    review, desk"""
)
_NAME_FIRST_PARTS = split_entries(
    """north, alder, quill, harbour, raven, copper, willow, stone, bright, maple, silver, hollow,
    amber, falcon"""
)
_NAME_SECOND_PARTS = split_entries(
    """gate, field, press, house, bridge, works, lane, point, mill, court, hill, river, market, yard"""
)


@dataclass(frozen=True, slots=True)
class SampleHost:
    """One host. Its pages have the numbers `first_page` … `first_page + page_count - 1`."""

    index: int
    name: str
    kind: HostKind
    subject: int  # main subject of the site
    first_page: int
    page_count: int
    island: bool = False  # reachable only through off-topic pages
    layout: int = 0
    addresses: int = 0  # URL style
    charset: str = "utf-8"
    delay: float = 0.0  # seconds before a response
    crawl_delay: float = 0.0  # Crawl-delay in robots.txt
    fault: HostFault = ""
    calendar: bool = False  # whether the host has an infinite calendar
    mirror: str = ""  # second name that serves the same pages

    @property
    def bare_name(self) -> str:
        """Name without `www.`, which redirects to the full name, or "" if the name has no `www.`."""
        return self.name[4:] if self.name.startswith("www.") else ""


def _list_specialist_roles() -> list[tuple[int, str]]:
    """Return (topic number, role) of the specialist hosts, evenly interleaved over the topics.

    A topic has `host_share` hosts. Its last host is an island: only links from pages on other topics lead to it.
    """
    slots = []
    for subject, topic in enumerate(TOPICS):
        roles = ["specialist 0", "specialist 1", *("specialist" for _ in range(topic.host_share - 3)), "island"]
        if topic.host_share < 3:
            del roles[1]
        slots += [((position + 0.5) / topic.host_share, subject, role) for position, role in enumerate(roles)]
    return [(subject, role) for _, subject, role in sorted(slots)]


def _generate_names(seed: int) -> Iterator[str]:
    """Yield distinct two-part host names without a relation to a topic."""
    chance = random.Random(hash_numbers(seed, 11))
    seen: set[str] = set()
    while True:
        name = chance.choice(_NAME_FIRST_PARTS) + chance.choice(_NAME_SECOND_PARTS)
        if name in seen:
            name += str(len(seen))
        seen.add(name)
        yield name


def _compute_sizes(seed: int, pages: int, roles: list[str]) -> list[int]:
    """Return the number of pages of each host, in the order of `roles`. The sum is `pages`."""
    chance = random.Random(hash_numbers(seed, 12))
    keys = [low + (high - low) * chance.random() for low, high in (_SIZE_RANKS[role] for role in roles)]
    ranked = sorted(range(len(roles)), key=keys.__getitem__)
    weights = [rank**-_SIZE_EXPONENT for rank in range(1, len(roles) + 1)]
    spare = pages - _MIN_HOST_PAGES * len(roles)
    scale = spare / sum(weights)
    sizes = [0] * len(roles)
    for weight, host in zip(weights, ranked, strict=True):
        sizes[host] = _MIN_HOST_PAGES + int(weight * scale)
    sizes[ranked[0]] += pages - sum(sizes)
    return sizes


def _build_name(kind: HostKind, subject: int, neutral_name: str, chance: random.Random) -> str:
    """Return a host name. Most names of specialists contain a word of their topic."""
    if kind == "specialist" and chance.random() < 0.7:
        stem = chance.choice(SUBJECTS[subject].words[:6]) + "-" + chance.choice(_NAME_ENDINGS)
    else:
        stem = neutral_name
    front = "blog." if kind == "blog" else "www." if chance.random() < 0.7 else ""
    return f"{front}{stem}.example"


def _assign_roles(kinds: list[HostKind]) -> list[tuple[int, str]]:
    """Return the subject and the role of each host."""
    specialities = cycle(_list_specialist_roles())
    themes = cycle(range(len(TOPICS), len(SUBJECTS)))
    return [next(specialities) if kind == "specialist" else (next(themes), str(kind)) for kind in kinds]


def generate_hosts(seed: int, pages: int, count: int) -> list[SampleHost]:
    """Return the hosts of a web: `count` hosts that share its pages, then the faulty hosts.

    >>> web = generate_hosts(1, 3000, 60)
    >>> sum(host.page_count for host in web if not host.fault), len(web), len({host.name for host in web})
    (3000, 64, 64)
    """
    chance = random.Random(hash_numbers(seed, 13))
    neutral_names = _generate_names(seed)
    faulty = [fault for _ in range(max(1, count // 60)) for fault in _FAULTS]
    kinds: list[HostKind] = [_KINDS[index % len(_KINDS)] for index in range(count)]
    kinds += ["specialist" for _ in faulty]
    roles = _assign_roles(kinds)
    sizes = _compute_sizes(seed, pages, [role for _, role in roles[:count]]) + [_FAULTY_HOST_PAGES for _ in faulty]
    generated: list[SampleHost] = []
    names: set[str] = set()
    first = 0
    for index, (kind, (subject, role), size) in enumerate(zip(kinds, roles, sizes, strict=True)):
        name = _build_name(kind, subject, next(neutral_names), chance)
        if name.removeprefix("www.") in names:
            name = name.replace(".example", f"{index}.example")
        names.add(name.removeprefix("www."))
        fault = faulty[index - count] if index >= count else ""
        host = SampleHost(index, name, kind, subject, first, size, role == "island" and not fault, fault=fault)
        generated.append(_add_behaviour(host, chance))
        first += size
    return generated


def _add_behaviour(host: SampleHost, chance: random.Random) -> SampleHost:
    """Return the host with its layout, URL style, delays, calendar and mirror."""
    position = host.index % 60
    layout, addresses = int(chance.random() * 4), int(chance.random() * 5)
    mirror = "mirror." + host.name.removeprefix("www.") if position == 9 and not host.fault else ""
    return replace(
        host,
        layout=layout,
        addresses=addresses,
        charset="iso-8859-1" if layout == 1 else "utf-8",
        # Slow enough to be noticeable, fast enough for a demo.
        delay=0.1 + 0.2 * chance.random() if position % 20 == 6 else 0.0,
        crawl_delay=1.0 if position == 13 else 0.0,
        calendar=position == 4,
        mirror=mirror,
    )
