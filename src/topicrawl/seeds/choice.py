"""From what the user wrote to the engines that are asked.

ddgs                the metasearch library, one engine of each index; ddgs:mojeek: one of its engines
searxng             the usual engines of a SearXNG server; searxng:google: one of its engines
brave               Brave's API
commoncrawl:who.int the pages of a domain in Common Crawl's index
recorded:FILE       answers that were written down
module:Class        a provider of one's own
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topicrawl.errors import SeedError
from topicrawl.outside import is_outside
from topicrawl.seeds import guest, metasearch
from topicrawl.seeds.brave import URL as BRAVE
from topicrawl.seeds.brave import Brave
from topicrawl.seeds.provider import Get, Provider
from topicrawl.seeds.recorded import Recorded
from topicrawl.seeds.searxng import Searxng
from topicrawl.seeds.web_index import URL as COMMON_CRAWL
from topicrawl.seeds.web_index import CommonCrawl
from topicrawl.urls import canonical

KINDS = ("ddgs", "searxng", "brave", "commoncrawl", "recorded")
NONE_SET_UP = (
    "no search engine is set up: pip install 'topicrawl[search]' for several without a key, name a SearXNG server "
    "with --searxng URL (or in SEARXNG_URL), or put a key into BRAVE_API_KEY; or name the first pages yourself: "
    "--seed URL"
)


@dataclass(frozen=True)
class Access:
    """What engines are reached by."""

    get: Get
    searxng: str = ""  # the address of a server
    brave_key: str = field(default="", repr=False)
    seconds: float = 20.0
    proxy: str = ""
    brave_url: str = BRAVE
    common_crawl_url: str = COMMON_CRAWL


def providers(specs: Sequence[str], access: Access) -> list[Provider]:
    """The engines that the user named, or else all that are set up; a mistake is one line that says what to do."""
    chosen = list(dict.fromkeys(specs)) or set_up(access)
    if not chosen:
        raise SeedError(NONE_SET_UP)
    return [_provider(spec, access) for spec in chosen]


def set_up(access: Access) -> list[str]:
    """The kinds of engines that can be asked without naming anything more."""
    ready = {"ddgs": metasearch.installed(), "searxng": bool(access.searxng), "brave": bool(access.brave_key)}
    return [kind for kind, is_ready in ready.items() if is_ready]


def _provider(spec: str, access: Access) -> Provider:
    kind, _, name = spec.strip().partition(":")
    makers: dict[str, Callable[[str, Access], Provider]] = {
        "ddgs": _ddgs, "searxng": _searxng, "brave": _brave, "commoncrawl": _common_crawl, "recorded": _recorded,
    }  # fmt: skip
    if kind not in makers:
        if is_outside(spec):
            return guest.make(spec, access.get)
        raise SeedError(
            f"there is no engine {spec!r}: take {', '.join(KINDS)}, with a name behind a colon where needed, "
            "or module:Class for one of your own"
        )
    return makers[kind](name.strip(), access)


def _ddgs(name: str, access: Access) -> Provider:
    return metasearch.ddgs([name] if name else [], seconds=access.seconds, proxy=access.proxy)


def _searxng(name: str, access: Access) -> Provider:
    if not access.searxng:
        raise SeedError("which SearXNG server? name it with --searxng URL or in the environment: SEARXNG_URL")
    url = canonical(access.searxng)
    if url is None:
        raise SeedError(f"the SearXNG server {access.searxng!r} is not a web address; write https://…")
    return Searxng(access.get, url, [name] if name else [])


def _brave(name: str, access: Access) -> Provider:
    if name:
        raise SeedError("brave takes no name; its key is read from the environment: BRAVE_API_KEY")
    key = access.brave_key.strip()
    if not key:
        raise SeedError("brave needs a key in the environment: BRAVE_API_KEY")
    if not key.isascii() or not key.isprintable():
        raise SeedError("the key in BRAVE_API_KEY has characters that a header cannot hold")
    return Brave(access.get, key, access.brave_url)


def _common_crawl(name: str, access: Access) -> Provider:
    if canonical(f"http://{name}/") != f"http://{name}/" or ":" in name:
        raise SeedError(f"commoncrawl looks up the pages of a domain: commoncrawl:example.org, not {name!r}")
    return CommonCrawl(access.get, name, access.common_crawl_url)


def _recorded(name: str, access: Access) -> Provider:
    if not name:
        raise SeedError("where are the recorded answers? recorded:FILE")
    return Recorded(Path(name))


def readers(specs: Sequence[str], access: Access) -> list[Provider]:
    """The engines that know what pages say, and so who names an address; an index of addresses does not."""
    found = [provider for provider in providers(specs, access) if not isinstance(provider, CommonCrawl)]
    if not found:
        raise SeedError("commoncrawl cannot tell who links to a page or what it is about: name another --engine too")
    return found
