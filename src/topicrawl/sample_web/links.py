"""Links of the pages of the sample web and their anchor texts.

Pages on a topic link to pages on the same topic more often than by chance (topical locality). Menus, footers and side
bars link to any subject. Some anchor texts are uninformative, and some links are dead, redirect or lead to a duplicate.
Islands are whole sites on a topic that can be reached only through two or three off-topic pages.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

from topicrawl.sample_web.hosts import SUBJECTS, SampleHost
from topicrawl.sample_web.plan import PlannedPage, WebPlan
from topicrawl.sample_web.prose import RandomFunction, hash_numbers
from topicrawl.sample_web.topics import TOPICS
from topicrawl.sample_web.vocabulary import THEMES

#: Shares of the outward links of a topical page: to the same topic, to a related topic, to any topic.
#: The other links lead to themes.
_SAME_TOPIC_SHARE, _RELATED_TOPIC_SHARE, _ANY_TOPIC_SHARE = 0.42, 0.14, 0.08
#: Share of the outward links of a page on a theme that lead to a topic.
_THEME_TO_TOPIC_SHARE = 0.05
_CHAINS_PER_ISLAND = 2  # paths to each island
_UNINFORMATIVE_ANCHORS = ("click here", "more", "read more", "this page", "here", "link", "details", "continue")
_RELATED_SUBJECTS = tuple(
    tuple(index for index, topic in enumerate(TOPICS) if topic.name in subject.related_topics) for subject in SUBJECTS
)


class SampleLink(NamedTuple):
    """A link as it appears on a page."""

    href: str
    text: str
    lead: str = ""  # words before the link, if it is part of a sentence


class SampleOutlinks(NamedTuple):
    """Links of a page by their position on it."""

    menu: tuple[SampleLink, ...]
    inline: list[SampleLink]
    listing: list[SampleLink]
    aside: list[SampleLink]
    footer: tuple[SampleLink, ...]


class LinkGenerator:
    """Generator of the links of every page, computed on demand.

    `port` is part of every absolute URL unless it is 0.
    """

    def __init__(self, plan: WebPlan, port: int = 0) -> None:
        self.plan = plan
        self._suffix = f":{port}" if port else ""
        self.bridges = _build_bridges(plan)
        self.get_menu = lru_cache(maxsize=1024)(self._build_menu)
        self.get_footer = lru_cache(maxsize=1024)(self._build_footer)

    def host_url(self, name: str) -> str:
        """Return the URL of a host without the trailing slash."""
        return f"http://{name}{self._suffix}"

    def generate_links(self, page: PlannedPage) -> SampleOutlinks:
        """Return all links of a page."""
        chance = random.Random(hash_numbers(self.plan.seed, 31, page.number)).random
        inline: list[SampleLink] = []
        listed: list[SampleLink] = []
        if page.kind == "article":
            inline = [self._build_outward_link(page, chance) for _ in range(1 + int(chance() * 5))]
            listed = self._build_sibling_links(page, chance)
        elif page.kind == "hub":
            listed = [
                self._build_outward_link(page, chance, same_topic_share=0.8) for _ in range(12 + int(chance() * 20))
            ]
        elif page.kind == "index":
            listed = self._build_index_links(page, chance)
            inline = [self._build_outward_link(page, chance) for _ in range(int(chance() * 3))]
        elif page.kind == "home":
            listed = self._build_section_links(page, chance)
            inline = self._build_recommended_links(page, chance)
        for number in self.bridges.get(page.number, ()):
            inline.append(self._build_link(page, self.plan.get_page(number), chance, plain=True))
        aside = self._build_sidebar_links(page, chance) if page.kind in ("article", "index") else []
        return SampleOutlinks(self.get_menu(page.host.index), inline, listed, aside, self.get_footer(page.host.index))

    def _build_outward_link(
        self, page: PlannedPage, chance: RandomFunction, same_topic_share: float = _SAME_TOPIC_SHARE
    ) -> SampleLink:
        """Return a link to any site, preferably to a page on the same subject."""
        subject = page.subjects[int(chance() * len(page.subjects))]
        return self._build_link(
            page,
            self.plan.get_page(self.plan.pick_page(_draw_subject(subject, same_topic_share, chance), chance)),
            chance,
        )

    def _build_sibling_links(self, page: PlannedPage, chance: RandomFunction) -> list[SampleLink]:
        """Return links to the next page of the section and to some of its other pages."""
        section, plan = page.section, self.plan
        position = page.number - section.first_page
        numbers = [section.first_page + (position + 1) % section.page_count]
        numbers += [section.first_page + int(section.page_count * chance() ** 1.5) for _ in range(int(chance() * 4))]
        return [
            self._build_link(page, plan.get_page(number), chance)
            for number in dict.fromkeys(numbers)
            if number != page.number
        ]

    def _build_index_links(self, page: PlannedPage, chance: RandomFunction) -> list[SampleLink]:
        """Return the links of a section index: the first pages and a few of the others."""
        first, size = page.section.first_page, page.section.page_count
        numbers = list(range(first + 1, first + min(size, 8)))
        numbers += [first + int(size * chance()) for _ in range(3)]
        return [
            self._build_link(page, self.plan.get_page(number), chance, plain=True)
            for number in dict.fromkeys(numbers)
            if number != first
        ]

    def _build_section_links(self, page: PlannedPage, chance: RandomFunction) -> list[SampleLink]:
        """Return the links of a home page to its sections."""
        anchors: list[SampleLink] = []
        for section in self.plan.sections_by_host[page.host.index][1:25]:
            numbers = [section.first_page] + [section.first_page + int(section.page_count * chance()) for _ in range(2)]
            anchors += [
                self._build_link(page, self.plan.get_page(n), chance, plain=True) for n in dict.fromkeys(numbers)
            ]
        return anchors

    def _build_recommended_links(self, page: PlannedPage, chance: RandomFunction) -> list[SampleLink]:
        """Return the links of a home page to other sites. Portals have many."""
        plan, hosts = self.plan, self.plan.hosts
        following = hosts[(page.host.index + 1) % len(hosts)]
        friends = [] if following.island else [following]
        for _ in range(14 if page.host.kind == "portal" else 2):
            host = hosts[int(chance() * len(hosts))]
            if not host.island and host is not page.host:
                friends.append(host)
        anchors = [
            self._build_link(page, plan.get_page(host.first_page), chance, plain=True)
            for host in dict.fromkeys(friends)
        ]
        return anchors + [self._build_outward_link(page, chance) for _ in range(2)]

    def _build_sidebar_links(self, page: PlannedPage, chance: RandomFunction) -> list[SampleLink]:
        """Return the links of a side bar: popular pages of the host, sometimes a page or a hub of another site."""
        host, plan = page.host, self.plan
        numbers = [host.first_page + int(host.page_count * chance() ** 3) for _ in range(1 + int(chance() * 3))]
        anchors = []
        for number in dict.fromkeys(numbers):
            target = plan.get_page(number)
            mark = "&amp;" if "?" in target.path else "?"
            path = f"{target.path}{mark}ref=side" if chance() < 0.1 else target.path
            anchors.append(SampleLink(path, target.title))
        if chance() < 0.25:
            anchors.append(
                self._build_link(
                    page, plan.get_page(plan.pick_page(len(TOPICS) + int(chance() * len(THEMES)), chance)), chance
                )
            )
        if chance() < 0.06 and (hub := plan.pick_hub(page.subjects[0], chance)) is not None:
            anchors.append(self._build_link(page, plan.get_page(hub), chance, plain=True))
        return anchors

    def _build_menu(self, host_index: int) -> tuple[SampleLink, ...]:
        """Return the menu of a host, which is on all its pages."""
        host = self.plan.hosts[host_index]
        anchors = [SampleLink("/", "Home")]
        for section in self.plan.sections_by_host[host_index][1:8]:
            anchors.append(SampleLink(f"/{section.slug}/", section.slug.replace("-", " ").capitalize()))
        if host.calendar:
            anchors.append(SampleLink("/calendar/2024/05/", "Calendar"))
        return (*anchors, SampleLink("/about.html", "About"))

    def _build_footer(self, host_index: int) -> tuple[SampleLink, ...]:
        """Return the footer of a host, which is on all its pages: legal pages, sponsors and a mirror."""
        chance = random.Random(hash_numbers(self.plan.seed, 32, host_index)).random
        hosts = self.plan.hosts
        anchors = [SampleLink("/contact.html", "Contact"), SampleLink("/privacy.html", "Privacy")]
        if host_index % 10 == 3:
            anchors.append(SampleLink("/members/", "Members only"))
        for _ in range(1 + int(chance() * 2)):
            # The cube concentrates these links on a few hosts.
            host = hosts[int(len(hosts) * chance() ** 3)]
            if not host.island:
                anchors.append(
                    SampleLink(
                        self.host_url(host.bare_name or host.name) + "/", self.plan.get_page(host.first_page).title
                    )
                )
        if hosts[host_index].mirror:
            anchors.append(SampleLink(self.host_url(hosts[host_index].mirror) + "/", "Mirror"))
        return tuple(anchors)

    def _build_link(
        self, page: PlannedPage, target: PlannedPage, chance: RandomFunction, *, plain: bool = False
    ) -> SampleLink:
        """Return a link from one page to another.

        A plain link has the title of its target as anchor text and its direct URL. Other links may have a shortened or
        uninformative text and a dead or redirecting URL.
        """
        text, lead = target.title, ""
        draw = 0.0 if plain else chance()
        if draw > 0.8:
            text = _UNINFORMATIVE_ANCHORS[int(chance() * len(_UNINFORMATIVE_ANCHORS))]
            lead = target.title if draw < 0.9 else ""
        elif draw > 0.68:
            text = " ".join(text.split()[:2])
        elif draw > 0.6:
            text = target.host.name
        return SampleLink(self._build_href(page.host, target, 1.0 if plain else chance(), chance), text, lead)

    def _build_href(self, source: SampleHost, target: PlannedPage, draw: float, chance: RandomFunction) -> str:
        """Return the URL in a link: the direct URL, or sometimes an old URL, a click counter or a dead link."""
        host = target.host
        root = "" if host is source else self.host_url(host.name)
        if draw < 0.03:
            return f"{root}/old/{int(chance() * 9000)}/gone.html"
        if draw < 0.09 and target.number != host.first_page:
            return f"{root}/p/{target.number - host.first_page}"
        if draw < 0.4 and root and source.kind in ("portal", "directory"):
            return f"/out/{target.number}"
        return root + target.path


def _draw_subject(subject: int, same_topic_share: float, chance: RandomFunction) -> int:
    """Draw the subject of the target of an outward link from a page about `subject`."""
    draw, topics = chance(), len(TOPICS)
    if subject < topics:
        if draw < same_topic_share:
            return subject
        if draw < same_topic_share + _RELATED_TOPIC_SHARE:
            return _RELATED_SUBJECTS[subject][int(chance() * len(_RELATED_SUBJECTS[subject]))]
        if draw < same_topic_share + _RELATED_TOPIC_SHARE + _ANY_TOPIC_SHARE:
            return int(chance() * topics)
    elif draw < _THEME_TO_TOPIC_SHARE:
        return int(chance() * topics)
    elif draw < 0.3:
        return subject
    return topics + int(chance() * len(THEMES))


def _build_bridges(plan: WebPlan) -> dict[int, tuple[int, ...]]:
    """Return the links that form chains: a page on the topic → two or three off-topic pages → an island."""
    chance = random.Random(hash_numbers(plan.seed, 33)).random
    links: dict[int, tuple[int, ...]] = {}
    for host in plan.hosts:
        if not host.island:
            continue
        for turn in range(_CHAINS_PER_ISLAND):
            chain = [_pick_article(plan, host.subject, chance)]
            chain += [
                _pick_article(plan, len(TOPICS) + int(chance() * len(THEMES)), chance) for _ in range(2 + turn % 2)
            ]
            for source, target in zip(chain, [*chain[1:], host.first_page], strict=True):
                links[source] = (*links.get(source, ()), target)
    return links


def _pick_article(plan: WebPlan, subject: int, chance: RandomFunction) -> int:
    """Pick an article about this subject only, on a host without faults."""
    while True:
        page = plan.get_page(plan.pick_page(subject, chance))
        fits = page.subjects == (subject,) if subject < len(TOPICS) else not page.topics
        if fits and page.kind == "article" and page.number < plan.pages:
            return page.number
