"""The plan of the made-up web: which page stands where and what it is about, computed from its number.

Only hosts and sections are kept; a page is worked out when it is asked for, so a web of 300,000 pages needs
little memory. Pages are numbered host by host and section by section; the first four of a host are its front.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from topicrawl.lab.sample_hosts import SUBJECTS, Host, hosts
from topicrawl.lab.sample_prose import Chance, Lexicon, mixed, title
from topicrawl.lab.sample_topics import TOPICS
from topicrawl.lab.sample_words import THEMES, listed

SectionKind = Literal["front", "articles", "mixed", "hubs"]
PageKind = Literal["home", "about", "contact", "privacy", "index", "article", "hub"]

LEXICONS = tuple(Lexicon(subject) for subject in SUBJECTS)

_FRONT: tuple[PageKind, ...] = ("home", "about", "contact", "privacy")
_FRONT_PATHS = ("/", "/about.html", "/contact.html", "/privacy.html")
_PLAIN_SECTIONS = listed(
    """features, library, reports, stories, archive, readers, notes, papers, gallery, topics, series,
    letters"""
)

#: Shares of pages that break with their section: a topical section has strays, an everyday one has finds.
_STRAYS, _FINDS, _SECOND_TOPICS = 0.15, 0.10, 0.10
_CACHED_PAGES = 1 << 15
_PLAIN = str.maketrans("áãéó:,.-", "aaeo    ")


@dataclass(frozen=True, slots=True)
class Section:
    """A run of pages on one host; the first one is its index."""

    index: int
    host: int
    kind: SectionKind
    subject: int
    first: int
    size: int
    slug: str


@dataclass(frozen=True, slots=True)
class Planned:
    """What is known of a page before it is written."""

    number: int
    host: Host
    section: Section
    kind: PageKind
    subjects: tuple[int, ...]  # the first is the main one
    title: str
    path: str  # with the query, from the slash on

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics the page is truly about. Link lists and the small print are about nothing."""
        if self.kind not in ("home", "index", "article"):
            return ()
        return tuple(TOPICS[subject].name for subject in self.subjects if subject < len(TOPICS))


def slug(text: str, words: int = 5) -> str:
    """A title as it stands in a URL.

    >>> slug("Why rook endgames: São Bento")
    'why-rook-endgames-sao-bento'
    """
    return "-".join(text.lower().translate(_PLAIN).split()[:words])


class Plan:
    """Hosts, sections, and the page behind every number and path."""

    def __init__(self, seed: int, pages: int, count: int) -> None:
        self.seed = seed
        self.pages = pages  # numbers from here on belong to hosts that never give a page
        self.hosts = hosts(seed, pages, count)
        self.numbers = self.hosts[-1].first + self.hosts[-1].size
        self.sections = _sections(seed, self.hosts)
        self._starts = [section.first for section in self.sections]
        by_host: dict[int, list[Section]] = defaultdict(list)
        for section in self.sections:
            by_host[section.host].append(section)
        self.sections_of = [tuple(by_host[host.index]) for host in self.hosts]
        self._pools = _pools(self.hosts, self.sections)
        self._hubs: dict[int, list[Section]] = defaultdict(list)
        for section in self.sections:
            if section.kind == "hubs":
                self._hubs[section.subject].append(section)
        self.page = lru_cache(maxsize=_CACHED_PAGES)(self._page)

    def _page(self, number: int) -> Planned:
        """The page with this number."""
        section = self.sections[bisect_right(self._starts, number) - 1]
        host = self.hosts[section.host]
        at = number - section.first
        chance = mixed(self.seed, 1, number)
        if section.kind == "front":
            name = _host_title(host)
            return Planned(
                number,
                host,
                section,
                _FRONT[at],
                (host.subject,),
                name if at == 0 else f"{_FRONT[at].capitalize()} - {name}",
                _FRONT_PATHS[at],
            )
        subjects = self._subjects(section, at, chance)
        kind: PageKind = "index" if at == 0 else "article"
        if section.kind == "hubs":
            kind = "hub"
        text = title(LEXICONS[subjects[0]], mixed(chance, 2))
        if kind == "hub":
            text = f"Links: {SUBJECTS[subjects[0]].name}" + (f", page {at + 1}" if at else "")
        elif at == 0:
            text = section.slug.replace("-", " ").capitalize()
        return Planned(number, host, section, kind, subjects, text, _path(host, section, number, text))

    def _subjects(self, section: Section, at: int, chance: int) -> tuple[int, ...]:
        if at == 0 or section.kind == "hubs":
            return (section.subject,)
        draw, rest = chance % 1000 / 1000, chance // 1000
        topics = len(TOPICS)
        if section.kind == "mixed":
            # A diary: each entry is about what its writer likes that day.
            return (rest % len(SUBJECTS) if draw < 0.5 else section.subject,)
        if section.subject >= topics:
            return (rest % topics,) if draw < _FINDS else (section.subject,)
        if draw < _STRAYS:
            return (topics + rest % len(THEMES),)
        if draw < _STRAYS + _SECOND_TOPICS:
            other = rest % topics
            return (section.subject, other) if other != section.subject else (section.subject,)
        return (section.subject,)

    def number_at(self, host: Host, path: str) -> int | None:
        """The number of the page at a path of a host, or None when there is none."""
        if path in _FRONT_PATHS:
            return host.first + _FRONT_PATHS.index(path)
        for section in self.sections_of[host.index][1:]:
            if path == f"/{section.slug}/":
                return section.first
        digits = _last_number(path)
        if not digits or not 0 < int(digits) < host.size:
            return None
        number = host.first + int(digits)
        return number if self.page(number).path == path else None

    def pick(self, subject: int, chance: Chance) -> int:
        """A page about a subject that others like to link to: mostly an early page of a large section."""
        sections, weights = self._pools[subject]
        section = sections[bisect_right(weights, chance() * weights[-1])]
        draw = chance()
        if draw < 0.12:
            return section.first
        if draw < 0.22:
            return self.hosts[section.host].first
        return section.first + int(section.size * chance() ** 2)

    def pick_hub(self, subject: int, chance: Chance) -> int | None:
        """A list of links about a subject, if anybody keeps one."""
        hubs = self._hubs.get(subject)
        if not hubs:
            return None
        section = hubs[int(chance() * len(hubs))]
        return section.first + int(chance() * section.size)


def _last_number(path: str) -> str:
    """The last run of digits of a path, at most nine long."""
    end = len(path)
    while end and not path[end - 1].isdecimal():
        end -= 1
    start = end
    while start and path[start - 1].isdecimal() and end - start < 9:
        start -= 1
    return path[start:end]


def _path(host: Host, section: Section, number: int, text: str) -> str:
    """Where a page stands, in the manner of its host."""
    if number == section.first:
        return f"/{section.slug}/"
    local = number - host.first
    if host.addresses == 0:
        return f"/{section.slug}/{slug(text)}-{local}.html"
    if host.addresses == 1:
        return f"/{section.slug}/{slug(text, 4)}/{local}"
    if host.addresses == 2:
        return f"/archive/{2003 + local % 20}/{1 + local % 12:02}/{slug(text, 3)}_{local}.htm"
    if host.addresses == 3:
        return f"/article.php?id={local}"
    return f"/{section.slug}/page{local}.html"


def _host_title(host: Host) -> str:
    words = host.name.removesuffix(".example").removeprefix("www.").replace("-", " ").replace(".", " ")
    return words.title()


def _sections(seed: int, web: list[Host]) -> list[Section]:
    """The sections of all hosts, in the order of their pages."""
    made: list[Section] = []
    for host in web:
        chance = random.Random(mixed(seed, 21, host.index))
        made.append(Section(len(made), host.index, "front", host.subject, host.first, 4, ""))
        at, end = host.first + 4, host.first + host.size
        usual = max(5.0, min(60.0, 1.7 * (host.size - 4) ** 0.5))
        used: set[str] = set()
        while at < end:
            size = min(end - at, max(4, int(usual * (0.6 + 0.8 * chance.random()))))
            if host.kind == "directory":
                size = 2
            if end - at - size < size // 2:
                size = end - at
            subject = _section_subject(host, len(used), chance)
            used.add(name := _section_name(subject, used, chance))
            kind: SectionKind = {"blog": "mixed", "directory": "hubs"}.get(host.kind, "articles")  # type: ignore[assignment]
            made.append(Section(len(made), host.index, kind, subject, at, size, name))
            at += size
    return made


def _section_subject(host: Host, turn: int, chance: random.Random) -> int:
    topics, draw = len(TOPICS), chance.random()
    if host.kind == "specialist" and (turn == 0 or draw < 0.82):
        return host.subject
    if host.kind == "specialist" and draw < 0.9:
        near = [index for index, topic in enumerate(TOPICS) if topic.name in SUBJECTS[host.subject].near]
        return chance.choice(near)
    if host.kind == "directory":
        return (host.index // 4 + turn) % len(SUBJECTS)
    if host.kind == "trade":
        return host.subject
    if host.kind == "portal":
        return topics + turn % len(THEMES)
    if host.kind == "magazine" and draw < 0.6:
        return int(chance.random() * topics)
    return topics + int(chance.random() * len(THEMES))


def _section_name(subject: int, used: set[str], chance: random.Random) -> str:
    """A name that the host has not used yet; every third says nothing."""
    for _ in range(9):
        plain = chance.random() < 0.35
        name = slug(chance.choice(_PLAIN_SECTIONS if plain else SUBJECTS[subject].things))
        if name not in used:
            return name
    # No digits here: the last number of a path is a page's.
    return name + "-more" * (1 + sum(other.startswith(f"{name}-more") for other in used))


def _pools(web: list[Host], sections: list[Section]) -> list[tuple[list[Section], list[float]]]:
    """For each subject the sections that anybody may link to, with summed weights."""
    pools: list[tuple[list[Section], list[float]]] = []
    known = [section for section in sections if section.kind == "articles" and not web[section.host].island]
    for subject in range(len(SUBJECTS)):
        # A small web may have nothing on a theme: then anything will do.
        chosen = [section for section in known if section.subject == subject] or known
        # Squared chance makes some sections far better known than others of their size.
        fame = [section.size * (0.15 + (mixed(section.first, 5) % 1000 / 1000) ** 2) for section in chosen]
        pools.append((chosen, list(accumulate(fame))))
    return pools
