"""Detection of duplicate and near-duplicate pages: Kluev 2000, section 4, step 6.

A page is a duplicate of a stored page if

- both have the same text, by digest;
- or they share 90 % of their shingles, and their lengths differ by at most 500 characters;
- or their URLs are related and they share 50 % of their shingles. URLs are related if they differ only in the suffix
  of the file name, or if one page declares the other as canonical. Kluev requires no common shingles for related
  names; but the web page about a paper often has the same name as the paper.

The compared text omits the lines that consist only of a link: a common menu does not make the pages of a site
duplicates, and the same document in another format has no menu. If such lines are more than half of the page, they are
compared too: the page may be a list, and the rest of its text may be common to all lists of the site.

Duplicate keys (digests, MinHash bands from `minhash.py`, and URL keys) select the few candidates for the comparison,
which are read from the archive. Only the first 100,000 characters of long texts are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import filterfalse
from operator import attrgetter
from struct import pack
from typing import NamedTuple, Protocol

from topicrawl.models import DuplicateMatch, Page
from topicrawl.text.minhash import compute_bands
from topicrawl.text.shingles import SHINGLE_WIDTH, resemblance
from topicrawl.text.tokenizer import tokenise
from topicrawl.urls import fingerprint

_MAX_CANDIDATES = 3  # maximum number of candidates per page
#: Only this many characters of two texts are compared, because the comparison blocks the crawl. 5 µs per word.
MAX_COMPARED_LENGTH = 100_000
_FILE_SUFFIXES = "s?html?|xhtml|php|aspx?|jsp|txt|text|md|pdf|e?ps|dvi|tex|docx?|odt|rtf|epub|g?z|bz2|zip"
_NAME_WITH_SUFFIX = re.compile(rf"(https?://[^?]*/[^/?]+?)(?:\.(?:{_FILE_SUFFIXES}))+", re.I)
_get_anchor = attrgetter("anchor")


@dataclass(frozen=True, slots=True)
class DuplicateThresholds:
    """Thresholds for two pages to be duplicates."""

    resemblance: float = 0.9  # share of common shingles
    max_length_difference: int = 500  # maximum difference of the text lengths in characters
    related_resemblance: float = 0.5  # share of common shingles if the URLs are related
    min_words: int = 30  # minimum number of words; shorter pages are images, forms or menus without distinctive text


class StoredPageIndex(Protocol):
    """Index of the stored pages by duplicate key."""

    def find_steps(self, keys: Iterable[int]) -> dict[int, int]:
        """Return the steps of the stored pages by key, for the keys that are in the index."""

    def add_keys(self, keys: Iterable[int], step: int) -> None:
        """Add the keys of a page that is being stored."""

    def find_step_by_url(self, url: str) -> int | None:
        """Return the step of the page at a URL, or None."""

    def load_page(self, step: int) -> Page | None:
        """Return the parsed page of a step, or None if it cannot be read."""


class PageSignature(NamedTuple):
    """Text of a page for the comparison, and its duplicate keys."""

    prose: str  # text without link lines
    text_keys: list[int]  # keys of the digest and of the MinHash bands
    name_keys: list[int]  # keys of the URL without suffix and of the canonical URL
    own_key: int  # key of the page's own URL, which other pages may declare as canonical

    @classmethod
    def of(cls, page: Page, min_words: int) -> PageSignature:
        """Compute the signature of a page. Pages with fewer than `min_words` words get no text keys."""
        prose, links = split_link_lines(page)
        text: list[int] = []
        if len(page.words) >= min_words:
            # Lists with the same text but other links are different pages, so the links are part of the key.
            text = compute_bands(prose, abs(fingerprint(links)) if links else 0)
            if page.digest:
                text.append(int.from_bytes(bytes.fromhex(page.digest)[:8], "little", signed=True))
        names = [fingerprint(f"name {named[1]}")] if (named := _NAME_WITH_SUFFIX.fullmatch(page.url)) else []
        if page.canonical and page.canonical != page.url:
            names.append(fingerprint(f"canonical {page.canonical}"))
        return cls(prose, text, names, fingerprint(f"canonical {page.url}"))

    def pack_keys(self) -> bytes:
        """Return the keys in their stored form: little-endian 64-bit integers."""
        return pack(f"<{len(self.text_keys) + len(self.name_keys)}q", *self.text_keys, *self.name_keys)


class DuplicateDetector:
    """Find duplicates among the pages of a crawl. Pages must be checked in the order in which they are stored."""

    def __init__(self, index: StoredPageIndex, thresholds: DuplicateThresholds | None = None) -> None:
        self._index = index
        self._thresholds = thresholds or DuplicateThresholds()
        self._unstored: dict[str, tuple[PageSignature, Page]] = {}  # URL → checked pages that are not stored yet

    def find_duplicate(self, page: Page) -> DuplicateMatch | None:
        """Return the stored page that this page repeats, or None if it is new.

        A new page is remembered, so that later pages are compared with it. The caller must store it and call
        `register_stored`.
        """
        trace = PageSignature.of(page, self._thresholds.min_words)
        for other, related in self._find_candidates(page, trace):
            if other.url != page.url and (how := self._explain_match(page, trace.prose, other, related)):
                return DuplicateMatch(other.url, how)
        self._unstored[page.url] = trace, page
        return None

    def register_stored(self, url: str, step: int) -> bytes | None:
        """Add the keys of a page that is being stored to the index. Return its packed keys for the database.

        Return None if `find_duplicate` has not checked the page.
        """
        fresh = self._unstored.pop(url, None)
        if fresh is None:
            return None
        trace, _ = fresh
        self._index.add_keys((*trace.text_keys, *trace.name_keys), step)
        return trace.pack_keys()

    def _find_candidates(self, page: Page, signature: PageSignature) -> Iterable[tuple[Page, bool]]:
        """Yield pages that share keys, with the most common keys first, and whether their URLs are related."""
        keys = [*signature.text_keys, *signature.name_keys, signature.own_key]
        for old, other in self._unstored.values():
            related = (
                signature.own_key in old.name_keys
                or page.canonical == other.url
                or any(name in old.name_keys for name in signature.name_keys)
            )
            if related or any(key in old.text_keys for key in signature.text_keys):
                yield other, related
        found = self._index.find_steps(keys)
        named = self._index.find_step_by_url(page.canonical) if page.canonical and page.canonical != page.url else None
        if not found and named is None:
            return
        yield from self._load_candidates(signature, found, named)

    def _load_candidates(
        self, signature: PageSignature, steps_by_key: dict[int, int], canonical_step: int | None
    ) -> Iterable[tuple[Page, bool]]:
        """Load the candidates from the archive, those with the most common keys first."""
        related = {step for key, step in steps_by_key.items() if key == signature.own_key or key in signature.name_keys}
        if canonical_step is not None:
            related.add(canonical_step)
        shared = Counter({step: len(signature.text_keys) for step in related})
        shared.update(steps_by_key.values())
        for step, _ in shared.most_common(_MAX_CANDIDATES):
            if (known := self._index.load_page(step)) is not None:
                yield known, step in related
                if len(known.text) > MAX_COMPARED_LENGTH:
                    # Parsing one more page of this size would block the crawl for too long.
                    return

    def _explain_match(self, page: Page, text: str, other: Page, related: bool) -> str:
        """Return why two pages are duplicates, or "" if they are not."""
        thresholds = self._thresholds
        if min(len(page.words), len(other.words)) < (SHINGLE_WIDTH if related else thresholds.min_words):
            return ""
        if page.digest == other.digest:
            return f"the same text as {other.url}"
        other_text, _ = split_link_lines(other)
        if not related and abs(len(text) - len(other_text)) > thresholds.max_length_difference:
            return ""
        share = _compute_resemblance(text, other_text)
        if 2 * len(text) < len(page.text) and not related:
            share = min(share, _compute_resemblance(page.text, other.text))
        if share >= thresholds.resemblance:
            return f"nearly the same text as {other.url} ({share:.0%} of the shingles)"
        if related and share >= thresholds.related_resemblance:
            return f"another form of {other.url} ({share:.0%} of the shingles)"
        return ""


def _compute_resemblance(one: str, two: str) -> float:
    """Return the resemblance of the first `MAX_COMPARED_LENGTH` characters of two texts."""
    return resemblance(tokenise(one[:MAX_COMPARED_LENGTH]), tokenise(two[:MAX_COMPARED_LENGTH]))


def pack_duplicate_keys(page: Page) -> bytes:
    """Return the packed duplicate keys of a page that is stored without a duplicate check."""
    return PageSignature.of(page, DuplicateThresholds().min_words).pack_keys()


def split_link_lines(page: Page) -> tuple[str, str]:
    r"""Split the text of a page into prose and link lines. The link lines are "" unless they are the larger part.

    >>> from topicrawl.models import Link
    >>> home = Link("h", anchor="Home")
    >>> split_link_lines(Page("u", text="Home\nOwls hunt at night.\nNext", links=(home,)))
    ('Owls hunt at night. Next', '')
    >>> split_link_lines(Page("u", text="Home\nOwls", links=(home,)))
    ('Owls', 'Home')
    """
    anchors = set(map(_get_anchor, page.links))
    lines = page.text.split("\n")
    prose = " ".join(filterfalse(anchors.__contains__, lines))
    return prose, " ".join(filter(anchors.__contains__, lines)) if 2 * len(prose) < len(page.text) else ""
