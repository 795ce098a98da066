"""Create the search engine providers that the user selects.

ddgs                the metasearch library, one engine of each index; ddgs:mojeek: one of its engines
searxng             the default engines of a SearXNG server; searxng:google: one of its engines
brave               Brave's API
commoncrawl:who.int the pages of a domain in Common Crawl's index
recorded:FILE       recorded answers
module:Class        a provider of the user
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topicrawl.errors import SeedError
from topicrawl.plugins import is_plugin_spec
from topicrawl.seeds import metasearch, plugin
from topicrawl.seeds.brave import API_URL as BRAVE
from topicrawl.seeds.brave import BraveProvider
from topicrawl.seeds.common_crawl import INDEX_LIST_URL as COMMON_CRAWL
from topicrawl.seeds.common_crawl import CommonCrawlProvider
from topicrawl.seeds.provider import HttpGet, SearchProvider
from topicrawl.seeds.recorded_answers import RecordedProvider
from topicrawl.seeds.searxng import SearxngProvider
from topicrawl.urls import canonicalize_url

ENGINE_KINDS = ("ddgs", "searxng", "brave", "commoncrawl", "recorded")
NO_ENGINE_MESSAGE = (
    "no search engine is set up: install several without a key with pip install 'topicrawl[search]', give a SearXNG "
    "server with --searxng URL (or SEARXNG_URL), or set a key in BRAVE_API_KEY; or give the first pages with "
    "--seed URL"
)


@dataclass(frozen=True)
class EngineAccess:
    """HTTP client, server, keys and limits for the access to search engines."""

    get: HttpGet
    searxng: str = ""  # URL of a server
    brave_key: str = field(default="", repr=False)
    timeout: float = 20.0
    proxy: str = ""
    brave_url: str = BRAVE
    common_crawl_url: str = COMMON_CRAWL


def build_providers(specs: Sequence[str], access: EngineAccess) -> list[SearchProvider]:
    """Create the providers that the user names, or all that are set up. Raise `SeedError` if there is none."""
    selected = list(dict.fromkeys(specs)) or list_available_engines(access)
    if not selected:
        raise SeedError(NO_ENGINE_MESSAGE)
    return [_build_provider(spec, access) for spec in selected]


def list_available_engines(access: EngineAccess) -> list[str]:
    """Return the kinds of engines that work without further input."""
    ready = {"ddgs": metasearch.is_installed(), "searxng": bool(access.searxng), "brave": bool(access.brave_key)}
    return [kind for kind, is_ready in ready.items() if is_ready]


def _build_provider(spec: str, access: EngineAccess) -> SearchProvider:
    """Create one provider from its specification. Raise `SeedError` if it is unknown or not set up."""
    kind, _, name = spec.strip().partition(":")
    factories: dict[str, Callable[[str, EngineAccess], SearchProvider]] = {
        "ddgs": _build_ddgs,
        "searxng": _build_searxng,
        "brave": _build_brave,
        "commoncrawl": _build_common_crawl,
        "recorded": _build_recorded,
    }
    if kind not in factories:
        if is_plugin_spec(spec):
            return plugin.load_provider(spec, access.get)
        raise SeedError(
            f"there is no engine {spec!r}: use {', '.join(ENGINE_KINDS)}, with a name after a colon where needed, "
            "or module:Class for your own provider"
        )
    return factories[kind](name.strip(), access)


def _build_ddgs(name: str, access: EngineAccess) -> SearchProvider:
    return metasearch.build_ddgs_provider([name] if name else [], timeout=access.timeout, proxy=access.proxy)


def _build_searxng(name: str, access: EngineAccess) -> SearchProvider:
    if not access.searxng:
        raise SeedError("no SearXNG server is set: give --searxng URL or set SEARXNG_URL in the environment")
    url = canonicalize_url(access.searxng)
    if url is None:
        raise SeedError(f"the SearXNG server {access.searxng!r} is not a web address: write https://…")
    return SearxngProvider(access.get, url, [name] if name else [])


def _build_brave(name: str, access: EngineAccess) -> SearchProvider:
    if name:
        raise SeedError("brave takes no name: its key comes from BRAVE_API_KEY in the environment")
    key = access.brave_key.strip()
    if not key:
        raise SeedError("brave needs a key: set BRAVE_API_KEY in the environment")
    if not key.isascii() or not key.isprintable():
        raise SeedError("the key in BRAVE_API_KEY has characters that are not allowed in a header")
    return BraveProvider(access.get, key, access.brave_url)


def _build_common_crawl(name: str, access: EngineAccess) -> SearchProvider:
    if canonicalize_url(f"http://{name}/") != f"http://{name}/" or ":" in name:
        raise SeedError(f"commoncrawl needs a domain, for example commoncrawl:example.org, not {name!r}")
    return CommonCrawlProvider(access.get, name, access.common_crawl_url)


def _build_recorded(name: str, access: EngineAccess) -> SearchProvider:
    if not name:
        raise SeedError("recorded needs a file: recorded:FILE")
    return RecordedProvider(Path(name))


def build_text_providers(specs: Sequence[str], access: EngineAccess) -> list[SearchProvider]:
    """Create the providers that search page texts and can therefore find backlinks. URL indexes are left out.

    Raise `SeedError` if none is left.
    """
    selected = [
        provider for provider in build_providers(specs, access) if not isinstance(provider, CommonCrawlProvider)
    ]
    if not selected:
        raise SeedError("commoncrawl has no page texts, so it cannot find backlinks: add another --engine")
    return selected
