"""Run public test suites against Topicrawl and, where they are installed, other libraries.

    git clone https://github.com/ada-url/ada && …      # the repositories in `REPOSITORIES`, in one folder
    python bench/public_suites.py FOLDER

The last version of html5lib-tests with trees is 9329e64. Peers: pip install chardet charset-normalizer feedparser
html5lib publicsuffixlist tldextract w3lib yarl. Prints passed and all cases; with --failed also the failed ones of
Topicrawl.
"""

from __future__ import annotations

import argparse
import codecs
import json
import re
import urllib.parse
import urllib.robotparser
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import turbohtml
from protego import Protego

from topicrawl.fetch.robots_rules import filter_rules
from topicrawl.models import Link, Response
from topicrawl.parse.charset import decode_text
from topicrawl.parse.feeds import clean_feed_text, parse_feed, read_feed_content
from topicrawl.parse.tree import bound_repetition
from topicrawl.text.public_suffix import find_registered_domain
from topicrawl.urls import canonicalize_url, get_host, resolve_url

REPOSITORIES = (
    "ada-url/ada",
    "google/robotstxt",
    "html5lib/html5lib-tests",
    "publicsuffix/list",
    "kurtmckee/feedparser",
)
_STRING = r'"((?:[^"\\]|\\.)*)"'


class Case(NamedTuple):
    """Input of a test and the expected result."""

    given: tuple[Any, ...]
    expected: Any


def read_url_cases(folder: Path) -> Iterator[Case]:
    """WHATWG urltestdata.json: web addresses with a base that is empty or a web address."""
    for test in json.loads((folder / "ada/tests/wpt/urltestdata.json").read_text("utf-8", "surrogatepass")):
        if isinstance(test, str) or not (test.get("base") or "http:").lower().startswith(("http:", "https:")):
            continue
        href = None if test.get("failure") else test["href"]
        if href is None or href.startswith(("http:", "https:")):
            yield Case((test.get("base") or "", test["input"]), strip_url(href))


def strip_url(url: str | None) -> str | None:
    """Remove the fragment and the user, which the crawler never sends."""
    return None if url is None else re.sub(r"^(https?://)[^/@?]*@", r"\1", url.partition("#")[0])


def read_robots_cases(folder: Path) -> Iterator[Case]:
    """Tests of Google's parser: robots.txt, agent, URL, and whether the URL is allowed."""
    source = re.sub(r"^\s*//.*$", "", (folder / "robotstxt/robots_test.cc").read_text("utf-8"), flags=re.MULTILINE)
    constant = rf"(?:absl::string_view|std::string) (\w+) ?=\s*((?:{_STRING}\s*)+);"
    expectation = r"EXPECT_(TRUE|FALSE)\(\s*IsUserAgentAllowed\((.*?)\)\);"
    for body in re.findall(r"TEST\(RobotsUnittest, \w+\) \{(.*?)\n\}\n", source, re.DOTALL):
        constants: dict[str, str] = {}
        for found in re.finditer(f"{constant}|{expectation}", body, re.DOTALL):
            if found[1]:
                constants[found[1]] = "".join(map(_unescape, re.findall(_STRING, found[2])))
                continue
            arguments = [constants.get(name, text) for text, name in re.findall(rf"{_STRING}|(\w+)", found[5])]
            if len(arguments) == 3:
                yield Case(tuple(arguments), found[4] == "TRUE")


def _unescape(text: str) -> str:
    """Return the value of a C++ string literal."""
    value = codecs.decode(text.encode("latin-1", "backslashreplace"), "unicode_escape")
    return value.encode("latin-1").decode("utf-8", "replace") if "\\x" in text else value


def read_encoding_cases(folder: Path) -> Iterator[Case]:
    """html5lib-tests: pages and the charset that a browser uses."""
    for path in sorted((folder / "html5lib-tests/encoding").glob("*.dat")):
        for block in re.split(rb"(?:^|\n)#data\n", path.read_bytes())[1:]:
            page, _, rest = block.partition(b"\n#encoding\n")
            yield Case((page,), rest.partition(b"\n")[0].strip().decode().lower())


def read_tree_cases(folder: Path) -> Iterator[Case]:
    """html5lib-tests: pages and their trees; no fragments, and no pages whose scripts run."""
    for path in sorted((folder / "html5lib-tests/tree-construction").glob("*.dat")):
        for block in re.split(r"(?:^|\n)#data\n", path.read_bytes().decode("utf-8", "surrogateescape"))[1:]:
            found = re.match(
                r"(.*?)\n#errors\n(.*?)#document\n(.*)", block if "\n#errors\n" in block else f"\n{block}", 16
            )
            if found and "#document-fragment" not in found[2]:
                yield Case((found[1], "#script-on" in found[2]), found[3].rstrip("\n"))


def read_suffix_cases(folder: Path) -> Iterator[Case]:
    """Public Suffix List: hosts and their registered domains."""
    for line in (folder / "list/tests/test_psl.txt").read_text("utf-8").splitlines():
        found = re.match(r"checkPublicSuffix\('?([^',]*)'?, '?([^')]*)'?\)", line)
        if found and found[1] != "null":
            yield Case((found[1],), None if found[2] == "null" else found[2])


def read_feed_cases(folder: Path) -> Iterator[Case]:
    """Tests of feedparser that expect a title or a link of the first entry; those of its HTML sanitizer are omitted."""
    expectation = re.compile(
        r"^Expect:\s*(?:not bozo and )?entries\[0\](?:\['|\.)(link|title)(?:'\])?\s*==\s*u?(['\"])(.*)\2\s*$", re.M
    )
    for path in sorted((folder / "feedparser/tests").rglob("*.xml")):
        body = path.read_bytes()
        text = body.decode("utf-8", "replace")
        found = expectation.search(text)
        if found is None or "sanitize" in path.parts:
            continue
        headers = {name.lower(): value for name, value in re.findall(r"^Header:\s*([\w-]+):\s*(.*?)\s*$", text, re.M)}
        url = headers.get("content-location", "http://127.0.0.1:8097/feed.xml")
        expected = canonicalize_url(found[3]) if found[1] == "link" else clean_feed_text(found[3])
        yield Case((url, headers.get("content-type", "application/xml"), body, found[1]), expected)


def read_feed_entry(url: str, content_type: str, body: bytes, field: str) -> str:
    """Return the link or the title of the first entry of a feed."""
    if field == "title":
        return clean_feed_text(read_feed_content(body, content_type).items[0].title)
    response = Response(url, url, 200, {"content-type": content_type}, body)
    return parse_feed(response, Link(url)).links[0].url


def format_tree(html: str, scripting: bool) -> str:
    """Parse a page as the crawler does, and return its tree in the format of html5lib-tests."""
    lines: list[str] = []
    prefixes = {"HTML": "", "SVG": "svg ", "MATHML": "math "}

    def add_children(node: Any, depth: int) -> None:
        indent = "| " + "  " * depth
        for child in node.children:
            if isinstance(child, turbohtml.Element):
                kind = child.namespace.name
                lines.append(f"{indent}<{prefixes[kind]}{child.tag}>")
                names = {_format_name(name, kind): value for name, value in child.attrs.items()}
                for name, value in sorted(names.items()):
                    lines.append(f'{indent}  {name}="{" ".join(value) if isinstance(value, list | tuple) else value}"')
                is_template = child.tag == "template" and kind == "HTML"
                if is_template:
                    lines.append(f"{indent}  content")
                add_children(child, depth + 1 + is_template)
            elif isinstance(child, turbohtml.Doctype):
                has_ids = child.public_id or child.system_id
                ids = f' "{child.public_id or ""}" "{child.system_id or ""}"' if has_ids else ""
                lines.append(f"{indent}<!DOCTYPE {child.name or ''}{ids}>")
            elif isinstance(child, turbohtml.Comment):
                lines.append(f"{indent}<!-- {child.data} -->")
            elif isinstance(child, turbohtml.Text):
                lines.append(f'{indent}"{child.text}"')
            else:
                add_children(child, depth)

    options = {"positions": False, "allow_declarative_shadow_roots": False, "scripting": scripting}
    add_children(turbohtml.parse(bound_repetition(html), **options), 0)
    return "\n".join(lines).rstrip("\n")


def _format_name(name: str, kind: str) -> str:
    prefix, separator, rest = name.partition(":")
    is_adjusted = prefix in ("xlink", "xmlns") or name in ("xml:lang", "xml:space")
    return f"{prefix} {rest}" if separator and kind != "HTML" and is_adjusted else name


def find_domain(host: str) -> str | None:
    """Return the registered domain, or None for a public suffix."""
    url = None if host.startswith(".") else canonicalize_url(f"http://{host}/")
    if url is None:
        return None
    name = get_host(url)
    # A public suffix has the same registered domain as itself; with one more label, it has a longer one.
    if find_registered_domain(name) == name and find_registered_domain(f"x.{name}") != name:
        return None
    return find_registered_domain(name) if host.isascii() else find_registered_domain(name).encode().decode("idna")


def can_fetch(text: str, agent: str, url: str) -> bool:
    """Apply a robots.txt as the crawler does."""
    return bool(Protego.parse(filter_rules(text, agent.lower())).can_fetch(url, agent.lower()))


def can_fetch_with_urllib(text: str, agent: str, url: str) -> bool:
    """Apply a robots.txt with the standard library."""
    parser = urllib.robotparser.RobotFileParser()
    parser.parse(text.splitlines())
    return parser.can_fetch(agent, url)


def list_peers() -> dict[str, dict[str, Callable[..., Any]]]:
    """Return the functions of the other libraries that are installed, by suite."""
    peers: dict[str, dict[str, Callable[..., Any]]] = {
        "URLs": {"urllib": lambda base, url: strip_url(urllib.parse.urljoin(base, url))},
        "robots.txt": {
            "Protego alone": lambda text, agent, url: Protego.parse(text).can_fetch(url, agent),
            "urllib.robotparser": can_fetch_with_urllib,
        },
    }
    with suppress(ImportError):
        import yarl

        peers["URLs"]["yarl"] = lambda base, url: strip_url(str(yarl.URL(base).join(yarl.URL(url))))
    with suppress(ImportError):
        import w3lib.url

        peers["URLs"]["w3lib"] = lambda base, url: strip_url(
            w3lib.url.canonicalize_url(w3lib.url.safe_url_string(urllib.parse.urljoin(base, url)))
        )
    with suppress(ImportError):
        import html5lib

        def build_tree(html: str, scripting: bool) -> str:
            parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("dom"))
            lines = parser.tree.testSerializer(parser.parse(html, scripting=scripting)).partition("\n")[2]
            lines = re.sub(r"^\|  ", "| ", lines, flags=re.MULTILINE)
            return re.sub(r"^(\| +)<html (\S+)>$", r"\1<\2>", lines, flags=re.MULTILINE).rstrip("\n")

        peers["HTML trees"] = {"html5lib": build_tree}
        peers["charsets"] = {
            "html5lib": lambda page: html5lib._inputstream.HTMLBinaryInputStream(page).charEncoding[0].name
        }
    with suppress(ImportError):
        import chardet

        peers.setdefault("charsets", {})["chardet"] = lambda page: chardet.detect(page)["encoding"].lower()
    with suppress(ImportError):
        import charset_normalizer

        peers.setdefault("charsets", {})["charset-normalizer"] = lambda page: charset_normalizer.detect(page)[
            "encoding"
        ].lower()
    with suppress(ImportError):
        import feedparser

        def read_with_feedparser(url: str, content_type: str, body: bytes, field: str) -> str | None:
            headers = {"content-location": url, "content-type": content_type}
            value = feedparser.parse(body, response_headers=headers).entries[0][field]
            return canonicalize_url(value) if field == "link" else clean_feed_text(value)

        peers["feeds"] = {"feedparser": read_with_feedparser}
    with suppress(ImportError):
        import publicsuffixlist

        suffixes = publicsuffixlist.PublicSuffixList()
        peers["public suffixes"] = {"publicsuffixlist": lambda host: suffixes.privatesuffix(host.lower())}
    with suppress(ImportError):
        import tldextract

        extract = tldextract.TLDExtract(suffix_list_urls=(), include_psl_private_domains=True)
        peers.setdefault("public suffixes", {})["tldextract"] = lambda host: (
            extract(host).top_domain_under_public_suffix or None
        )
    return peers


def count_passed(run: Callable[..., Any], cases: list[Case], *, prints: bool = False) -> int:
    """Return how many cases a function passes. An exception is the result None."""
    passed = 0
    for case in cases:
        try:
            result = run(*case.given)
        except Exception:  # noqa: BLE001  # a library that fails on a case has not passed it
            result = None
        passed += result == case.expected
        if prints and result != case.expected:
            print("   ", case, result)
    return passed


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--failed", action="store_true")
    given = options.parse_args()
    own: dict[str, tuple[Callable[[Path], Iterator[Case]], Callable[..., Any]]] = {
        "URLs": (read_url_cases, lambda base, url: resolve_url(base, url) if base else canonicalize_url(url)),
        "robots.txt": (read_robots_cases, can_fetch),
        "HTML trees": (read_tree_cases, format_tree),
        "charsets": (read_encoding_cases, lambda page: decode_text(page)[1]),
        "public suffixes": (read_suffix_cases, find_domain),
        "feeds": (read_feed_cases, read_feed_entry),
    }
    peers = list_peers()
    for name, (read, run) in own.items():
        cases = list(read(given.folder))
        print(f"{name}: topicrawl {count_passed(run, cases, prints=given.failed)} of {len(cases)}")
        for peer, function in peers.get(name, {}).items():
            print(f"    {peer} {count_passed(function, cases)}")


if __name__ == "__main__":
    main()
