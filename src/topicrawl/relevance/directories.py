"""The directory heuristic: Kluev 2000, section 4. One relevant page in a directory, and its siblings are relevant too.

The paper takes the siblings at their directory's word. How far a directory may be trusted is counted here as well,
for there are sites whose directories are the letters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Mapping

_KEPT = 5000  # directories, the longest unseen forgotten first


def directory(url: str) -> str:
    """The directory that a page lies in.

    >>> directory("http://a.example/owls/barn.html?x=/1/"), directory("http://a.example/")
    ('http://a.example/owls/', 'http://a.example/')
    """
    return url.partition("?")[0].rpartition("/")[0] + "/"


class Directories:
    """The directories in which relevant pages were found: how many pages were seen there since, how many relevant.

    >>> found = Directories()
    >>> found.seen("http://a/x/1", relevant=True)
    >>> found.seen("http://a/x/2", relevant=False)
    >>> found.share("http://a/x/3"), found.share("http://a/y/1")
    (0.5, 0.0)
    """

    def __init__(self, counts: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.counts = dict(counts or {})  # directory → pages seen, relevant ones

    def seen(self, url: str, *, relevant: bool) -> None:
        """A page was judged by what it says."""
        name = directory(url)
        if name not in self.counts and not relevant:
            return
        pages, good = self.counts.pop(name, (0, 0))
        self.counts[name] = (pages + 1, good + relevant)
        if len(self.counts) > _KEPT:
            del self.counts[next(iter(self.counts))]

    def share(self, url: str) -> float:
        """The share of relevant pages in a page's directory; 0 where none was found."""
        pages, good = self.counts.get(directory(url), (1, 0))
        return good / pages
