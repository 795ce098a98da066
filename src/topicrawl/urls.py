"""One spelling for every address: a page that is linked in ten ways is fetched once.

Parsing and joining follow the WHATWG URL standard (ada), as browsers do. On top of it, `canonical` drops what
never selects a page: fragment, user name and password, the host's trailing dot, session ids, click tracking.
Everything else stays as it is: parameters keep their order, percent escapes their spelling.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import quote

import xxhash
from ada_url import join_url, normalize_url

#: Longer than any server reads; what is longer is data, not an address.
LONGEST = 8192

_SESSIONS = """
    phpsessid jsessionid sessionid session_id sessid cfid cftoken oscsid zenid xtcsid
"""
_CLICKS = """
    gclid gclsrc gbraid wbraid dclid fbclid msclkid twclid ttclid yclid ysclid mc_cid mc_eid igshid igsh
    li_fat_id mkt_tok vero_id oly_enc_id oly_anon_id wickedid srsltid epik rb_clickid _branch_match_id
    _ga _gl _openstat _hsenc _hsmi __hstc __hssc __hsfp hsctatracking elqtrackid
"""
_DROPPED = frozenset(_SESSIONS.split() + _CLICKS.split())
_DROPPED_PREFIXES = ("utm_", "mtm_", "pk_", "piwik_", "aspsessionid")
_ANYTHING = re.compile("")
# These names also number articles, threads and searches: they go only with a value that looks drawn by lot.
_DRAWN = re.compile(r"(?=[a-z]*[0-9])[0-9a-z]{16,}\Z", re.I)
_AMBIGUOUS = {"sid": _DRAWN, "session": _DRAWN, "sess": _DRAWN, "s": re.compile(r"[0-9a-f]{32}\Z", re.I)}
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sessionid)=[^/;]*", re.I)

# What the standard leaves unchanged in the path and query of a web address. Backslashes, tabs, blanks,
# letters beyond ASCII, ';' (path sessions) and ':' in a first segment (schemes) take the slow way.
_PATH = r"[A-Za-z0-9!$&'()*+,\-./:=@_~|\[\]%]*+"
_TAIL = r"(?:\?([A-Za-z0-9!$&()*+,\-./:;=@_~|\[\]%?{}\\^`]*+))?+(?:#.*)?+"
_ABSOLUTE = re.compile(
    rf"(https?://(?:[a-z0-9](?:[a-z0-9-]*+)\.)+[a-z][a-z0-9-]*+(?:/{_PATH})?+){_TAIL}", re.DOTALL
).fullmatch
# Most paths are of this kind, and ready without cutting them up.
_PLAIN = re.compile(r"/(?!/)[A-Za-z0-9!$&'()*+,\-./:=@_~|\[\]]*+").fullmatch
# Both have three groups: the way up, the path, the query.
_ROOTED = re.compile(rf"()(/(?!/){_PATH}){_TAIL}", re.DOTALL).fullmatch
_RELATIVE = re.compile(
    rf"((?:\.\./)*+)([A-Za-z0-9_~\-][A-Za-z0-9!$&'()*+,\-._~%]*+(?:/{_PATH})?+){_TAIL}", re.DOTALL
).fullmatch

#: Longer links are not remembered from page to page: a host could fill the memory with them.
_REMEMBERED = 512
_MOST_REMEMBERED = 1 << 16
_Known: TypeAlias = dict[str | None, str]

_MISLEADING = re.compile(r"[?#\\\s]").search
_ELSEWHERE = ("mailto:", "javascript:", "tel:", "data:")


def canonical(url: str) -> str | None:
    """The one spelling of a web address; None for anything that is not http or https.

    >>> canonical("HTTP://me:pw@Example.ORG.:80/a/../b?utm_source=x&id=7&PHPSESSID=1#top")
    'http://example.org/b?id=7'
    >>> canonical("mailto:me@example.org") is None
    True
    """
    return _unparsed(url) or _parsed("", url)


def join(base: str, href: str) -> str | None:
    """Where a link on the page `base` leads, in canonical form.

    >>> join("https://example.org/a/b?x=1", "../c d#e")
    'https://example.org/c%20d'
    >>> join("https://example.org/", "javascript:void(0)") is None
    True
    """
    return _parsed(base, href)


class Joiner:
    r"""`join` for the many links of one page: plain links are put together without parsing them.

    >>> leads = Joiner("https://example.org/wiki/Bird?action=edit")
    >>> leads("Owl#Food"), leads("/w?id=1&fbclid=2"), leads("#top")
    ('https://example.org/wiki/Owl', 'https://example.org/w?id=1', 'https://example.org/wiki/Bird?action=edit')
    """

    __slots__ = ("_base", "_here", "_origin", "_parents", "_room", "absolute", "rooted")

    def __init__(self, base: str) -> None:
        self._base = base
        self._room = min(_REMEMBERED, LONGEST - len(base))
        self._here: dict[str | None, str | None] = {None: None}
        self._parents: dict[str, str] = {}
        # Nearly always it is the address of a page, whose site is known.
        page = (_absolute(base) if len(base) <= _REMEMBERED else None) or canonical(base)
        # A base with path parameters is left to the parser: without them its directories may be others.
        self._origin = "" if page is None or ";" in base else origin(page)
        #: Where links lead that were met before and depend on no more than the site: whoever has many links looks here
        #: first, as a call for each costs five times as much.
        self.rooted, self.absolute = _MEMORY.of(self._origin)
        if page is None or not self._origin:
            return
        self._here["#"] = self._here[""] = page
        # What "", "../", "../../" mean here, as far up as the page has directories.
        up, folder = "", directory(page)
        while len(folder) > len(self._origin):
            self._parents[up] = folder
            up, folder = up + "../", folder[: folder.rindex("/", 0, -1) + 1]

    def __call__(self, href: str | None) -> str | None:
        """The canonical address, or None when the link leads out of the web."""
        found = self.rooted.get(href) or self.absolute.get(href) or self._here.get(href, "")
        if found != "" or href is None:
            return found
        first = href[:1]
        if (first == "/" or first == "h") and len(href) <= self._room:
            # The menus of a site stand on all its pages, so what links mean is remembered from page to page.
            found = _rooted(self._origin, href) if first == "/" else _absolute(href)
            if found is not None:
                _MEMORY.make_room()
                (self.rooted if first == "/" else self.absolute)[href] = found
                return found
        found = self._unparsed(href)
        if found is None and not href.startswith(_ELSEWHERE):
            found = _parsed(self._base, href)
        self._here[href] = found
        return found

    def _unparsed(self, href: str) -> str | None:
        """Put a plain link together; None when it must be parsed."""
        if len(href) > self._room:
            return None
        if href[:1] == "#":
            return self._here.get("#")
        plain = _RELATIVE(href)
        return _put_together(self._parents.get(plain[1], ""), plain) if plain else None


class _Memory:
    """Where links lead: those that begin at the root of a site by the site, and those that name their site.

    When it is full, all is forgotten.
    """

    __slots__ = ("_absolute", "_left", "_rooted")

    def __init__(self) -> None:
        self._left = _MOST_REMEMBERED
        self._rooted: dict[str, _Known] = {}
        self._absolute: _Known = {}

    def of(self, site: str) -> tuple[_Known, _Known]:
        rooted = self._rooted.get(site)
        if rooted is None:
            self.make_room()
            rooted = self._rooted[site] = {}
        return rooted, self._absolute

    def make_room(self) -> None:
        """For one site or link more."""
        if not self._left:
            self._rooted, self._absolute, self._left = {}, {}, _MOST_REMEMBERED
        self._left -= 1


_MEMORY = _Memory()


def _rooted(start: str, href: str) -> str | None:
    """Where a link that begins at the root of a site leads; None when it must be parsed."""
    if start and _PLAIN(href) and "/." not in href:
        return start + href
    return _put_together(start, _ROOTED(href))


def _absolute(href: str) -> str | None:
    """The same for a link that may name its site."""
    if not href.startswith(("http://", "https://")):
        return None
    end = href.find("/", 8)
    if end < 0:
        return _unparsed(href)
    written = href[:end]
    start = _start(written)
    if start == written and _PLAIN(href, end) and "/." not in href:
        return href
    return _put_together(start, _ROOTED(href, end))


@lru_cache(maxsize=1 << 12)
def _start(written: str) -> str:
    """The canonical origin for one as links write it, "" when it must be parsed with what follows."""
    url = None if _MISLEADING(written) else canonical(written)
    return origin(url) if url else ""


def _put_together(start: str, plain: re.Match[str] | None) -> str | None:
    if plain is None or not start:
        return None
    _, path, query = plain.groups()
    if "/." in path or ("%2" in path and _is_odd(path)):
        return None
    return start + path + _kept(query) if query else start + path


def host(url: str) -> str:
    """The host of a canonical address, with its port when that is not the default.

    >>> host("https://example.org/a"), host("http://[::1]:81/")
    ('example.org', '[::1]:81')
    """
    return url.split("/", 3)[2]


def origin(url: str) -> str:
    """Scheme, host and port of a canonical address: what one robots.txt is for.

    >>> origin("https://example.org:8080/a/b")
    'https://example.org:8080'
    """
    return url[: url.index("/", 8)]


def directory(url: str) -> str:
    """A canonical address up to the last slash of its path.

    >>> directory("https://example.org/a/b?c=/d"), directory("https://example.org/")
    ('https://example.org/a/', 'https://example.org/')
    """
    path = url.partition("?")[0]
    return path[: path.rindex("/") + 1]


def member(archive: str, name: str) -> str:
    """The address of a file inside an archive: canonical, on the archive's host, and one for each name.

    >>> member("https://example.org/a.zip?v=2", "papers/./On dengue.pdf")
    'https://example.org/a.zip/!/papers/On%20dengue.pdf?v=2'
    """
    path, mark, query = archive.partition("?")
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return f"{path}/!/{quote('/'.join(parts), errors='replace')}{mark}{query}"


def container(url: str) -> str | None:
    """The archive that holds what such an address names; None for the address of anything else.

    >>> container("https://example.org/a.zip/!/papers/On%20dengue.pdf?v=2"), container("https://example.org/a.zip")
    ('https://example.org/a.zip?v=2', None)
    """
    path, mark, query = url.partition("?")
    at = path.rfind("/!/")
    return None if at < 0 else path[:at] + mark + query


def fingerprint(url: str) -> int:
    """A signed 64-bit hash that is the same on every machine: a key for SQLite.

    >>> fingerprint("https://example.org/")
    -8202114674208552119
    """
    unsigned = xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


def _unparsed(url: str) -> str | None:
    """The canonical form of a plain absolute address; None when it must be parsed."""
    plain = _ABSOLUTE(url) if len(url) < LONGEST else None
    if plain is None:
        return None
    address, query = plain.groups()
    if _is_odd(address):
        return None
    # "https://example.org" has two slashes; its canonical form has a third.
    if address.find("/", 8) < 0:
        address += "/"
    return address + _kept(query) if query else address


def _is_odd(path: str) -> bool:
    """Does it hold what must be parsed: a dot segment (also an escaped one) or a punycode host?"""
    return "/." in path or "%2e" in path or "%2E" in path or "xn--" in path


def _kept(query: str) -> str:
    """A query with '?' but without the parameters that select nothing, or the empty string."""
    parameters = query.split("&")
    for parameter in parameters:
        if _verdict(parameter.partition("=")[0]) is not None:
            query = "&".join([parameter for parameter in parameters if not _is_noise(parameter)])
            break
    return "?" + query if query else ""


@lru_cache(4096)
def _verdict(name: str) -> re.Pattern[str] | None:
    """What a parameter's value must look like to be dropped; None: the parameter is always kept.

    >>> _verdict("id"), _verdict("utm_source").pattern
    (None, '')
    """
    name = name.lower()
    if name in _DROPPED or name.startswith(_DROPPED_PREFIXES):
        return _ANYTHING
    return _AMBIGUOUS.get(name)


def _is_noise(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    verdict = _verdict(name)
    return verdict is not None and verdict.match(value) is not None


def _parsed(base: str, href: str) -> str | None:
    """Parse by the standard, then drop what selects nothing."""
    if len(href) > LONGEST:
        return None
    try:
        url = join_url(base, href) if base else normalize_url(href)
    except ValueError:
        # An unusable base leaves links that need none.
        return _parsed("", href) if base else None
    if len(url) > LONGEST or not url.startswith(("http://", "https://")):
        return None
    url, _, query = url.partition("#")[0].partition("?")
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    name = authority.rpartition("@")[2]
    bare, path = _without_dots(name), _PATH_SESSION.sub("", path)
    if not bare or bare[0] == ":":
        return None
    url = f"{scheme}://{bare}/{path}"
    if bare == name and len(path) == len(rest) - len(authority) - 1:
        return url + _kept(query) if query else url
    # What is left may read anew: "/..;sessionid=1" now goes up, "256.." is a number.
    return _parsed("", f"{url}?{query}" if query else url)


def _without_dots(name: str) -> str:
    """A host (and port) without dots at its end: 'example.org.' is 'example.org'."""
    if "." not in name or name[0] == "[":
        return name
    bare, colon, port = name.partition(":")
    return bare.rstrip(".") + colon + port
