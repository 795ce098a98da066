"""Where the pages of the made-up web link to, and with which words.

Pages on a topic link to their like more often than chance would have it, but not always; menus, footers and
side bars link everywhere; some anchors say nothing; some links are dead, redirect, or lead to a copy.
Islands, whole sites on a topic, can only be reached by way of two or three off-topic pages.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

from topicrawl.lab.sample_hosts import SUBJECTS, Host
from topicrawl.lab.sample_plan import Plan, Planned
from topicrawl.lab.sample_prose import Chance, mixed
from topicrawl.lab.sample_topics import TOPICS
from topicrawl.lab.sample_words import THEMES

#: Of the links that leave the site of a topical page: to the same topic, to a neighbour, to any topic;
#: the rest lead to themes.
_SAME, _NEAR, _ANY = 0.42, 0.14, 0.08
#: Of those that leave an everyday page's site.
_THEME_TO_TOPIC = 0.05
_CHAINS = 2  # ways to each island
_EMPTY_ANCHORS = ("click here", "more", "read more", "this page", "here", "link", "details", "continue")
_NEAR_SUBJECTS = tuple(
    tuple(index for index, topic in enumerate(TOPICS) if topic.name in subject.near) for subject in SUBJECTS
)


class Anchor(NamedTuple):
    """A link as a page shows it."""

    href: str
    text: str
    lead: str = ""  # words before the link, when it stands in a sentence


class Outlinks(NamedTuple):
    """The links of a page, by where they stand on it."""

    menu: tuple[Anchor, ...]
    inline: list[Anchor]
    listed: list[Anchor]
    aside: list[Anchor]
    footer: tuple[Anchor, ...]


class Linker:
    """Links of every page, worked out on demand. `port` goes into every absolute URL, unless it is 0."""

    def __init__(self, plan: Plan, port: int = 0) -> None:
        self.plan = plan
        self._suffix = f":{port}" if port else ""
        self.bridges = _bridges(plan)
        self.menu = lru_cache(maxsize=1024)(self._menu)
        self.footer = lru_cache(maxsize=1024)(self._footer)

    def root(self, name: str) -> str:
        """The URL of a host without the closing slash."""
        return f"http://{name}{self._suffix}"

    def outlinks(self, page: Planned) -> Outlinks:
        """All links of a page."""
        chance = random.Random(mixed(self.plan.seed, 31, page.number)).random
        inline: list[Anchor] = []
        listed: list[Anchor] = []
        if page.kind == "article":
            inline = [self._outward(page, chance) for _ in range(1 + int(chance() * 5))]
            listed = self._siblings(page, chance)
        elif page.kind == "hub":
            listed = [self._outward(page, chance, keen=0.8) for _ in range(12 + int(chance() * 20))]
        elif page.kind == "index":
            listed = self._contents(page, chance)
            inline = [self._outward(page, chance) for _ in range(int(chance() * 3))]
        elif page.kind == "home":
            listed = self._front(page, chance)
            inline = self._friends(page, chance)
        for number in self.bridges.get(page.number, ()):
            inline.append(self._anchor(page, self.plan.page(number), chance, plain=True))
        aside = self._aside(page, chance) if page.kind in ("article", "index") else []
        return Outlinks(self.menu(page.host.index), inline, listed, aside, self.footer(page.host.index))

    def _outward(self, page: Planned, chance: Chance, keen: float = _SAME) -> Anchor:
        """A link that may lead anywhere, preferably to something alike."""
        subject = page.subjects[int(chance() * len(page.subjects))]
        return self._anchor(page, self.plan.page(self.plan.pick(_drawn(subject, keen, chance), chance)), chance)

    def _siblings(self, page: Planned, chance: Chance) -> list[Anchor]:
        """The next page of the section, and some others from it."""
        section, plan = page.section, self.plan
        at = page.number - section.first
        numbers = [section.first + (at + 1) % section.size]
        numbers += [section.first + int(section.size * chance() ** 1.5) for _ in range(int(chance() * 4))]
        return [
            self._anchor(page, plan.page(number), chance) for number in dict.fromkeys(numbers) if number != page.number
        ]

    def _contents(self, page: Planned, chance: Chance) -> list[Anchor]:
        """What the index of a section lists: the first pages and a few of the others."""
        first, size = page.section.first, page.section.size
        numbers = list(range(first + 1, first + min(size, 8)))
        numbers += [first + int(size * chance()) for _ in range(3)]
        return [
            self._anchor(page, self.plan.page(number), chance, plain=True)
            for number in dict.fromkeys(numbers)
            if number != first
        ]

    def _front(self, page: Planned, chance: Chance) -> list[Anchor]:
        """What a home page shows of its sections."""
        found: list[Anchor] = []
        for section in self.plan.sections_of[page.host.index][1:25]:
            numbers = [section.first] + [section.first + int(section.size * chance()) for _ in range(2)]
            found += [self._anchor(page, self.plan.page(n), chance, plain=True) for n in dict.fromkeys(numbers)]
        return found

    def _friends(self, page: Planned, chance: Chance) -> list[Anchor]:
        """Other sites that a home page recommends; portals know many."""
        plan, hosts = self.plan, self.plan.hosts
        following = hosts[(page.host.index + 1) % len(hosts)]
        friends = [] if following.island else [following]
        for _ in range(14 if page.host.kind == "portal" else 2):
            host = hosts[int(chance() * len(hosts))]
            if not host.island and host is not page.host:
                friends.append(host)
        found = [self._anchor(page, plan.page(host.first), chance, plain=True) for host in dict.fromkeys(friends)]
        return found + [self._outward(page, chance) for _ in range(2)]

    def _aside(self, page: Planned, chance: Chance) -> list[Anchor]:
        """A side bar: what is popular here, and something from elsewhere."""
        host, plan = page.host, self.plan
        numbers = [host.first + int(host.size * chance() ** 3) for _ in range(1 + int(chance() * 3))]
        found = []
        for number in dict.fromkeys(numbers):
            target = plan.page(number)
            mark = "&amp;" if "?" in target.path else "?"
            path = f"{target.path}{mark}ref=side" if chance() < 0.1 else target.path
            found.append(Anchor(path, target.title))
        if chance() < 0.25:
            found.append(
                self._anchor(page, plan.page(plan.pick(len(TOPICS) + int(chance() * len(THEMES)), chance)), chance)
            )
        if chance() < 0.06 and (hub := plan.pick_hub(page.subjects[0], chance)) is not None:
            found.append(self._anchor(page, plan.page(hub), chance, plain=True))
        return found

    def _menu(self, host_index: int) -> tuple[Anchor, ...]:
        """The menu that every page of a host shows."""
        host = self.plan.hosts[host_index]
        found = [Anchor("/", "Home")]
        for section in self.plan.sections_of[host_index][1:8]:
            found.append(Anchor(f"/{section.slug}/", section.slug.replace("-", " ").capitalize()))
        if host.calendar:
            found.append(Anchor("/calendar/2024/05/", "Calendar"))
        return (*found, Anchor("/about.html", "About"))

    def _footer(self, host_index: int) -> tuple[Anchor, ...]:
        """The small print of a host, and whom it thanks on every page."""
        chance = random.Random(mixed(self.plan.seed, 32, host_index)).random
        hosts = self.plan.hosts
        found = [Anchor("/contact.html", "Contact"), Anchor("/privacy.html", "Privacy")]
        if host_index % 10 == 3:
            found.append(Anchor("/members/", "Members only"))
        for _ in range(1 + int(chance() * 2)):
            # The cube makes a few hosts the sponsors of everybody.
            host = hosts[int(len(hosts) * chance() ** 3)]
            if not host.island:
                found.append(Anchor(self.root(host.bare or host.name) + "/", self.plan.page(host.first).title))
        if hosts[host_index].mirror:
            found.append(Anchor(self.root(hosts[host_index].mirror) + "/", "Mirror"))
        return tuple(found)

    def _anchor(self, page: Planned, target: Planned, chance: Chance, *, plain: bool = False) -> Anchor:
        """A link from one page to another. A plain one always names its target and goes straight to it."""
        text, lead = target.title, ""
        draw = 0.0 if plain else chance()
        if draw > 0.8:
            text = _EMPTY_ANCHORS[int(chance() * len(_EMPTY_ANCHORS))]
            lead = target.title if draw < 0.9 else ""
        elif draw > 0.68:
            text = " ".join(text.split()[:2])
        elif draw > 0.6:
            text = target.host.name
        return Anchor(self._href(page.host, target, 1.0 if plain else chance(), chance), text, lead)

    def _href(self, source: Host, target: Planned, draw: float, chance: Chance) -> str:
        """The address as the page writes it: sometimes an old one, one that counts clicks, or a dead one."""
        host = target.host
        root = "" if host is source else self.root(host.name)
        if draw < 0.03:
            return f"{root}/old/{int(chance() * 9000)}/gone.html"
        if draw < 0.09 and target.number != host.first:
            return f"{root}/p/{target.number - host.first}"
        if draw < 0.4 and root and source.kind in ("portal", "directory"):
            return f"/out/{target.number}"
        return root + target.path


def _drawn(subject: int, keen: float, chance: Chance) -> int:
    """The subject of a link that leaves a page about `subject`."""
    draw, topics = chance(), len(TOPICS)
    if subject < topics:
        if draw < keen:
            return subject
        if draw < keen + _NEAR:
            return _NEAR_SUBJECTS[subject][int(chance() * len(_NEAR_SUBJECTS[subject]))]
        if draw < keen + _NEAR + _ANY:
            return int(chance() * topics)
    elif draw < _THEME_TO_TOPIC:
        return int(chance() * topics)
    elif draw < 0.3:
        return subject
    return topics + int(chance() * len(THEMES))


def _bridges(plan: Plan) -> dict[int, tuple[int, ...]]:
    """Links that make chains: a page on the topic → two or three off-topic pages → an island."""
    chance = random.Random(mixed(plan.seed, 33)).random
    links: dict[int, tuple[int, ...]] = {}
    for host in plan.hosts:
        if not host.island:
            continue
        for turn in range(_CHAINS):
            chain = [_ordinary(plan, host.subject, chance)]
            chain += [_ordinary(plan, len(TOPICS) + int(chance() * len(THEMES)), chance) for _ in range(2 + turn % 2)]
            for source, target in zip(chain, [*chain[1:], host.first], strict=True):
                links[source] = (*links.get(source, ()), target)
    return links


def _ordinary(plan: Plan, subject: int, chance: Chance) -> int:
    """An article about a subject, and nothing else, on a host that works."""
    while True:
        page = plan.page(plan.pick(subject, chance))
        fits = page.subjects == (subject,) if subject < len(TOPICS) else not page.topics
        if fits and page.kind == "article" and page.number < plan.pages:
            return page.number
