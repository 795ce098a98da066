"""Scope of a crawl: the hosts and URL patterns that decide which links are followed."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from topicrawl.errors import SettingError
from topicrawl.models import Link
from topicrawl.urls import get_host

#: Prefix of a pattern that is a regular expression.
REGEX_PREFIX = "re:"


def is_on_hosts(hosts: Sequence[str], url: str) -> bool:
    """Return whether a URL is on one of the hosts or their subdomains.

    >>> [
    ...     is_on_hosts(("example.org",), f"http://{name}/")
    ...     for name in ("example.org", "a.example.org:81", "notexample.org")
    ... ]
    [True, True, False]
    """
    url_host = get_host(url).partition(":")[0]
    return any(url_host == name or url_host.endswith(f".{name}") for name in hosts)


def compile_patterns(patterns: Sequence[str], name: str) -> re.Pattern[str] | None:
    """Compile URL patterns into one expression; None if there are none. `name` is their setting, for errors.

    A pattern is a glob for the complete URL, in which `*` matches any characters and `?` one character. After `re:` it
    is a regular expression, which may match any part of the URL.

    >>> found = compile_patterns(["https://example.org/docs/*", r"re:[?&]page=\\d+"], "include")
    >>> [
    ...     bool(found.search(url))
    ...     for url in ("https://example.org/docs/a/b", "http://a.org/?page=2", "http://a.org/docs/a")
    ... ]
    [True, True, False]
    """
    expressions = []
    for pattern in patterns:
        is_regex = pattern.startswith(REGEX_PREFIX)
        # `\A` is needed, because `search` looks for a match at every position.
        expression = pattern.removeprefix(REGEX_PREFIX) if is_regex else rf"\A{fnmatch.translate(pattern)}"
        try:
            re.compile(expression)
        except re.error as error:
            raise SettingError(f"{name}: {pattern!r} is not a regular expression: {error}") from error
        if not pattern or not expression:
            raise SettingError(f"{name}: a pattern is empty: write one such as https://example.org/docs/*")
        expressions.append(f"(?:{expression})")
    try:
        return re.compile("|".join(expressions)) if expressions else None
    except re.error as error:  # such as flags in the middle, or two groups with the same name
        raise SettingError(f"{name}: the patterns cannot be combined: {error}") from error


class UrlScope:
    """Hosts and URL patterns of a crawl.

    A link is in scope if its host is one of `hosts` or a subdomain, its URL matches one of the `include` patterns, and
    it matches none of the `exclude` patterns. Without hosts or `include` patterns, all URLs match them. The `include`
    patterns do not apply to seeds and their redirects, because a seed may be a page that only lists the wanted pages.

    >>> scope = UrlScope(include=["*/articles/*"], exclude=["*print=1"])
    >>> front_page, article = "https://example.org/", "https://example.org/articles/7"
    >>> scope.contains(Link(front_page)), scope.contains(Link(front_page, source=article))
    (True, False)
    >>> scope.contains(Link(article, source=front_page)), scope.contains(Link(article + "?print=1", source=front_page))
    (True, False)
    """

    def __init__(self, hosts: Sequence[str] = (), *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._hosts = tuple(hosts)
        self._include = compile_patterns(include, "include")
        self._exclude = compile_patterns(exclude, "exclude")

    @property
    def is_unlimited(self) -> bool:
        """Whether every link is in scope."""
        return not self._hosts and self._include is None and self._exclude is None

    def contains(self, link: Link) -> bool:
        """Return whether a link is in scope. Links without a source are seeds."""
        url = link.url
        if self._hosts and not is_on_hosts(self._hosts, url):
            return False
        if self._exclude is not None and self._exclude.search(url) is not None:
            return False
        return self._include is None or not link.source or self._include.search(url) is not None

    def excludes(self, url: str) -> bool:
        """Return whether a URL matches one of the `exclude` patterns."""
        return self._exclude is not None and self._exclude.search(url) is not None
