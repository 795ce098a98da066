"""Settings of a crawl with their help texts, from command-line options, a TOML file or Python."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from topicrawl import strategies
from topicrawl.errors import SeedError, SettingError
from topicrawl.fetch.guard import AddressGuard, parse_networks
from topicrawl.fetch.host_settings import HostSettings, check_host_settings
from topicrawl.fetch.scope import UrlScope, is_on_hosts
from topicrawl.frontier.redis.address import strip_password
from topicrawl.relevance import plugin
from topicrawl.relevance.base import BUILT_IN_JUDGES
from topicrawl.text.embedding import BUILT_IN, check_embedding
from topicrawl.topic import load_toml
from topicrawl.urls import canonicalize_url

_MAX_PROCESSES = 64
_INTEGER_LIMIT = 2**63  # SQLite stores signed 64-bit integers
_PRODUCT = re.compile(r"[A-Za-z0-9_.+~-]{1,64}(/[A-Za-z0-9_.+~-]{1,64})?")  # product name and version of a user agent

#: Values of the setting `render`.
RENDER_MODES = ("off", "auto", "always")


@dataclass(frozen=True)
class Settings:
    """Settings of a crawl. The annotation of each field is its help text."""

    strategy: Annotated[str, "Strategy that orders the links: name or name:parameter=value,…"] = (
        strategies.DEFAULT_STRATEGY
    )
    judge: Annotated[
        str, "Relevance model: topic (a probability), cosine, multi_metric, summary, or your own as module:Class."
    ] = "topic"
    embedding: Annotated[
        str, "Word vectors: built-in (English), none, model2vec:DIRECTORY, or your own as module:Class."
    ] = BUILT_IN
    reviewer: Annotated[
        str, "Language model that reviews uncertain pages: its API, such as http://localhost:11434/v1."
    ] = ""
    reviewer_model: Annotated[str, "Name of the reviewer's model, such as llama3.1:8b."] = ""
    reviewer_calls: Annotated[int, "Maximum number of calls to the reviewer, including earlier runs."] = 100
    reviewer_price_in: Annotated[float, "Price of a million tokens sent to the reviewer, to compute the cost."] = 0.0
    reviewer_price_out: Annotated[float, "Price of a million tokens in the replies of the reviewer."] = 0.0
    learn_from: Annotated[str, "Recorded web or earlier crawl directory that contains the example pages."] = ""
    engine: Annotated[tuple[str, ...], "Search engine to query; `topicrawl seeds --help` lists them."] = ()
    searxng: Annotated[str, "URL of a SearXNG server to query; default: the environment variable SEARXNG_URL."] = ""
    back_links: Annotated[int, "Maximum number of pages for which search engines are queried for backlinks."] = 0
    descriptions: Annotated[int, "Maximum number of links that engines describe, for the strategy hati."] = 0
    sessions: Annotated[str, "File of browsing sessions, for strategies that learn from them."] = ""
    pages: Annotated[int, "Stop after this many stored pages, including earlier runs; 0: no limit."] = 1000
    relevant: Annotated[int, "Stop after this many relevant pages instead of --pages, such as 500; 0: no limit."] = 0
    seconds: Annotated[float, "Stop after this many seconds; 0: no limit."] = 0.0
    stop_when_found: Annotated[float, "Stop at this estimated recall, a number from 0 to 1; 0: never."] = 0.0
    delay: Annotated[float, "Seconds between two requests to a host; a longer Crawl-delay takes precedence."] = 1.0
    domain_delay: Annotated[
        float | None, "Seconds between two requests to the hosts of a registered domain; auto: a quarter of --delay."
    ] = None
    address_delay: Annotated[
        float | None, "Seconds between two requests to the hosts of an IP address; auto: a quarter of --delay."
    ] = None
    concurrency: Annotated[int, "Maximum number of concurrent fetches, each on a different host."] = 64
    processes: Annotated[int, "Processes of the crawl: all but the first one parse pages."] = 1
    min_score: Annotated[float, "Do not fetch links that score less, such as 0.1; 0: no limit."] = 0.0
    focus: Annotated[float, "Links scoring below this fraction of the best waiting link are poor; 0: none is."] = 0.4
    poor_share: Annotated[float, "Maximum share of fetches for poor links while better links wait."] = 0.15
    only: Annotated[tuple[str, ...], "Restrict the crawl to this host and its subdomains."] = ()
    include: Annotated[
        tuple[str, ...], "Follow only links whose URL matches: a glob such as https://a.org/docs/*, or re:REGEX."
    ] = ()
    exclude: Annotated[tuple[str, ...], "Do not follow links whose URL matches: a glob, or re:REGEX."] = ()
    distinct: Annotated[bool, "Do not store exact duplicates and near-duplicates."] = True
    main_text: Annotated[bool, "Judge pages by their main text, without menus and footers."] = False
    host_pages: Annotated[int, "Maximum number of pages per host; 0: no limit."] = 5000
    domain_pages: Annotated[int, "Maximum number of pages per registered domain; 0: no limit."] = 20_000
    address_pages: Annotated[
        int | None, "Maximum number of pages per IP address; 0: no limit; auto: 50,000, except for own addresses."
    ] = None
    depth: Annotated[int, "Maximum number of links between a seed and a page."] = 64
    url_length: Annotated[int, "Maximum length of a URL; longer ones are not followed."] = 2000
    timeout: Annotated[float, "Timeout of one request in seconds."] = 30.0
    max_bytes: Annotated[int, "Maximum size of a page in bytes, decompressed."] = 10 * 1024 * 1024
    documents: Annotated[bool, "Also read PDF, PostScript, docx, odt, EPUB, gzip and zip."] = True
    document_seconds: Annotated[float, "CPU time limit for converting one document, in seconds."] = 20.0
    render: Annotated[str, "Run the scripts of pages in Chromium: off, auto (pages without text), always."] = "off"
    render_pages: Annotated[int, "Maximum number of rendered pages per run; 0: no limit."] = 1000
    render_seconds: Annotated[float, "Time limit for rendering one page, in seconds."] = 60.0
    render_memory: Annotated[int, "Maximum memory of the browser in MB."] = 1024
    browser: Annotated[str, "Name or path of the browser for --render; default: the first Chromium found."] = ""
    sitemaps: Annotated[bool, "Also find links in sitemaps, feeds and the heads of pages."] = True
    attempts: Annotated[int, "Maximum number of attempts for a page whose host fails temporarily."] = 3
    patience: Annotated[float, "Seconds to wait for unreachable hosts when no other links are left."] = 600.0
    user_agent: Annotated[
        str, "Name of the crawler in the user agent and for robots.txt, such as MyBot/1.0; default: topicrawl."
    ] = ""
    contact: Annotated[str, "Your e-mail address or web page, sent to every host in the user agent."] = ""
    robots: Annotated[bool, "Obey robots.txt; disable this only for your own hosts."] = True
    proxy: Annotated[str, "URL of an HTTP proxy for all requests."] = ""
    allow_net: Annotated[tuple[str, ...], "Private network that may be crawled, such as 127.0.0.0/8."] = ()
    resolve: Annotated[tuple[str, ...], "Fixed IP address for a host name, as name=address; it may be private."] = ()
    frontier: Annotated[str, "Redis server that workers share, such as redis://host:6379/0; default: a file."] = ""
    store: Annotated[str, "Where workers upload copies of their files, such as s3://bucket/path (fsspec)."] = ""
    lease: Annotated[float, "Seconds without a heartbeat after which a worker is considered dead."] = 60.0
    capacity: Annotated[int, "Maximum number of waiting links in Redis, the rest is compressed; 0: no limit."] = 0
    cooperate: Annotated[bool, "Exchange URLs with crawls on other topics."] = True
    share_with: Annotated[
        tuple[str, ...], "Crawl on another server that gets URLs, as https://HOST/api/collections/NAME."
    ] = ()
    min_free: Annotated[int, "Stop when less than this many MB are free on the disk."] = 100
    hosts: Annotated[
        dict[str, HostSettings], "Settings of single hosts, only in a settings file: tables such as [hosts.'a.org']."
    ] = dataclasses.field(default_factory=dict)

    @property
    def has_cosine_judge(self) -> bool:
        """Whether pages are judged by their cosine similarity. Crawls of version 0.1 have an empty name for it."""
        return self.judge in ("", "cosine")

    @property
    def has_built_in_judge(self) -> bool:
        """Whether the relevance model is one of Topicrawl."""
        return self.has_cosine_judge or self.judge in BUILT_IN_JUDGES

    @property
    def has_similarity_judge(self) -> bool:
        """Whether strategies compare pages with the topic themselves. With other judges they ask the judge."""
        return self.has_cosine_judge or self.judge == "topic"

    def __post_init__(self) -> None:
        for setting in dataclasses.fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int | float) and not 0 <= value < float("inf"):
                raise SettingError(f"{setting.name} is {value}: it must be 0 or more")
        for name in ("focus", "poor_share", "stop_when_found"):
            if getattr(self, name) > 1:
                raise SettingError(f"{name} is {getattr(self, name)}: it must be between 0 and 1")
        for name in self.only:
            if canonicalize_url(f"http://{name}/") != f"http://{name}/" or ":" in name:
                raise SettingError(f"only must be a host name such as example.org, not {name!r}")
        if self.frontier and self.lease < 1:
            raise SettingError("lease must be 1 or more: a request may take that long")
        if self.render not in RENDER_MODES:
            raise SettingError(f"render is {self.render!r}: it must be {', '.join(RENDER_MODES[:-1])} or always")
        if self.render_seconds < 1 or self.render_memory < 512:
            raise SettingError("render_seconds must be 1 or more, and render_memory 512 or more")
        self._check_counts()
        parse_networks(self.allow_net)
        self.parse_fixed_addresses()
        strategies.create_strategy(self.strategy)
        if not self.has_built_in_judge:
            plugin.load_judge_class(self.judge)
        check_embedding(self.embedding)
        self._check_network()
        self._check_reviewer()

    def _check_counts(self) -> None:
        """Raise `SettingError` for numbers of fetches, attempts or processes outside their limits."""
        if self.concurrency < 1 or self.attempts < 1:
            raise SettingError("concurrency and attempts must be 1 or more")
        if not 1 <= self.processes <= _MAX_PROCESSES:
            raise SettingError(f"processes is {self.processes}: it must be between 1 and {_MAX_PROCESSES}")

    def _check_network(self) -> None:
        """Raise `SettingError` for invalid settings of the scope, of requests or of single hosts."""
        if not self.contact.isprintable() or not self.contact.isascii():
            raise SettingError(f"contact is {self.contact!r}: it is sent in a header, so use one line of ASCII text")
        if self.user_agent and not _PRODUCT.fullmatch(self.user_agent):
            raise SettingError(f"user_agent is {self.user_agent!r}: write a name and a version, such as MyBot/1.0")
        self.build_scope()
        check_host_settings(self.hosts)
        if self.frontier and any(host.pages is not None for host in self.hosts.values()):
            raise SettingError("a shared crawl has one page limit for all hosts: remove pages from the tables of hosts")
        if self.proxy and canonicalize_url(self.proxy) is None:
            # The message omits the value, because it may contain a password.
            raise SettingError("the proxy is not a URL: write it as http://proxy.example:3128")

    def _check_reviewer(self) -> None:
        """Raise `SettingError` for an invalid reviewer. The messages omit its URL, which may contain a password."""
        if not self.reviewer:
            return
        if canonicalize_url(self.reviewer) is None or any(character in self.reviewer for character in "?#"):
            raise SettingError("the reviewer is not the base URL of an API: write it as http://localhost:11434/v1")
        if "@" in self.reviewer:
            raise SettingError("the reviewer contains a user name: remove it, and set TOPICRAWL_REVIEWER_KEY instead")
        if not self.reviewer_model.strip():
            raise SettingError("the reviewer needs the name of a model: --reviewer-model NAME")
        if self.frontier:
            raise SettingError("a shared crawl has no reviewer: remove --reviewer, or crawl without --frontier")

    def build_scope(self) -> UrlScope:
        """Return the scope of the crawl. Raise `SettingError` for an invalid pattern."""
        return UrlScope(self.only, include=self.include, exclude=self.exclude)

    def export_hosts(self) -> dict[str, Any]:
        """Return the settings of single hosts as JSON values, without the passwords of proxies."""
        exported = {}
        for name, host in self.hosts.items():
            has_literal_password = host.proxy is not None and "${" not in host.proxy
            proxy = strip_password(host.proxy) if host.proxy and has_literal_password else host.proxy
            exported[name] = msgspec.to_builtins(msgspec.structs.replace(host, proxy=proxy))
        return exported

    def parse_fixed_addresses(self) -> dict[str, str]:
        """Return the fixed IP addresses of the setting `resolve` by host name."""
        by_name = {}
        for item in self.resolve:
            name, _, address = item.partition("=")
            try:
                by_name[name] = str(ip_address(address))
            except ValueError as error:
                raise SettingError(f"resolve must be name=address with an IP address, not {item!r}") from error
        return by_name


class SettingInfo(NamedTuple):
    """Type, default value and help text of a setting."""

    kind: type
    default: object
    help: str


def parse_stored_settings(stored: Mapping[str, Any], overrides: Mapping[str, object] | None = None) -> Settings:
    """Return the settings that a crawl has stored. Skip those that this version does not have.

    The first versions had no judge but the cosine similarity, so they did not store its name.
    """
    known = list_settings()
    values: dict[str, Any] = {"judge": ""} if stored else {}
    for name, value in (*stored.items(), *(overrides or {}).items()):
        if name in known:
            values[name] = tuple(value) if isinstance(value, list) else value
    if values.get("hosts"):
        values["hosts"] = _parse_hosts(values["hosts"], "the stored settings")
    return Settings(**values)


def list_settings() -> dict[str, SettingInfo]:
    """Return all settings by name, for options, files and the reference.

    >>> list_settings()["pages"].default
    1000
    """
    hints = get_type_hints(Settings, include_extras=True)
    infos = {}
    for item in dataclasses.fields(Settings):
        kind, sentence = get_args(hints[item.name])
        if isinstance(kind, UnionType):  # a number, or None for a value that depends on other settings
            kind = get_args(kind)[0]
        default = {} if item.default is dataclasses.MISSING else item.default
        infos[item.name] = SettingInfo(get_origin(kind) or kind, default, sentence)
    return infos


def _parse_hosts(table: Mapping[str, Any], where: object) -> dict[str, HostSettings]:
    """Return the settings of hosts from their tables. Raise `SettingError` for unknown names and wrong types."""
    hosts = {}
    for name, values in table.items():
        try:
            hosts[name] = values if isinstance(values, HostSettings) else msgspec.convert(values, HostSettings)
        except msgspec.ValidationError as error:
            raise SettingError(f"{where}: hosts.{name!r}: {str(error).replace('object', 'table')}") from error
    return hosts


def load_settings_file(path: Path) -> dict[str, object]:
    """Load settings from a TOML file. Raise `SettingError` for unknown names and wrong types."""
    table = load_toml(path, SettingError)
    expected = list_settings()
    for name, value in table.items():
        if name not in expected:
            near = difflib.get_close_matches(name, expected, 1)
            hint = f"did you mean {near[0]!r}?" if near else "`topicrawl crawl --help` lists them"
            raise SettingError(f"{path}: unknown setting {name!r}; {hint}")
        kind = expected[name].kind
        if isinstance(value, int) and abs(value) >= _INTEGER_LIMIT:
            raise SettingError(f"{path}: {name} is too large: it must be below 2**63")
        if name == "hosts" and isinstance(value, dict):
            table[name] = _parse_hosts(value, path)
        elif kind is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
            table[name] = tuple(value)
        elif kind is float and isinstance(value, int) and not isinstance(value, bool):
            table[name] = float(value)
        elif type(value) is not kind:
            raise SettingError(f"{path}: {name} must be {kind.__name__}, not {value!r}")
    return table


def resolve_goals(given: Mapping[str, object]) -> dict[str, object]:
    """Return given settings in which a limit of relevant pages replaces the limit of pages, and vice versa.

    >>> resolve_goals({"relevant": 500}), resolve_goals({"relevant": 500, "pages": 9000})
    ({'relevant': 500, 'pages': 0}, {'relevant': 500, 'pages': 9000})
    """
    settings = dict(given)
    for name, other in (("relevant", "pages"), ("pages", "relevant")):
        if given.get(name) and other not in given:
            settings[other] = 0
    return settings


def parse_seed_urls(texts: Sequence[str]) -> list[str]:
    """Return seeds in canonical form. Raise `SeedError` for the first one that is not an http or https URL."""
    urls = []
    for text in texts:
        url = canonicalize_url(text.strip())
        if url is None:
            completed = None if "://" in text else canonicalize_url(f"https://{text.strip()}")
            hint = f"; did you mean https://{text.strip()}?" if completed else ""
            raise SeedError(f"the seed {text!r} is not a web address (http or https){hint}")
        urls.append(url)
    return urls


def check_seeds(seeds: Sequence[str], settings: Settings) -> list[str]:
    """Return seeds in canonical form.

    Raise `SeedError` for a seed outside the hosts in `settings.only`, one that `settings.exclude` matches, or one with
    a port that the guard always refuses.
    """
    urls = parse_seed_urls(seeds)
    scope = settings.build_scope()
    guard = AddressGuard(parse_networks(settings.allow_net))
    for url in urls:
        port = guard.find_refused_port(url)
        if port is not None:
            raise SeedError(
                f"the seed {url} is refused: port {port} belongs to a service other than a web server; if the host is "
                "yours, allow its network with --allow-net"
            )
        if settings.only and not is_on_hosts(settings.only, url):
            hosts = " or ".join(settings.only)
            raise SeedError(f"the seed {url} is not on {hosts}: change the seed or --only")
        if scope.excludes(url):
            raise SeedError(f"the seed {url} matches a pattern of --exclude: change the seed or the pattern")
    return urls
