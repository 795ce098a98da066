"""Structure of the sample web: the host, section, subject, title and path of each page, computed from its number.

Only hosts and sections are stored. Pages are computed on demand, so that a web of 300,000 pages needs little memory.
Pages are numbered host by host and section by section. The first four pages of a host are its front section: home,
about, contact and privacy.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from topicrawl.sample_web.hosts import SUBJECTS, SampleHost, generate_hosts
from topicrawl.sample_web.prose import ProseTemplates, RandomFunction, hash_numbers, make_title
from topicrawl.sample_web.topics import TOPICS
from topicrawl.sample_web.vocabulary import THEMES, split_entries

SectionKind = Literal["front", "articles", "mixed", "hubs"]
PageKind = Literal["home", "about", "contact", "privacy", "index", "article", "hub"]

TEMPLATES = tuple(ProseTemplates(subject) for subject in SUBJECTS)

_FRONT_PAGES: tuple[PageKind, ...] = ("home", "about", "contact", "privacy")
_FRONT_PATHS = ("/", "/about.html", "/contact.html", "/privacy.html")
_NEUTRAL_SECTIONS = split_entries(
    """features, library, reports, stories, archive, readers, notes, papers, gallery, topics, series,
    letters"""
)

#: Shares of pages that differ from the subject of their section: theme pages in topical sections, topical pages in
#: theme sections, and pages with a second topic.
_STRAY_SHARE, _TOPICAL_SHARE, _SECOND_TOPIC_SHARE = 0.15, 0.10, 0.10
_CACHED_PAGES = 1 << 15
_ASCII_TABLE = str.maketrans("áãéó:,.-", "aaeo    ")


@dataclass(frozen=True, slots=True)
class SiteSection:
    """Consecutive pages of one host. The first page is the index of the section."""

    index: int
    host: int
    kind: SectionKind
    subject: int
    first_page: int
    page_count: int
    slug: str


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """Metadata of a page, before its HTML is generated."""

    number: int
    host: SampleHost
    section: SiteSection
    kind: PageKind
    subjects: tuple[int, ...]  # the first is the main subject
    title: str
    path: str  # with the leading slash and the query

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of the page. Link lists and legal pages have none."""
        if self.kind not in ("home", "index", "article"):
            return ()
        return tuple(TOPICS[subject].name for subject in self.subjects if subject < len(TOPICS))


def slugify(text: str, words: int = 5) -> str:
    """Convert a title to its form in a URL.

    >>> slugify("Why rook endgames: São Bento")
    'why-rook-endgames-sao-bento'
    """
    return "-".join(text.lower().translate(_ASCII_TABLE).split()[:words])


class WebPlan:
    """Hosts and sections of the sample web, with lookup of pages by number and path."""

    def __init__(self, seed: int, pages: int, count: int) -> None:
        self.seed = seed
        self.pages = pages  # numbers from here on belong to faulty hosts
        self.hosts = generate_hosts(seed, pages, count)
        self.total_pages = self.hosts[-1].first_page + self.hosts[-1].page_count
        self.sections = _build_sections(seed, self.hosts)
        self._starts = [section.first_page for section in self.sections]
        by_host: dict[int, list[SiteSection]] = defaultdict(list)
        for section in self.sections:
            by_host[section.host].append(section)
        self.sections_by_host = [tuple(by_host[host.index]) for host in self.hosts]
        self._pools = _build_pools(self.hosts, self.sections)
        self._hub_sections: dict[int, list[SiteSection]] = defaultdict(list)
        for section in self.sections:
            if section.kind == "hubs":
                self._hub_sections[section.subject].append(section)
        self.get_page = lru_cache(maxsize=_CACHED_PAGES)(self._compute_page)

    def _compute_page(self, number: int) -> PlannedPage:
        """Compute the page with this number."""
        section = self.sections[bisect_right(self._starts, number) - 1]
        host = self.hosts[section.host]
        position = number - section.first_page
        draw = hash_numbers(self.seed, 1, number)
        if section.kind == "front":
            name = _format_host_title(host)
            return PlannedPage(
                number,
                host,
                section,
                _FRONT_PAGES[position],
                (host.subject,),
                name if position == 0 else f"{_FRONT_PAGES[position].capitalize()} - {name}",
                _FRONT_PATHS[position],
            )
        subjects = self._pick_subjects(section, position, draw)
        kind: PageKind = "index" if position == 0 else "article"
        if section.kind == "hubs":
            kind = "hub"
        page_title = make_title(TEMPLATES[subjects[0]], hash_numbers(draw, 2))
        if kind == "hub":
            page_title = f"Links: {SUBJECTS[subjects[0]].name}" + (f", page {position + 1}" if position else "")
        elif position == 0:
            page_title = section.slug.replace("-", " ").capitalize()
        return PlannedPage(
            number, host, section, kind, subjects, page_title, _build_path(host, section, number, page_title)
        )

    def _pick_subjects(self, section: SiteSection, position: int, number: int) -> tuple[int, ...]:
        if position == 0 or section.kind == "hubs":
            return (section.subject,)
        draw, rest = number % 1000 / 1000, number // 1000
        topics = len(TOPICS)
        if section.kind == "mixed":
            # Blog: each entry has its own subject.
            return (rest % len(SUBJECTS) if draw < 0.5 else section.subject,)
        if section.subject >= topics:
            return (rest % topics,) if draw < _TOPICAL_SHARE else (section.subject,)
        if draw < _STRAY_SHARE:
            return (topics + rest % len(THEMES),)
        if draw < _STRAY_SHARE + _SECOND_TOPIC_SHARE:
            other = rest % topics
            return (section.subject, other) if other != section.subject else (section.subject,)
        return (section.subject,)

    def find_page_number(self, host: SampleHost, path: str) -> int | None:
        """Return the number of the page at a path of a host, or None if there is no such page."""
        if path in _FRONT_PATHS:
            return host.first_page + _FRONT_PATHS.index(path)
        for section in self.sections_by_host[host.index][1:]:
            if path == f"/{section.slug}/":
                return section.first_page
        digits = _find_last_digits(path)
        if not digits or not 0 < int(digits) < host.page_count:
            return None
        number = host.first_page + int(digits)
        return number if self.get_page(number).path == path else None

    def pick_page(self, subject: int, chance: RandomFunction) -> int:
        """Pick a popular page about a subject: mostly an early page of a large section."""
        sections, weights = self._pools[subject]
        section = sections[bisect_right(weights, chance() * weights[-1])]
        draw = chance()
        if draw < 0.12:
            return section.first_page
        if draw < 0.22:
            return self.hosts[section.host].first_page
        return section.first_page + int(section.page_count * chance() ** 2)

    def pick_hub(self, subject: int, chance: RandomFunction) -> int | None:
        """Pick a link list about a subject, or None if there is none."""
        hubs = self._hub_sections.get(subject)
        if not hubs:
            return None
        section = hubs[int(chance() * len(hubs))]
        return section.first_page + int(chance() * section.page_count)


def _find_last_digits(path: str) -> str:
    """Return the last run of digits of a path, at most nine digits."""
    end = len(path)
    while end and not path[end - 1].isdecimal():
        end -= 1
    start = end
    while start and path[start - 1].isdecimal() and end - start < 9:
        start -= 1
    return path[start:end]


def _build_path(host: SampleHost, section: SiteSection, number: int, text: str) -> str:
    """Return the path of a page in the URL style of its host."""
    if number == section.first_page:
        return f"/{section.slug}/"
    local = number - host.first_page
    if host.addresses == 0:
        return f"/{section.slug}/{slugify(text)}-{local}.html"
    if host.addresses == 1:
        return f"/{section.slug}/{slugify(text, 4)}/{local}"
    if host.addresses == 2:
        return f"/archive/{2003 + local % 20}/{1 + local % 12:02}/{slugify(text, 3)}_{local}.htm"
    if host.addresses == 3:
        return f"/article.php?id={local}"
    return f"/{section.slug}/page{local}.html"


def _format_host_title(host: SampleHost) -> str:
    words = host.name.removesuffix(".example").removeprefix("www.").replace("-", " ").replace(".", " ")
    return words.title()


def _build_sections(seed: int, web: list[SampleHost]) -> list[SiteSection]:
    """Return the sections of all hosts, in page order."""
    sections: list[SiteSection] = []
    for host in web:
        chance = random.Random(hash_numbers(seed, 21, host.index))
        sections.append(SiteSection(len(sections), host.index, "front", host.subject, host.first_page, 4, ""))
        next_page, end = host.first_page + 4, host.first_page + host.page_count
        typical_size = max(5.0, min(60.0, 1.7 * (host.page_count - 4) ** 0.5))
        used_names: set[str] = set()
        while next_page < end:
            size = min(end - next_page, max(4, int(typical_size * (0.6 + 0.8 * chance.random()))))
            if host.kind == "directory":
                size = 2
            if end - next_page - size < size // 2:
                size = end - next_page
            subject = _pick_section_subject(host, len(used_names), chance)
            used_names.add(name := _pick_section_name(subject, used_names, chance))
            kind: SectionKind = {"blog": "mixed", "directory": "hubs"}.get(host.kind, "articles")  # type: ignore[assignment]
            sections.append(SiteSection(len(sections), host.index, kind, subject, next_page, size, name))
            next_page += size
    return sections


def _pick_section_subject(host: SampleHost, position: int, chance: random.Random) -> int:
    topics, draw = len(TOPICS), chance.random()
    if host.kind == "specialist" and (position == 0 or draw < 0.82):
        return host.subject
    if host.kind == "specialist" and draw < 0.9:
        near = [index for index, topic in enumerate(TOPICS) if topic.name in SUBJECTS[host.subject].related_topics]
        return chance.choice(near)
    if host.kind == "directory":
        return (host.index // 4 + position) % len(SUBJECTS)
    if host.kind == "trade":
        return host.subject
    if host.kind == "portal":
        return topics + position % len(THEMES)
    if host.kind == "magazine" and draw < 0.6:
        return int(chance.random() * topics)
    return topics + int(chance.random() * len(THEMES))


def _pick_section_name(subject: int, used_names: set[str], chance: random.Random) -> str:
    """Return a section name that the host has not used yet. About a third of the names are unrelated to the subject."""
    for _ in range(9):
        plain = chance.random() < 0.35
        name = slugify(chance.choice(_NEUTRAL_SECTIONS if plain else SUBJECTS[subject].nouns))
        if name not in used_names:
            return name
    # The suffix must contain no digits, because the last number of a path is the page number.
    return name + "-more" * (1 + sum(other.startswith(f"{name}-more") for other in used_names))


def _build_pools(web: list[SampleHost], sections: list[SiteSection]) -> list[tuple[list[SiteSection], list[float]]]:
    """Return for each subject the sections that outward links may lead to, with cumulative weights."""
    pools: list[tuple[list[SiteSection], list[float]]] = []
    eligible = [section for section in sections if section.kind == "articles" and not web[section.host].island]
    for subject in range(len(SUBJECTS)):
        # A small web may have no section on a theme; then all sections are eligible.
        chosen = [section for section in eligible if section.subject == subject] or eligible
        # The square makes some sections far more popular than others of the same size.
        weights = [
            section.page_count * (0.15 + (hash_numbers(section.first_page, 5) % 1000 / 1000) ** 2) for section in chosen
        ]
        pools.append((chosen, list(accumulate(weights))))
    return pools
