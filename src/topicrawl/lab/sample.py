"""A made-up but lifelike web, the same for everybody, to try crawlers on without touching anybody's server.

Sixty hosts and four thousand pages by default, in ten topics and eight everyday themes, with hubs and
portals, menus and footers, dead links, redirects, copies, a calendar without end, and hosts that are slow,
broken or closed to robots. Every page is computed from its URL and a seed number, so a large web takes little
memory.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin

from topicrawl.errors import SettingError
from topicrawl.lab.sample_hosts import Host
from topicrawl.lab.sample_links import Linker
from topicrawl.lab.sample_pages import calendar, written
from topicrawl.lab.sample_plan import Plan, Planned
from topicrawl.lab.sample_record import RecordedTask, recorded, write_pages, write_tables
from topicrawl.lab.sample_topics import TOPICS
from topicrawl.records import Response

_HTML = "text/html; charset={}"
_MONTHS = tuple(f"{month:02}" for month in range(1, 13))
_HREF = re.compile(r'<a href="([^"]*)">')
_MOST_HOPS = 5
_FEWEST_HOSTS, _FEWEST_PAGES = 20, 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host of the made-up web says to a request, or how it fails to say anything."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    delay: float = 0.0  # seconds before it answers
    fault: Literal["", "closed", "silent"] = ""  # closes the line; never answers


class SampleWeb:
    """The made-up web. The same numbers give the same web, byte for byte.

    >>> web = SampleWeb(seed=1, pages=3000, hosts=60)
    >>> web.answer(web.url(0)).status, web.answer("http://nobody.example/").status
    (200, 404)
    >>> web.topics["chess"][:3]
    ('chess', 'opening', 'gambit')
    """

    def __init__(self, *, seed: int = 1, pages: int = 4000, hosts: int = 60, port: int = 0) -> None:
        if hosts < _FEWEST_HOSTS or pages < _FEWEST_PAGES * hosts:
            raise SettingError(f"a made-up web has {_FEWEST_HOSTS} hosts or more, and {_FEWEST_PAGES} pages for each")
        self.seed, self.pages, self.sites, self.port = seed, pages, hosts, port
        self._plan = Plan(seed, pages, hosts)
        self._links = Linker(self._plan, port)
        self._named = {host.name: host for host in self._plan.hosts}
        self._mirrors = {host.mirror: host for host in self._plan.hosts if host.mirror}
        self._bare = {host.bare: host for host in self._plan.hosts if host.bare}

    def at_port(self, port: int) -> SampleWeb:
        """The same web with this port in all its URLs."""
        return SampleWeb(seed=self.seed, pages=self.pages, hosts=self.sites, port=port)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host name that the web answers to, mirrors and names without `www.` included."""
        return (*self._named, *self._mirrors, *self._bare)

    @property
    def topics(self) -> dict[str, tuple[str, ...]]:
        """The words that describe each topic."""
        return {topic.name: topic.words for topic in TOPICS}

    def url(self, number: int) -> str:
        """The address of a page, 0 ≤ number < pages."""
        return self._url(self._plan.page(number))

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The topics of each page that is truly about one; copies and link lists are about nothing new."""
        pages = (self._plan.page(number) for number in range(self.pages))
        return {self._url(page): page.topics for page in pages if page.topics}

    def links(self, url: str) -> list[str]:
        """Where a page links to, redirects followed, once each; nothing for what is not a page."""
        page = self._landed(url)
        if page is None:
            return []
        root = self._links.root(page.host.name)
        found = []
        for anchor in chain.from_iterable(self._links.outlinks(page)):
            href = anchor.href.replace("&amp;", "&")
            target = self._landed(href if href.startswith("http:") else root + href)
            if target is not None:
                found.append(self._url(target))
        return list(dict.fromkeys(found))

    def seeds(self, topic: str) -> list[str]:
        """Three pages to start from: off the topic, and one or two links away from it."""
        turn = list(self.topics).index(topic)
        found: list[str] = []
        for kinds in (("portal",), ("directory",), ("magazine", "trade", "blog")):
            firsts = [host.first for host in self._plan.hosts if host.kind in kinds and not host.fault]
            # Each topic begins its search for seeds at another host.
            start = turn % len(firsts)
            near = (url for url in map(self.url, firsts[start:] + firsts[:start]) if self._is_near(url, topic))
            found += islice(near, 1)
        return found

    def write(self, directory: Path | str) -> None:
        """Write the web as a recorded web: what a polite crawl of all of it would have brought home."""
        directory = Path(directory)
        about = f"a made-up web: seed {self.seed}, {self.pages} pages, {self.sites} hosts"
        moved = write_pages(directory, self._recordable(), about=about)
        labels = self.labels()
        graph = {(url := self.url(number)): self.links(url) for number in range(self.pages)}
        tasks = []
        for topic, words in self.topics.items():
            seeds = self.seeds(topic)
            reached = _reached(graph, seeds)
            targets = sum(topic in labels.get(url, ()) for url in reached)
            tasks.append(RecordedTask("sample", topic, " ".join(words), [topic], seeds, 2, targets))
        write_tables(directory, labels, self.topics, tasks, moved)

    def _recordable(self) -> Iterator[Response]:
        """Every page, and every redirect and copy that a page links to; of the calendar only three years."""
        waiting = deque(self.url(number) for number in range(self.pages))
        seen = set(waiting)
        while waiting:
            url = waiting.popleft()
            answer = self.answer(url)
            if not (self._landed(url) or _is_recent_calendar(url)):
                continue
            yield recorded(url, answer.status, answer.headers, answer.body)
            for href in _HREF.findall(answer.body.decode("latin-1")):
                target = urljoin(url, href.replace("&amp;", "&"))
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)

    def answer(self, url: str) -> Answer:
        """What the web says to a request for this URL."""
        name, path = _split(url)
        return self.reply(name, path)

    def reply(self, name: str, target: str) -> Answer:
        """The same for a host name and a request target, as a server gets them."""
        found = self._found(name, target)
        if isinstance(found, Answer):
            return found
        host = found.host
        body = written(found, self._links.outlinks(found), self.seed)
        # The plain fashion leaves its charset to guessing, as old servers do.
        kind = "text/html" if host.layout == 3 else _HTML.format(host.charset)
        return Answer(200, {"content-type": kind}, body, host.delay)

    def _found(self, name: str, target: str) -> Planned | Answer:
        """The page at an address, or the answer when there is something else."""
        host = self._named.get(name) or self._mirrors.get(name)
        if host is None:
            host = self._bare.get(name)
            return _moved(self._links.root(host.name) + target, host) if host else _missing()
        if host.fault in ("closed", "silent"):
            return Answer(0, fault="closed" if host.fault == "closed" else "silent")
        if host.fault == "failing":
            return Answer(500, {"content-type": "text/plain"}, b"Internal error\n")
        if target == "/robots.txt":
            return _robots(host)
        special = self._special(host, target)
        if special is not None:
            return special
        number = self._plan.number_at(host, _without_ref(target))
        return _missing(host) if number is None else self._plan.page(number)

    def _special(self, host: Host, target: str) -> Answer | None:
        """What stands beside the pages: old addresses, counted clicks, the calendar, the members' door."""
        first, _, rest = target[1:].partition("/")
        if first == "p" and rest.isdecimal() and int(rest) < host.size:
            return _moved(self._links.root(host.name) + self._plan.page(host.first + int(rest)).path, host)
        if first == "out" and rest.isdecimal() and int(rest) < self._plan.numbers:
            return _moved(self.url(int(rest)), host, 302)
        if first == "members" and host.index % 10 == 3:
            return Answer(200, {"content-type": "text/html"}, b"<title>Members</title><p>Please sign in.", host.delay)
        if first == "calendar" and host.calendar:
            year, _, month = rest.rstrip("/").partition("/")
            if len(year) == 4 and year.isdecimal() and month in _MONTHS:
                body = calendar(host, self._links.menu(host.index), int(year), int(month))
                return Answer(200, {"content-type": _HTML.format(host.charset)}, body, host.delay)
        return None

    def _url(self, page: Planned) -> str:
        return self._links.root(page.host.name) + page.path

    def _landed(self, url: str) -> Planned | None:
        """The page where a request for this URL ends; None: not at a page that robots may have."""
        for _ in range(_MOST_HOPS):
            found = self._found(*_split(url))
            if not isinstance(found, Answer):
                return None if found.host.fault else found
            if "location" not in found.headers:
                return None
            url = found.headers["location"]
        return None

    def _is_near(self, url: str, topic: str) -> bool:
        """One or two links away from a page on the topic, and not on it."""
        page = self._landed(url)
        if page is None or topic in page.topics:
            return False
        nearby = dict.fromkeys(self.links(url))
        nearby.update(dict.fromkeys(chain.from_iterable(map(self.links, tuple(nearby)))))
        pages = map(self._landed, nearby)
        return any(topic in page.topics for page in pages if page is not None)


def _reached(graph: Mapping[str, list[str]], seeds: list[str]) -> dict[str, None]:
    """All pages that links lead to from the seeds."""
    found = dict.fromkeys(seeds)
    waiting = deque(seeds)
    while waiting:
        for url in graph[waiting.popleft()]:
            if url not in found:
                found[url] = None
                waiting.append(url)
    return found


def _is_recent_calendar(url: str) -> bool:
    return bool(re.fullmatch(r"http://[^/]*/calendar/202[345]/(0[1-9]|1[012])/", url))


def _split(url: str) -> tuple[str, str]:
    """Host name and request target.

    >>> _split("http://www.raven.example:8080/a/b?c=1"), _split("http://raven.example")
    (('www.raven.example', '/a/b?c=1'), ('raven.example', '/'))
    """
    authority, _, path = url.partition("//")[2].partition("/")
    return authority.partition(":")[0].lower(), "/" + path


def _without_ref(target: str) -> str:
    """Hosts ignore where a click came from, so the same page has several addresses."""
    return target.removesuffix("?ref=side").removesuffix("&ref=side")


def _moved(location: str, host: Host, status: int = 301) -> Answer:
    return Answer(status, {"content-type": "text/plain", "location": location}, b"Moved\n", host.delay)


def _missing(host: Host | None = None) -> Answer:
    body = b"<html><head><title>Not found</title></head><body><a href='/'>Home</a></body></html>"
    return Answer(404, {"content-type": "text/html"}, body, host.delay if host else 0.0)


def _robots(host: Host) -> Answer:
    """A robots.txt where the host has something to say; most say nothing."""
    if host.fault == "forbidden":
        rules = "User-agent: *\nDisallow: /\n"
    elif host.crawl_delay:
        rules = f"User-agent: *\nCrawl-delay: {host.crawl_delay:g}\nDisallow: /members/\n"
    elif host.index % 2:
        rules = "User-agent: *\nDisallow: /members/\n"
    else:
        return _missing(host)
    return Answer(200, {"content-type": "text/plain"}, rules.encode(), host.delay)
