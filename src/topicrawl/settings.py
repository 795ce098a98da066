"""Everything about a crawl that can be set, with a sentence each; from options, from a TOML file, or in Python."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, NamedTuple, get_args, get_origin, get_type_hints

from topicrawl import strategies
from topicrawl.errors import SeedError, SettingError
from topicrawl.fetch.guard import networks
from topicrawl.relevance import guest
from topicrawl.topic import toml_table
from topicrawl.urls import canonical, host

_LARGEST = 2**63  # of a whole number, as databases have it


@dataclass(frozen=True)
class Settings:
    """Everything about a crawl that can be set, by option or in a TOML file; each with its sentence."""

    strategy: Annotated[str, "Which crawler orders the links: name or name:parameter=value,…"] = strategies.USUAL
    judge: Annotated[str, "Who judges pages: a class of your own as module:Class; by default the topic's words."] = ""
    learn_from: Annotated[str, "A recorded web, or an earlier crawl's directory, where example pages are read."] = ""
    engine: Annotated[tuple[str, ...], "A search engine to ask; `topicrawl seeds --help` lists them."] = ()
    searxng: Annotated[str, "The address of a SearXNG server to ask; else SEARXNG_URL in the environment."] = ""
    back_links: Annotated[int, "Pages at the most of which engines are asked who links to them."] = 0
    descriptions: Annotated[int, "Links at the most that engines are asked to describe, for the strategy hati."] = 0
    sessions: Annotated[str, "A file of browsing sessions, for strategies that learn from them."] = ""
    pages: Annotated[int, "Stop when this many pages are kept, earlier runs included; 0: no limit."] = 1000
    seconds: Annotated[float, "Stop after this many seconds; 0: no limit."] = 0.0
    stop_when_found: Annotated[float, "Stop when this share of what is in reach seems found; 0: never."] = 0.0
    delay: Annotated[float, "Seconds between two requests to one host; a longer Crawl-delay is honoured."] = 1.0
    concurrency: Annotated[int, "Fetches under way at once, each on another host."] = 64
    focus: Annotated[float, "Links worth less than this share of the best ones lately get few of the fetches."] = 0.5
    only: Annotated[tuple[str, ...], "Stay on this host and the hosts below it."] = ()
    distinct: Annotated[bool, "Keep no page that repeats another, nearly or wholly."] = True
    main_text: Annotated[bool, "Judge pages by their main text, without menus and footers."] = False
    host_pages: Annotated[int, "Pages from one host at the most; 0: no limit."] = 5000
    depth: Annotated[int, "Links from a seed at the most."] = 64
    url_length: Annotated[int, "Longer addresses are not followed."] = 2000
    timeout: Annotated[float, "Seconds for one request."] = 30.0
    max_bytes: Annotated[int, "Larger pages are refused (bytes, decompressed)."] = 10 * 1024 * 1024
    documents: Annotated[bool, "Read PDF, PostScript, docx, odt, EPUB, gzip and zip too."] = True
    document_seconds: Annotated[float, "Seconds of computing that one document may take."] = 20.0
    attempts: Annotated[int, "Attempts at a page whose host fails in a way that may pass."] = 3
    patience: Annotated[float, "Seconds to wait for unreachable hosts when nothing else is left."] = 600.0
    contact: Annotated[str, "Your e-mail address or web page, told to every host in the user agent."] = ""
    robots: Annotated[bool, "Obey robots.txt; switch off only on hosts of your own."] = True
    proxy: Annotated[str, "An HTTP proxy for all requests, as a URL."] = ""
    allow_net: Annotated[tuple[str, ...], "A private network that may be asked, such as 127.0.0.0/8."] = ()
    resolve: Annotated[tuple[str, ...], "A fixed address for a host name, as name=address."] = ()
    frontier: Annotated[str, "A Redis that workers share, such as redis://host:6379/0; by default a file."] = ""
    store: Annotated[str, "Where workers leave copies of what they fetch, such as s3://bucket/path (fsspec)."] = ""
    lease: Annotated[float, "Seconds after which a worker that is not heard of is given up."] = 60.0
    capacity: Annotated[int, "Links that wait in Redis at the most, the rest is packed; 0: no limit."] = 0
    cooperate: Annotated[bool, "Exchange addresses with crawls on other topics in the same Redis."] = True
    min_free: Annotated[int, "Stop when less than this many MB are free on the disk."] = 100

    def __post_init__(self) -> None:
        for setting in dataclasses.fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int | float) and not 0 <= value < float("inf"):
                raise SettingError(f"{setting.name} is {value}: it must be 0 or more")
        for name in ("focus", "stop_when_found"):
            if getattr(self, name) > 1:
                raise SettingError(f"{name} is {getattr(self, name)}: it is a share, from 0 to 1")
        for name in self.only:
            if canonical(f"http://{name}/") != f"http://{name}/" or ":" in name:
                raise SettingError(f"only takes a host name such as example.org, not {name!r}")
        if self.frontier and self.lease < 1:
            raise SettingError("lease must be 1 or more: a request may take as long")
        if self.concurrency < 1 or self.attempts < 1:
            raise SettingError("concurrency and attempts must be 1 or more")
        networks(self.allow_net)
        self.addresses()
        strategies.make(self.strategy)
        if self.judge:
            guest.known(self.judge)
        if not self.contact.isprintable() or not self.contact.isascii():
            raise SettingError(f"contact is {self.contact!r}: it goes into a header, so write plain ASCII on one line")
        if self.proxy and canonical(self.proxy) is None:
            # Not shown: a password may stand in it.
            raise SettingError("the proxy is no URL: write it such as http://proxy.example:3128")

    def addresses(self) -> dict[str, str]:
        """Host names with the fixed addresses that were given for them."""
        found = {}
        for item in self.resolve:
            name, _, address = item.partition("=")
            try:
                found[name] = str(ip_address(address))
            except ValueError as error:
                raise SettingError(f"resolve takes name=address with an IP address, not {item!r}") from error
        return found


class Known(NamedTuple):
    """What is known of a setting."""

    kind: type
    default: object
    sentence: str


def known_settings() -> dict[str, Known]:
    """Every setting by its name, for options, files and the reference.

    >>> known_settings()["pages"].default
    1000
    """
    hints = get_type_hints(Settings, include_extras=True)
    found = {}
    for item in dataclasses.fields(Settings):
        kind, sentence = get_args(hints[item.name])
        found[item.name] = Known(get_origin(kind) or kind, item.default, sentence)
    return found


def read_settings(path: Path) -> dict[str, object]:
    """The settings of a TOML file; a mistake is one line that says where."""
    table = toml_table(path, SettingError)
    expected = known_settings()
    for name, value in table.items():
        if name not in expected:
            near = difflib.get_close_matches(name, expected, 1)
            hint = f"did you mean {near[0]!r}?" if near else "`topicrawl crawl --help` lists them"
            raise SettingError(f"{path}: unknown setting {name!r}; {hint}")
        kind = expected[name].kind
        if isinstance(value, int) and abs(value) >= _LARGEST:
            raise SettingError(f"{path}: {name} is too large a number")
        if kind is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
            table[name] = tuple(value)
        elif kind is float and isinstance(value, int) and not isinstance(value, bool):
            table[name] = float(value)
        elif type(value) is not kind:
            raise SettingError(f"{path}: {name} must be {kind.__name__}, not {value!r}")
    return table


def within(names: Sequence[str], url: str) -> bool:
    """Whether a URL is on one of the hosts or on a host below one.

    >>> [within(("example.org",), f"http://{name}/") for name in ("example.org", "a.example.org:81", "notexample.org")]
    [True, True, False]
    """
    name = host(url).partition(":")[0]
    return any(name == it or name.endswith(f".{it}") for it in names)


def seed_urls(texts: Sequence[str]) -> list[str]:
    """Seeds in canonical form; the first that is not a web address is refused."""
    urls = []
    for text in texts:
        url = canonical(text.strip())
        if url is None:
            hint = f"; did you mean https://{text.strip()}?" if canonical(f"https://{text.strip()}") else ""
            raise SeedError(f"the seed {text!r} is not a web address (http or https){hint}")
        urls.append(url)
    return urls
