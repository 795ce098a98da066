"""Deterministic synthetic web for testing crawlers without requests to real servers.

By default the web has sixty hosts and four thousand pages, in ten topics and eight everyday themes. It contains hubs,
portals, menus, footers, dead links, redirects, duplicates, an infinite calendar, and hosts that are slow, broken or
closed to robots. Every page is computed from its URL and a random seed, so that a large web needs little memory.
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
from topicrawl.models import Response
from topicrawl.sample_web.hosts import SampleHost
from topicrawl.sample_web.html import render_calendar, render_page
from topicrawl.sample_web.links import LinkGenerator
from topicrawl.sample_web.plan import PlannedPage, WebPlan
from topicrawl.sample_web.recording import RecordedTask, build_response, write_pages, write_tables
from topicrawl.sample_web.topics import TOPICS

_HTML = "text/html; charset={}"
_MONTHS = tuple(f"{month:02}" for month in range(1, 13))
_HREF = re.compile(r'<a href="([^"]*)">')
_MAX_REDIRECTS = 5
_MIN_HOSTS, _MIN_PAGES_PER_HOST = 20, 20


@dataclass(frozen=True, slots=True)
class SampleResponse:
    """Response of a host of the sample web to a request, or its fault."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    delay: float = 0.0  # seconds before the response
    fault: Literal["", "closed", "silent"] = ""  # closed: the host closes the connection; silent: it never answers


class SampleWeb:
    """The sample web. The same parameters give the same web, byte for byte.

    >>> web = SampleWeb(seed=1, pages=3000, hosts=60)
    >>> web.get_response(web.page_url(0)).status, web.get_response("http://unknown.example/").status
    (200, 404)
    >>> web.topics["chess"][:3]
    ('chess', 'opening', 'gambit')
    """

    def __init__(self, *, seed: int = 1, pages: int = 4000, hosts: int = 60, port: int = 0) -> None:
        if hosts < _MIN_HOSTS or pages < _MIN_PAGES_PER_HOST * hosts:
            raise SettingError(
                f"a sample web needs at least {_MIN_HOSTS} hosts and {_MIN_PAGES_PER_HOST} pages per host"
            )
        self.seed, self.pages, self.host_count, self.port = seed, pages, hosts, port
        self._plan = WebPlan(seed, pages, hosts)
        self._link_generator = LinkGenerator(self._plan, port)
        self._hosts_by_name = {host.name: host for host in self._plan.hosts}
        self._hosts_by_mirror = {host.mirror: host for host in self._plan.hosts if host.mirror}
        self._hosts_by_bare_name = {host.bare_name: host for host in self._plan.hosts if host.bare_name}

    def with_port(self, port: int) -> SampleWeb:
        """Return the same web with this port in all its URLs."""
        return SampleWeb(seed=self.seed, pages=self.pages, hosts=self.host_count, port=port)

    @property
    def hosts(self) -> tuple[str, ...]:
        """All host names of the web, including mirrors and names without `www.`."""
        return (*self._hosts_by_name, *self._hosts_by_mirror, *self._hosts_by_bare_name)

    @property
    def topics(self) -> dict[str, tuple[str, ...]]:
        """Words that describe each topic."""
        return {topic.name: topic.words for topic in TOPICS}

    def page_url(self, number: int) -> str:
        """Return the URL of a page, 0 ≤ number < pages."""
        return self._build_page_url(self._plan.get_page(number))

    def get_labels(self) -> dict[str, tuple[str, ...]]:
        """Return the topics of each page on a topic. Duplicates and link lists have no label."""
        pages = (self._plan.get_page(number) for number in range(self.pages))
        return {self._build_page_url(page): page.topics for page in pages if page.topics}

    def get_links(self, url: str) -> list[str]:
        """Return the distinct link targets of a page after redirects, or an empty list if the URL is not a page."""
        page = self._resolve_page(url)
        if page is None:
            return []
        root = self._link_generator.host_url(page.host.name)
        urls = []
        for anchor in chain.from_iterable(self._link_generator.generate_links(page)):
            href = anchor.href.replace("&amp;", "&")
            target = self._resolve_page(href if href.startswith("http:") else root + href)
            if target is not None:
                urls.append(self._build_page_url(target))
        return list(dict.fromkeys(urls))

    def get_seeds(self, topic: str) -> list[str]:
        """Return three seeds for a topic. They are off the topic and one or two links away from it."""
        topic_index = list(self.topics).index(topic)
        seeds: list[str] = []
        for kinds in (("portal",), ("directory",), ("magazine", "trade", "blog")):
            home_pages = [host.first_page for host in self._plan.hosts if host.kind in kinds and not host.fault]
            # The search starts at a different host for each topic.
            start = topic_index % len(home_pages)
            nearby = (
                url for url in map(self.page_url, home_pages[start:] + home_pages[:start]) if self._is_near(url, topic)
            )
            seeds += islice(nearby, 1)
        return seeds

    def write(self, directory: Path | str) -> None:
        """Write the web as a recorded web: all pages that a polite crawl can fetch, with labels and tasks."""
        directory = Path(directory)
        about = f"a made-up web: seed {self.seed}, {self.pages} pages, {self.host_count} hosts"
        moved = write_pages(directory, self._iter_recordable(), description=about)
        labels = self.get_labels()
        graph = {(url := self.page_url(number)): self.get_links(url) for number in range(self.pages)}
        tasks = []
        for topic, words in self.topics.items():
            seeds = self.get_seeds(topic)
            reached = _find_reachable(graph, seeds)
            targets = sum(topic in labels.get(url, ()) for url in reached)
            tasks.append(RecordedTask("sample", topic, " ".join(words), [topic], seeds, 2, targets))
        write_tables(directory, labels, self.topics, tasks, moved)

    def _iter_recordable(self) -> Iterator[Response]:
        """Yield the responses to record: all pages, linked redirects and duplicates, and three calendar years."""
        waiting = deque(self.page_url(number) for number in range(self.pages))
        seen = set(waiting)
        while waiting:
            url = waiting.popleft()
            answer = self.get_response(url)
            if not (self._resolve_page(url) or _is_recent_calendar(url)):
                continue
            yield build_response(url, answer.status, answer.headers, answer.body)
            for href in _HREF.findall(answer.body.decode("latin-1")):
                target = urljoin(url, href.replace("&amp;", "&"))
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)

    def get_response(self, url: str) -> SampleResponse:
        """Return the response to a request for this URL."""
        name, path = _split_url(url)
        return self.respond(name, path)

    def respond(self, name: str, target: str) -> SampleResponse:
        """Return the response to a request for a host name and a request target, as a server receives them."""
        result = self._find_page(name, target)
        if isinstance(result, SampleResponse):
            return result
        host = result.host
        body = render_page(result, self._link_generator.generate_links(result), self.seed)
        # Layout 3 declares no charset, like old servers, so that the client must guess it.
        content_type = "text/html" if host.layout == 3 else _HTML.format(host.charset)
        return SampleResponse(200, {"content-type": content_type}, body, host.delay)

    def _find_page(self, name: str, target: str) -> PlannedPage | SampleResponse:
        """Return the page at an address, or a response if the address is not a page."""
        host = self._hosts_by_name.get(name) or self._hosts_by_mirror.get(name)
        if host is None:
            host = self._hosts_by_bare_name.get(name)
            return (
                _redirect_response(self._link_generator.host_url(host.name) + target, host)
                if host
                else _not_found_response()
            )
        if host.fault in ("closed", "silent"):
            return SampleResponse(0, fault="closed" if host.fault == "closed" else "silent")
        if host.fault == "failing":
            return SampleResponse(500, {"content-type": "text/plain"}, b"Internal error\n")
        if target == "/robots.txt":
            return _robots_response(host)
        special = self._get_special_response(host, target)
        if special is not None:
            return special
        number = self._plan.find_page_number(host, _strip_ref(target))
        return _not_found_response(host) if number is None else self._plan.get_page(number)

    def _get_special_response(self, host: SampleHost, target: str) -> SampleResponse | None:
        """Return the response of a special path: redirects from old URLs and click counters, members area, calendar."""
        first, _, rest = target[1:].partition("/")
        if first == "p" and rest.isdecimal() and int(rest) < host.page_count:
            return _redirect_response(
                self._link_generator.host_url(host.name) + self._plan.get_page(host.first_page + int(rest)).path, host
            )
        if first == "out" and rest.isdecimal() and int(rest) < self._plan.total_pages:
            return _redirect_response(self.page_url(int(rest)), host, 302)
        if first == "members" and host.index % 10 == 3:
            return SampleResponse(
                200, {"content-type": "text/html"}, b"<title>Members</title><p>Please sign in.", host.delay
            )
        if first == "calendar" and host.calendar:
            year, _, month = rest.rstrip("/").partition("/")
            if len(year) == 4 and year.isdecimal() and month in _MONTHS:
                body = render_calendar(host, self._link_generator.get_menu(host.index), int(year), int(month))
                return SampleResponse(200, {"content-type": _HTML.format(host.charset)}, body, host.delay)
        return None

    def _build_page_url(self, page: PlannedPage) -> str:
        return self._link_generator.host_url(page.host.name) + page.path

    def _resolve_page(self, url: str) -> PlannedPage | None:
        """Follow redirects to a page. Return None if they do not end at a page that robots may fetch."""
        for _ in range(_MAX_REDIRECTS):
            result = self._find_page(*_split_url(url))
            if not isinstance(result, SampleResponse):
                return None if result.host.fault else result
            if "location" not in result.headers:
                return None
            url = result.headers["location"]
        return None

    def _is_near(self, url: str, topic: str) -> bool:
        """Return whether a page is off the topic and one or two links away from a page on it."""
        page = self._resolve_page(url)
        if page is None or topic in page.topics:
            return False
        nearby = dict.fromkeys(self.get_links(url))
        nearby.update(dict.fromkeys(chain.from_iterable(map(self.get_links, tuple(nearby)))))
        pages = map(self._resolve_page, nearby)
        return any(topic in page.topics for page in pages if page is not None)


def _find_reachable(graph: Mapping[str, list[str]], seeds: list[str]) -> dict[str, None]:
    """Return all pages that are reachable from the seeds."""
    reached = dict.fromkeys(seeds)
    waiting = deque(seeds)
    while waiting:
        for url in graph[waiting.popleft()]:
            if url not in reached:
                reached[url] = None
                waiting.append(url)
    return reached


def _is_recent_calendar(url: str) -> bool:
    return bool(re.fullmatch(r"http://[^/]*/calendar/202[345]/(0[1-9]|1[012])/", url))


def _split_url(url: str) -> tuple[str, str]:
    """Split a URL into host name and request target.

    >>> _split_url("http://www.raven.example:8080/a/b?c=1"), _split_url("http://raven.example")
    (('www.raven.example', '/a/b?c=1'), ('raven.example', '/'))
    """
    authority, _, path = url.partition("//")[2].partition("/")
    return authority.partition(":")[0].lower(), "/" + path


def _strip_ref(target: str) -> str:
    """Remove the `ref` parameter. Hosts ignore it, so that a page has several URLs."""
    return target.removesuffix("?ref=side").removesuffix("&ref=side")


def _redirect_response(location: str, host: SampleHost, status: int = 301) -> SampleResponse:
    return SampleResponse(status, {"content-type": "text/plain", "location": location}, b"Moved\n", host.delay)


def _not_found_response(host: SampleHost | None = None) -> SampleResponse:
    body = b"<html><head><title>Not found</title></head><body><a href='/'>Home</a></body></html>"
    return SampleResponse(404, {"content-type": "text/html"}, body, host.delay if host else 0.0)


def _robots_response(host: SampleHost) -> SampleResponse:
    """Return the robots.txt of a host. About half of the hosts have none."""
    if host.fault == "forbidden":
        rules = "User-agent: *\nDisallow: /\n"
    elif host.crawl_delay:
        rules = f"User-agent: *\nCrawl-delay: {host.crawl_delay:g}\nDisallow: /members/\n"
    elif host.index % 2:
        rules = "User-agent: *\nDisallow: /members/\n"
    else:
        return _not_found_response(host)
    return SampleResponse(200, {"content-type": "text/plain"}, rules.encode(), host.delay)
