"""Data classes of a crawl: Link → Response → Page → Visit, and the Priority that a strategy gives a link.

All records are frozen `msgspec.Struct` classes; `msgspec.structs.replace` returns a changed copy. Only `Response` holds
the bytes of a page; `Page` holds the parsed content. A page has a hundred links with priorities, which cannot be part
of a reference cycle: `gc=False` keeps them out of garbage collection, which saves 1 % of the cost of a page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field

#: JSON value, such as the payload that a strategy attaches to a link.
JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


class Failure(StrEnum):
    """Reason why a fetch produced no page. The value appears in status, logs and JSON."""

    ADDRESS = "address_refused"  # the host resolves to an address outside the public internet
    PORT = "port_refused"  # the port belongs to another service, such as a mail server or a database
    DNS = "dns"  # the host name has no address
    CONNECTION = "connection"  # the host does not answer, or closes the connection
    TLS = "tls"  # the TLS certificate is not valid
    TIMEOUT = "timeout"  # no complete response in time
    BAD_RESPONSE = "bad_response"  # not HTTP, truncated, or undecodable
    TOO_LARGE = "too_large"  # more bytes than `max_bytes`
    REDIRECTS = "too_many_redirects"  # more than ten, or a redirect loop
    BAD_REDIRECT = "bad_redirect"  # the redirect target is missing or not an http or https URL
    NOT_FOUND = "not_found"  # 404, 410
    FORBIDDEN = "forbidden"  # 401, 403, 407, 451
    CLIENT_ERROR = "client_error"  # any other 4xx
    RATE_LIMITED = "rate_limited"  # 429
    SERVER_ERROR = "server_error"  # 5xx
    EMPTY = "no_content"  # a successful response without a body: 204, 304, zero bytes
    CONTENT_TYPE = "content_type"  # neither a web page nor a supported document format
    ROBOTS = "robots"  # disallowed by robots.txt
    ROBOTS_UNREACHABLE = "robots_unreachable"  # robots.txt cannot be fetched, so the host may not be requested yet
    NOINDEX = "noindex"  # the page carries a noindex directive
    NOARCHIVE = "noarchive"  # the page carries a noarchive directive
    LINK_LIST = "link_list"  # a sitemap or a feed: its links are followed, but it is not a page
    DUPLICATE = "duplicate"  # the page is already stored, or repeats a stored page
    UNPARSED = "unparsed"  # the document is damaged, or the process that reads it crashed
    READING_LIMIT = "reading_limit"  # the document or page needs more time or memory than allowed
    PROCESSING = "processing_error"  # the crawler raised an exception while it processed the page
    RENDERING = "rendering"  # the browser crashed, or the scripts of the page exceeded a limit
    NESTED = "nested_archive"  # an archive inside an archive
    ENCRYPTED = "encrypted"  # the document requires a password
    NO_READER = "no_reader"  # the reader for this document format is not installed
    HOST_LEASE_EXPIRED = "turn_over"  # shared crawl: the host lease expired before the request; fetched later
    ADDRESS_FULL = "address_full"  # the IP address has reached `address_pages` pages; the link is refused
    ADDRESS_BUSY = "address_busy"  # other hosts of the same IP address or registered domain come first; fetched later
    NOT_RECORDED = "not_recorded"  # replay only: the URL is not in the recording


class Damage(StrEnum):
    """Deviation of a response from the HTTP standard. Browsers display such a page, and the crawler stores it."""

    STATUS_LINE = "status_line"  # unusual protocol name, version or spacing, or no reason phrase
    HEADER_LINES = "header_lines"  # white space around a name, a folded line, a line without a name, bare line feeds
    FRAMING = "framing"  # repeated or invalid Content-Length, or Content-Length with a chunked body
    TRUNCATED = "truncated"  # the connection ended before the body
    ENCODING = "encoding"  # the compressed body is truncated or corrupt; its beginning is stored


#: Failures with the names of the directives by which a page forbids to store it.
STORAGE_DIRECTIVES = (Failure.NOINDEX, Failure.NOARCHIVE)


class LinkContextLevel(IntEnum):
    """How much link context the parser extracts. Less context takes less time."""

    NONE = 0  # only URL, anchor text, alternative text, rel and position
    FULL = 1  # also words, sentence, heading and tag path
    WITHOUT_SENTENCE = 2  # everything except the sentence


class Refusal(StrEnum):
    """Reason why a link was not added to the frontier."""

    NOFOLLOW = "nofollow"  # the link or its page carries a nofollow directive
    TOO_DEEP = "too_deep"  # farther from a seed than `depth` links
    TOO_LONG = "url_too_long"  # the URL, its path or its query exceeds the limits
    REPEATING = "repeating_path"  # the path repeats the same segment
    HOST_BUDGET = "host_budget"  # the host has reached `host_pages` pages
    DOMAIN_BUDGET = "domain_budget"  # the registered domain has reached `domain_pages` pages
    ADDRESS_BUDGET = "address_budget"  # the IP address of the host has reached `address_pages` pages
    BLOCKED_PORT = "blocked_port"  # the port belongs to another service, such as a mail server or a database
    OUT_OF_SCOPE = "out_of_scope"  # not in the recording, or outside the hosts in `only`
    STRATEGY = "strategy"  # the strategy decided not to follow the link
    TRAP = "trap"  # many pages with this URL pattern brought no new content
    SET_ASIDE = "set_aside"  # leased several times without a result, because the process died each time
    DROPPED = "dropped"  # the frontier was full and the link had one of the lowest scores


class Link(Struct, frozen=True, gc=False):
    """A link with its context on the source page. A seed has no source."""

    url: str  # canonical
    source: str = ""  # URL of the page that contains the link
    anchor: str = ""
    alt: str = ""  # alternative text of images inside the link
    before: Sequence[str] = ()  # up to 20 words before the link without stop words, in reading order
    after: Sequence[str] = ()  # the same after the link
    sentence: str = ""  # unprocessed sentence around the link
    heading: str = ""  # nearest heading above the link
    tag_path: str = ""  # enclosing elements, outermost first: "body/div.nav/ul/li"
    position: int = 0  # index among the links of the page
    rel: str = ""  # lower case, words separated by one space
    depth: int = 0  # number of links from a seed


class WireResponse(Struct, frozen=True):
    """A response as the host sent it: status line and headers, and the body with all of its encodings."""

    head: bytes
    body: bytes
    is_cut: bool = False  # the crawler did not read the whole body


class RedirectHop(Struct, frozen=True):
    """One redirect before the final response: an HTTP redirect, or an HTML page with a meta refresh (status 200)."""

    url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # only for a page with a meta refresh
    body: bytes = b""  # only for a page with a meta refresh; hops that are read from an archive have none
    wire: WireResponse | None = None  # hops that are read from an archive have none


class ReadableDocument(NamedTuple):
    """Text of a document, converted to a format that the page parsers can read."""

    type: str  # as in Content-Type
    body: bytes


class Response(Struct, frozen=True):
    """Response of a host, with the body decoded from its content encoding; or the reason why there is none."""

    url: str  # as requested
    final_url: str  # after redirects; canonical
    status: int = 0  # 0: no HTTP response
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    at: float = 0.0  # start of the last request, in seconds since 1970
    hops: tuple[RedirectHop, ...] = ()
    failure: Failure | None = None
    detail: str = ""  # one-line explanation of the failure
    wait: float | None = None  # seconds until the next request to the host, as the host or the rate limit demands
    seconds: float = 0.0  # duration of the fetch
    request: Mapping[str, str] = field(default_factory=dict)  # request headers
    archive_url: str = ""  # URL of the archive that contains this file; "": fetched over HTTP
    readable: ReadableDocument | None = None  # replaces the body for the parsers
    damage: tuple[Damage, ...] = ()  # deviations from the HTTP standard
    wire: WireResponse | None = None  # None: not known, for example for a page that was read from an archive
    is_unfollowed_redirect: bool = False  # the redirect to `final_url` has not been followed; there is no body

    @property
    def content_type(self) -> str:
        """Media type without parameters, in lower case."""
        return parse_media_type(self.headers.get("content-type", ""))


def parse_media_type(content_type: str) -> str:
    """Return the media type of a Content-Type header without parameters, in lower case. The first of a list counts.

    >>> parse_media_type("Text/HTML; charset=x"), parse_media_type("text/html, text/html; charset=x")
    ('text/html', 'text/html')
    """
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


class UnpackedResponse(NamedTuple):
    """A response that can be parsed or has a failure, with the member files if it is an archive."""

    response: Response
    members: Sequence[tuple[Link, Response]] = ()  # each with a link from the archive to the member


class ParsedResponse(NamedTuple):
    """A response with its page. A response without a page has a failure."""

    response: Response
    page: Page | None = None


class Style(Struct, frozen=True):
    """Computed style of a sentence."""

    hidden: bool = False
    font_size: float = 16.0  # CSS pixels
    colour: str = "#000000"
    background: str = "#ffffff"


class Sentence(Struct, frozen=True):
    """A sentence of a page with its computed style."""

    text: str
    paragraph: int  # index of the text block on the page
    style: Style = Style()


class Page(Struct, frozen=True):
    """Parsed content of a response."""

    url: str  # canonical, after redirects
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""  # visible text, blocks separated by newlines
    words: Sequence[str] = ()  # words of the text in order, lower case, including stop words
    sentences: tuple[Sentence, ...] = ()  # only if the parser was called with styles
    language: str = ""  # ISO 639-1, "" if unknown
    charset: str = ""
    canonical: str = ""  # canonical URL that the page declares, "" if none
    directives: frozenset[str] = frozenset()  # "noindex", "noarchive", "nofollow"
    links: tuple[Link, ...] = ()
    digest: str = ""  # hash of the text: equal digests mean equal texts
    is_link_list: bool = False  # a sitemap or a feed: only its links are used


class DuplicateMatch(NamedTuple):
    """The stored page that a new page repeats, and the reason for the match."""

    url: str
    reason: str  # one line for users, such as "the same text as http://…"


class Priority(Struct, frozen=True, gc=False):
    """Priority of a link in the frontier. Links with higher scores are fetched first."""

    score: float
    payload: JsonValue = None  # strategy data that is passed on to the target page
    parts: tuple[tuple[str, float], ...] = ()  # named components of the score, for `why`


class PageJudgement(Struct, frozen=True):
    """What the relevance model says about a page besides its relevance. It is stored with the page, for the review."""

    group: str = ""  # review group: "undoubted", or what selects the page; "" if it is not relevant
    metrics: tuple[str, ...] = ()  # metrics that select the page
    scores: Mapping[str, float] = field(default_factory=dict)  # values of the metrics


class Visit(Struct, frozen=True):
    """One fetch and its result."""

    step: int  # number of the fetch in the crawl, from 1
    link: Link
    priority: Priority
    url: str  # final URL after redirects
    page: Page | None = None
    relevance: float | None = None  # None: no page to score
    failure: Failure | None = None
    at: float = 0.0
    status: int = 0
    detail: str = ""
    duplicate_of: str = ""  # URL of the stored page that this page repeats, with the failure `DUPLICATE`
    judgement: PageJudgement | None = None  # None: the relevance model has not judged the page in this run


#: Fetch function. Politeness, robots.txt checks and recording wrap such functions.
FetchFunction: TypeAlias = Callable[[Link], Awaitable[Response]]

#: Parse function. It returns a failure for a response that it cannot parse.
ParseFunction: TypeAlias = Callable[[Response, Link], "Page | Failure"]
