"""What travels through a crawl: Link → Response → Page → Visit, and the Place a strategy gives a link.

All records are frozen. Bytes live in `Response` only; a `Page` is what was read out of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, TypeAlias

#: What a strategy may hand down along a link: plain values that survive a restart as JSON.
Carry: TypeAlias = "bool | int | float | str | list[Carry] | dict[str, Carry] | None"


def draft(record: type[Any]) -> type[Any]:
    """A twin of a frozen record that is not locked: for those who make hundreds of records a page.

    A frozen dataclass pays for every field it sets. The twin has the same slots without the lock, and giving a draft
    the record's class afterwards locks it: 0.4 µs a link in place of 2.

    >>> made = draft(Hop)("http://a/", 301)
    >>> made.__class__ = Hop
    >>> made
    Hop(url='http://a/', status=301)
    """
    return make_dataclass("Draft", [each.name for each in fields(record)], slots=True)


class Failure(StrEnum):
    """Why a fetch gave no page. The value is what users see in status, logs and JSON."""

    ADDRESS = "address_refused"  # resolves to an address that is not on the public internet
    DNS = "dns"  # the host's name has no address
    CONNECTION = "connection"  # the host does not answer, or hangs up
    TLS = "tls"  # the host's certificate is not valid
    TIMEOUT = "timeout"  # no whole answer in time
    BAD_RESPONSE = "bad_response"  # not HTTP, torn in the middle, or undecodable
    TOO_LARGE = "too_large"  # more bytes than `max_bytes`
    REDIRECTS = "too_many_redirects"  # more than ten, or in a circle
    BAD_REDIRECT = "bad_redirect"  # a redirect that leads nowhere or out of the web
    NOT_FOUND = "not_found"  # 404, 410
    FORBIDDEN = "forbidden"  # 401, 403, 407, 451
    CLIENT_ERROR = "client_error"  # any other 4xx
    RATE_LIMITED = "rate_limited"  # 429
    SERVER_ERROR = "server_error"  # 5xx
    EMPTY = "no_content"  # a success without a body: 204, 304, zero bytes
    CONTENT_TYPE = "content_type"  # neither a page nor a document that can be read
    ROBOTS = "robots"  # forbidden by robots.txt
    ROBOTS_UNREACHABLE = "robots_unreachable"  # no answer for robots.txt, so nothing may be asked yet
    NOINDEX = "noindex"  # the page asks not to be kept
    DUPLICATE = "duplicate"  # it leads to a page that is here already, or repeats one
    UNPARSED = "unparsed"  # hostile or broken beyond the parser's limits
    READING_LIMIT = "reading_limit"  # a document that needs more time or memory than reading one may take
    NESTED = "nested_archive"  # an archive inside an archive
    ENCRYPTED = "encrypted"  # a document that asks for a password
    NO_READER = "no_reader"  # a document whose reader is not installed
    TURN = "turn_over"  # shared crawls: the host was no longer ours to ask when the request was to leave; asked later
    NOT_RECORDED = "not_recorded"  # replay only: the link leads out of the recording


class Around(IntEnum):
    """How much of what stands around its links a page is read for; the rest costs time."""

    NOTHING = 0  # address, texts, rel and position alone
    ALL = 1
    WORDS = 2  # all but the sentence


class Refusal(StrEnum):
    """Why a link was never put into the frontier."""

    NOFOLLOW = "nofollow"  # the link or its page asks not to be followed
    TOO_DEEP = "too_deep"  # more links from a seed than `depth`
    TOO_LONG = "url_too_long"  # a longer address, a deeper path or more parameters than honest sites have
    REPEATING = "repeating_path"  # the same part again and again in its path
    HOST_BUDGET = "host_budget"  # its host has given `host_pages` pages
    OUT_OF_SCOPE = "out_of_scope"  # not in the recording, or outside the hosts the user named
    STRATEGY = "strategy"  # the strategy chose not to follow it
    TRAP = "trap"  # a long row of pages of one address pattern that brought nothing new
    SET_ASIDE = "set_aside"  # leased several times without an answer: each time the process died
    DROPPED = "dropped"  # the frontier was full and this was among the worst


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it stands on its page; a seed has no source."""

    url: str  # canonical
    source: str = ""
    anchor: str = ""
    alt: str = ""  # alternative text of images inside the link
    before: Sequence[str] = ()  # up to 20 non-stop words before the link, in reading order
    after: Sequence[str] = ()
    sentence: str = ""  # the raw sentence around the link
    heading: str = ""  # the nearest heading above
    tag_path: str = ""  # the elements around it, outermost first: "body/div.nav/ul/li"
    position: int = 0  # 0 is the first link of its page
    rel: str = ""  # lower case, words separated by one space
    depth: int = 0  # links from a seed


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect on the way to a response."""

    url: str
    status: int


class Readable(NamedTuple):
    """What a document says, in a form for parsers of web pages."""

    type: str  # as in Content-Type
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What a host answered, with the body decoded to its content type's bytes; or why there is none."""

    url: str  # as asked
    final_url: str  # after redirects; canonical
    status: int = 0  # 0: no HTTP answer
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    at: float = 0.0  # seconds since 1970, when the last request started
    hops: tuple[Hop, ...] = ()
    failure: Failure | None = None
    detail: str = ""  # one line for people, with a failure
    wait: float | None = None  # seconds the host (or politeness) wants before anything else is asked
    seconds: float = 0.0  # how long it took
    request: Mapping[str, str] = field(default_factory=dict)  # the headers that were sent
    taken_from: str = ""  # the archive that this is a file of; "": it came over the wire
    readable: Readable | None = None  # what parsers read in place of the body

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case.

        >>> Response("u", "u", headers={"content-type": "Text/HTML; charset=x"}).content_type
        'text/html'
        """
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Unfolded(NamedTuple):
    """A response that can be parsed, or that has a failure; with the files in it, if it is an archive."""

    response: Response
    members: Sequence[tuple[Link, Response]] = ()  # each with the link from the archive to it


@dataclass(frozen=True, slots=True)
class Style:
    """How a sentence is shown to a reader."""

    hidden: bool = False
    font_size: float = 16.0  # CSS pixels
    colour: str = "#000000"
    background: str = "#ffffff"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    paragraph: int  # 0 is the first block of the page
    style: Style = Style()


@dataclass(frozen=True, slots=True)
class Page:
    """What was read out of a response."""

    url: str  # canonical, after redirects
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""  # visible text, blocks separated by newlines
    words: Sequence[str] = ()  # the text's words, lower case, in order, stop words included
    sentences: tuple[Sentence, ...] = ()  # filled when the parser was asked for styles
    language: str = ""  # ISO 639-1, "" when unknown
    charset: str = ""
    canonical: str = ""  # where the page says its canonical form is, "" when it does not
    directives: frozenset[str] = frozenset()  # "noindex", "nofollow"
    links: tuple[Link, ...] = ()
    digest: str = ""  # of the text: equal digests are equal pages


class Twin(NamedTuple):
    """The page that a page repeats, and how one can tell."""

    url: str
    how: str


@dataclass(frozen=True, slots=True)
class Place:
    """A link's place in the frontier: higher scores are fetched sooner."""

    score: float
    carry: Carry = None  # what the link hands down to the page it leads to
    parts: tuple[tuple[str, float], ...] = ()  # what the score is made of, for `why`


@dataclass(frozen=True, slots=True)
class Visit:
    """One fetch and what came of it: stored, learned from, shown live, evaluated."""

    step: int  # 1 is the first fetch of the crawl
    link: Link
    place: Place
    url: str  # where the fetch ended, after redirects
    page: Page | None = None
    relevance: float | None = None  # None: no page to judge
    failure: Failure | None = None
    at: float = 0.0
    status: int = 0
    detail: str = ""
    twin: str = ""  # the address of the page that it repeats, with the failure `DUPLICATE`


#: A fetcher is a function; politeness, robots and recording wrap functions.
Fetch: TypeAlias = Callable[[Link], Awaitable[Response]]

#: A parser is a function too; a response that cannot be read has a named reason.
Parse: TypeAlias = Callable[[Response, Link], "Page | Failure"]
