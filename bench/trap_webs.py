"""Webs with traps, spam farms and mirrors, and honest webs that resemble them, served by a small HTTP server.

Every web has an honest part with articles on several hosts, which links into the other part. The pages are computed
from their URLs, so the webs are the same in every run.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Self

from topicrawl.text.lexicon import load_lexicon

TOPIC = "dengue fever"
HONEST_HOSTS = [f"www.news{letter}.example" for letter in "ab"]
STOP_WORDS = sorted(load_lexicon("en").stop_words)[::3]
TOPIC_WORDS = ["dengue", "fever", "mosquito", "virus", "infection", "outbreak"]
VOCABULARY = sorted(word for word in load_lexicon("en").idf_table[0] if word.isalpha() and 3 < len(word) < 12)[::7]
ARTICLES = 4000  # articles of an honest host


@dataclass(frozen=True)
class PageRequest:
    """A request that the server answers: host without port, path with query."""

    host: str
    path: str
    port: int
    at: float = 0.0


@dataclass(frozen=True)
class TrapWeb:
    """A web with a part that wastes the budget of a crawl, or resembles one that does."""

    name: str
    answer: Callable[[PageRequest], str | None]  # page of the part, or None for the honest part
    entrance: str  # link from the honest articles, relative or with {port}
    is_inside: Callable[[str], bool]  # whether a URL belongs to the part
    hosts: tuple[str, ...] = ()  # hosts of the part
    has_articles: bool = True


@dataclass
class WebServer:
    """HTTP server for a web on the loopback address. `async with` starts and stops it."""

    web: TrapWeb
    port: int = 0
    log: list[PageRequest] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    @property
    def hosts(self) -> list[str]:
        """All host names of the web."""
        return [*HONEST_HOSTS, *self.web.hosts]

    def count_busiest_second(self) -> int:
        """Return the largest number of requests to the hosts of the part within one second."""
        times = sorted(entry.at for entry in self.log if entry.host in self.web.hosts)
        return max((sum(start <= at < start + 1.0 for at in times) for start in times), default=0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                path = head.split(" ", 2)[1]
                host = re.search(r"(?im)^host: *([^:\r]+)", head)
                request = PageRequest(host[1] if host else "", path, self.port, time.monotonic())
                self.log.append(request)
                writer.write(self._build_reply(request))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _build_reply(self, request: PageRequest) -> bytes:
        page = None
        if request.path != "/robots.txt":
            page = self.web.answer(request)
            if page is None and request.host in HONEST_HOSTS:
                page = write_article(request, self.web)
        status, body = ("404 Not Found", b"") if page is None else ("200 OK", page.encode())
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


def write_text(draw: Random, length: int, topic_share: float = 0.04) -> str:
    """Return text with the proportions of an article: stop words, topic words, and many rare words."""
    words = []
    for _ in range(length):
        kind = draw.random()
        if kind < topic_share:
            words.append(draw.choice(TOPIC_WORDS))
        elif kind < 0.4:
            words.append(draw.choice(STOP_WORDS))
        else:
            words.append(VOCABULARY[min(int(draw.paretovariate(0.35)), len(VOCABULARY) - 1)])
    return " ".join(words)


def write_article(request: PageRequest, web: TrapWeb) -> str | None:
    """Return an honest article with links to other articles, and sometimes into the other part of the web."""
    number = re.fullmatch(r"/(?:article/(\d+))?", request.path)
    if number is None or not web.has_articles:
        return None
    draw = Random(f"{request.host} {request.path}")
    urls = [
        f"http://{draw.choice(HONEST_HOSTS)}:{request.port}/article/{draw.randrange(ARTICLES)}"
        for _ in range(8 if number[1] else 20)
    ]
    links = "".join(f'<li><a href="{url}">{write_text(draw, 3, 0.3)}</a></li>' for url in urls)
    if draw.random() < 0.3 or not number[1]:
        name = "-".join(draw.sample(VOCABULARY, 3))
        target = web.entrance.format(port=request.port, name=name, number=draw.randrange(1000))
        links += f'<li><a href="{target}">{TOPIC} {write_text(draw, 2)}</a></li>'
    title = f"{TOPIC} {write_text(draw, 4, 0.0)}"
    return f"<title>{title}</title><h1>{title}</h1><p>{write_text(draw, 250)}</p><ul>{links}</ul>"


def write_calendar(request: PageRequest) -> str | None:
    """Return a month or a day of an endless calendar without events."""
    if not request.path.startswith("/calendar/"):
        return None
    year, month = map(int, re.findall(r"\d+", request.path)[:2])
    months = [(year + month // 12, month % 12 + 1), (year - (month == 1), (month - 2) % 12 + 1)]
    ways = "".join(f'<a href="/calendar/{y}/{m}">{TOPIC} events {m}/{y}</a> ' for y, m in months)
    days = "".join(f'<a href="/calendar/{year}/{month}/{day}">{day}</a> ' for day in range(1, 29))
    return f"<h1>{TOPIC} events</h1><p>No {TOPIC} events on this day.</p><p>{ways}{days}</p>"


FILTERS = ("colour", "size", "brand", "price", "sort", "view")


def write_facets(request: PageRequest) -> str | None:
    """Return a list of products. The filters in the query can be combined without end."""
    path, _, query = request.path.partition("?")
    if path != "/shop":
        return None
    chosen = dict(part.split("=") for part in query.split("&") if "=" in part)
    draw = Random(query)
    goods = [write_text(Random(f"product {n}"), 12, 0.1) for n in draw.sample(range(40), 12)]
    links = []
    for name in FILTERS:
        for value in range(4):
            other = {**chosen, name: str(value)}
            parts = "&".join(f"{key}={other[key]}" for key in sorted(other))
            links.append(f'<a href="/shop?{parts}">{TOPIC} nets {name} {value}</a>')
    return f"<h1>{TOPIC} nets</h1>{''.join(f'<p>{text}</p>' for text in goods)}{' '.join(links)}"


def write_session(request: PageRequest) -> str | None:
    """Return one of five pages, whose links contain a new session id each time."""
    found = re.fullmatch(r"/items/(\d+)\?visitor=\w+", request.path)
    if found is None:
        return None
    token = Random(request.path).getrandbits(120)
    links = "".join(
        f'<a href="/items/{(int(found[1]) + k) % 5}?visitor={token + k:032x}">{TOPIC} item {k}</a> ' for k in range(8)
    )
    return f"<p>{write_text(Random(int(found[1])), 25, 0.2)}</p>{links}"


def write_loop(request: PageRequest) -> str | None:
    """Return the same page for every path below /loop/. Its relative links lengthen the path."""
    if not request.path.startswith("/loop/"):
        return None
    names = ("dengue", "fever", "virus", "nets", "news", "maps")
    links = "".join(f'<a href="{name}/">{TOPIC} {name}</a> ' for name in names)
    return f"<h1>{TOPIC}</h1><p>{write_text(Random(1), 20, 0.2)}</p>{links}"


def write_soft_404(request: PageRequest) -> str | None:
    """Return an error page with status 200 that quotes its path, with links to further missing pages."""
    if not request.path.startswith("/archive/"):
        return None
    draw = Random(request.path)
    names = ["-".join(draw.sample(VOCABULARY, 3)) for _ in range(4)]
    links = "".join(f'<a href="{name}">more about {TOPIC}</a> ' for name in (*names, f"more/{names[0]}"))
    return f"<h1>{TOPIC} archive</h1><p>Sorry, the {TOPIC} page {request.path} was moved.</p>{links}"


STORE_FILTERS = {"colour": "red blue green", "brand": "acme wing nest", "size": "small large", "kind": "net spray book"}


def write_store(request: PageRequest) -> str | None:
    """Return a list of products. The filters are directories, which can be combined."""
    if not request.path.startswith("/store/"):
        return None
    chosen = dict(part.split("-", 1) for part in request.path.split("/")[2:] if "-" in part)
    goods = [write_text(Random(f"product {n}"), 14, 0.1) for n in Random(request.path).sample(range(40), 12)]
    links = []
    for name, values in STORE_FILTERS.items():
        for value in values.split():
            folders = "/".join(f"{key}-{other}" for key, other in {**chosen, name: value}.items())
            links.append(f'<a href="/store/{folders}/">{TOPIC} {name} {value}</a>')
    return (
        f"<h1>{TOPIC}: {' '.join(chosen.values())}</h1>{''.join(f'<p>{text}</p>' for text in goods)}{' '.join(links)}"
    )


def write_suggestions(request: PageRequest) -> str | None:
    """Return an error page with status 200 that suggests other pages, which do not exist either."""
    if not request.path.startswith("/topics/"):
        return None
    draw = Random(request.path)
    names = ["-".join(draw.sample(VOCABULARY, 3)) for _ in range(5)]
    links = "".join(f'<a href="/topics/{name}.html">{name.replace("-", " ")} {TOPIC}</a> ' for name in names)
    name = request.path[8:].removesuffix(".html").replace("-", " ")
    footer = write_text(Random("footer"), 100, 0.0)
    return f"<h1>{name}</h1><p>We have no page about {name} and {TOPIC}. Try these:</p>{links}<p>{footer}</p>"


ROOT_PAGE = re.compile(r"/([a-z]+-[a-z]+-[a-z]+)\.html")


def write_root_suggestions(request: PageRequest) -> str | None:
    """Return an error page in the root directory that suggests and describes other pages, which do not exist either."""
    found = ROOT_PAGE.fullmatch(request.path)
    if found is None:
        return None
    draw, name = Random(request.path), found[1].replace("-", " ")
    names = ["-".join(draw.sample(VOCABULARY, 3)) for _ in range(5)]
    links = "".join(
        f'<p><a href="/{other}.html">{other.replace("-", " ")} {TOPIC}</a> {write_text(draw, 25)}</p>'
        for other in names
    )
    footer = write_text(Random("footer"), 60, 0.0)
    return f"<h1>{name}</h1><p>We have no page about {name} and {TOPIC}. Try these:</p>{links}<p>{footer}</p>"


def is_root_page(url: str) -> bool:
    """Return whether a URL is one of those of `write_root_suggestions`."""
    return ROOT_PAGE.fullmatch("/" + url.split("/", 3)[3]) is not None


FARM_HOSTS = tuple(f"w{number}.farm.example" for number in range(1000))


def write_farm(request: PageRequest) -> str | None:
    """Return a page stuffed with the topic words, with links to other hosts of the farm."""
    if request.host not in FARM_HOSTS:
        return None
    draw = Random(f"{request.host}{request.path}")
    words = write_text(draw, 180, 0.38)
    links = "".join(
        f'<a href="http://{draw.choice(FARM_HOSTS)}:{request.port}/{draw.choice(VOCABULARY)}">{TOPIC} {k}</a> '
        for k in range(10)
    )
    return f"<title>{TOPIC}</title><h1>{TOPIC} {TOPIC}</h1><p>{words}</p>{links}"


MIRROR_HOSTS = tuple(f"m{number}.mirror.example" for number in range(300))


def write_mirror(request: PageRequest) -> str | None:
    """Return one of sixty articles, which all hosts of the domain have, with links to other hosts of the domain."""
    if request.host not in MIRROR_HOSTS:
        return None
    draw, number = Random(request.path), int(request.path.strip("/") or 0) % 60
    text = write_text(Random(f"mirror {number}"), 200)
    own = "".join(f'<a href="/{(number * 3 + k) % 60}">{TOPIC} {k}</a> ' for k in range(1, 5))
    others = "".join(
        f'<a href="http://{draw.choice(MIRROR_HOSTS)}:{request.port}/{draw.randrange(60)}">{TOPIC} mirror</a> '
        for _ in range(5)
    )
    return f"<title>{TOPIC} {number}</title><p>{text}</p>{own}{others}"


def write_large_host(request: PageRequest) -> str | None:
    """Return one of five thousand articles of one honest host about the topic."""
    if request.host != "www.large.example":
        return None
    number = int(request.path.rpartition("/")[2] or 0)
    draw = Random(number)
    links = "".join(f'<a href="/dengue/{draw.randrange(5000)}">{write_text(draw, 4, 0.4)}</a> ' for _ in range(8))
    return f"<title>{TOPIC} {number}</title><p>{write_text(draw, 220, 0.1)}</p>{links}"


def write_manual(request: PageRequest) -> str | None:
    """Return a page of a manual: a long menu and footer, and a short text of its own."""
    if request.host != "docs.manual.example":
        return None
    number = int(re.sub(r"\D", "", request.path) or 0)
    draw, template = Random(number), Random("template")
    menu = "".join(f'<li><a href="/page-{k}.html">{write_text(template, 3, 0.1)}</a></li>' for k in range(60))
    urls = [f"/page-{(number * 4 + k) % 2000}.html" for k in (1, 2, 3, 4)]
    links = "".join(f'<a href="{url}">{write_text(draw, 3, 0.2)}</a> ' for url in urls)
    own, footer = write_text(draw, 60, 0.08), write_text(template, 80)
    return f"<ul>{menu}</ul><h1>{TOPIC} {number}</h1><p>{own}</p>{links}<p>{footer}</p>"


def is_on_path(prefix: str) -> Callable[[str], bool]:
    """Return a function that returns whether the path of a URL begins with a prefix."""
    return lambda url: url.split("/", 3)[3].startswith(prefix)


def is_in_domain(domain: str) -> Callable[[str], bool]:
    """Return a function that returns whether a URL is in a domain."""
    return lambda url: url.split("/", 3)[2].partition(":")[0].endswith(domain)


#: Webs in which a part must not take much of the budget.
TRAPS = (
    TrapWeb("calendar", write_calendar, "/calendar/2026/11", is_on_path("calendar/")),
    TrapWeb("facets", write_facets, "/shop?colour=1", is_on_path("shop")),
    TrapWeb("session ids", write_session, "/items/1?visitor=0123456789abcdef0123456789abcdef", is_on_path("items/")),
    TrapWeb("repeated paths", write_loop, "/loop/", is_on_path("loop/")),
    TrapWeb("soft 404", write_soft_404, "/archive/{name}", is_on_path("archive/")),
    TrapWeb("facets in paths", write_store, "/store/colour-red/", is_on_path("store/")),
    TrapWeb("soft 404 with suggestions", write_suggestions, "/topics/{name}.html", is_on_path("topics/")),
)
#: The same dead links, with the status 200 and with the status 404.
ROOT_SUGGESTIONS = TrapWeb("soft 404 in the root directory", write_root_suggestions, "/{name}.html", is_root_page)
DEAD_LINKS = TrapWeb("dead links (status 404)", lambda request: None, "/{name}.html", is_root_page)
SPAM = TrapWeb(
    "spam farm", write_farm, "http://w{number}.farm.example:{port}/", is_in_domain("farm.example"), FARM_HOSTS
)
MIRRORS = TrapWeb(
    "mirrors", write_mirror, "http://m0.mirror.example:{port}/", is_in_domain("mirror.example"), MIRROR_HOSTS
)
#: Webs whose part is honest and must not be demoted.
HONEST = (
    TrapWeb(
        "large honest host",
        write_large_host,
        "http://www.large.example:{port}/dengue/1",
        is_in_domain("large.example"),
        ("www.large.example",),
    ),
    TrapWeb(
        "manual with a long menu",
        write_manual,
        "http://docs.manual.example:{port}/page-1.html",
        is_in_domain("manual.example"),
        ("docs.manual.example",),
    ),
)
