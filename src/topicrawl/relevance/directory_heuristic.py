"""Directory heuristic: if a directory has one relevant page, its siblings are relevant too (Kluev 2000, section 4).

The paper trusts every such directory. This module also counts how often the heuristic was right, because on some sites
the directories are the letters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Mapping

_MAX_DIRECTORIES = 5000  # directories; the least recently updated one is dropped first


def get_directory(url: str) -> str:
    """Return the directory of a page URL.

    >>> get_directory("http://a.example/owls/barn.html?x=/1/"), get_directory("http://a.example/")
    ('http://a.example/owls/', 'http://a.example/')
    """
    return url.partition("?")[0].rpartition("/")[0] + "/"


class DirectoryStats:
    """Directories with at least one relevant page, with the number of pages and of relevant pages seen since then.

    >>> found = DirectoryStats()
    >>> found.record_page("http://a/x/1", relevant=True)
    >>> found.record_page("http://a/x/2", relevant=False)
    >>> found.get_relevant_share("http://a/x/3"), found.get_relevant_share("http://a/y/1")
    (0.5, 0.0)
    """

    def __init__(self, counts: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.counts = dict(counts or {})  # directory → pages seen, relevant ones

    def record_page(self, url: str, *, relevant: bool) -> None:
        """Count a page whose relevance was judged by its content."""
        name = get_directory(url)
        if name not in self.counts and not relevant:
            return
        pages, good = self.counts.pop(name, (0, 0))
        self.counts[name] = (pages + 1, good + relevant)
        if len(self.counts) > _MAX_DIRECTORIES:
            del self.counts[next(iter(self.counts))]

    def get_relevant_share(self, url: str) -> float:
        """Return the share of relevant pages in the directory of a page, or 0 if the directory is not known."""
        pages, good = self.counts.get(get_directory(url), (1, 0))
        return good / pages
