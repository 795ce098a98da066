"""Selection of pages of a collection, for exports and for the table of pages in the web application."""

from __future__ import annotations

from dataclasses import dataclass

from topicrawl.collection.annotations import SELECT_CURRENT_LABELS
from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.collection.store import HOST_OF_URL
from topicrawl.errors import UsageError
from topicrawl.urls import canonicalize_url, fingerprint

NO_VERDICT = "none"  # name of the pages without a verdict in `ExportFilter.verdicts`
VERDICTS = ("relevant", "irrelevant", "unsure", NO_VERDICT)
_HOST = HOST_OF_URL.replace("url", "pages.url")
# The distinct hosts are few, and the index by host finds the pages of those that match.
_SELECT_HOSTS = f"SELECT DISTINCT {HOST_OF_URL} AS host FROM pages"
_LABELLED = f"pages.id IN (SELECT page FROM ({SELECT_CURRENT_LABELS})"


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Selection of pages. An empty tuple selects all pages.

    A page that was ruled relevant passes the minimum relevance, and a page that was ruled irrelevant does not. With
    `verdicts`, the pages with these verdicts are selected, and a minimum relevance is one more condition.
    """

    relevance: float | None = None  # minimum; None: the topic's threshold
    verdicts: tuple[str, ...] = ()  # relevant, irrelevant, unsure; none: pages without a verdict
    includes_irrelevant: bool = False  # whether irrelevant pages are selected too
    languages: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # including their subdomains
    types: tuple[str, ...] = ()  # media types such as "text/html", or "text" for all text types
    since: float = 0.0  # fetched at that time or later
    until: float = float("inf")  # fetched before that time
    max_relevance: float | None = None  # None: no maximum
    text: str = ""  # part of the title or the URL
    tags: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()  # final URLs of single pages

    def __post_init__(self) -> None:
        # A filter that cannot match any page is an error; the user would only get an empty file.
        for name in self.languages:
            if name and not (name.isascii() and name.isalpha() and 2 <= len(name) <= 3):
                raise UsageError(f"a language must be a code such as en or de, not {name!r}")
        for name in self.hosts:
            if canonicalize_url(f"http://{name}/") != f"http://{name}/":
                raise UsageError(f"a host must be a name such as example.org, not {name!r}")
        for name in self.verdicts:
            if name not in VERDICTS:
                raise UsageError(f"a verdict must be one of {', '.join(VERDICTS)}, not {name[:40]!r}")
        if not self.since < self.until:
            raise UsageError("--since must be earlier than --until: change one of them")

    def build_step_query(self, threshold: float) -> tuple[str, list[object]]:
        """Return an SQL query for the steps of the selected pages, and its parameters.

        `threshold` is that of the topic. The query joins the tables `pages` and `visits`.
        """
        conditions, values = ["visits.failure IS NULL", "visits.segment IS NOT NULL"], list[object]()
        for condition, parameters in (*self._list_relevance_conditions(threshold), *self._list_page_conditions()):
            conditions.append(condition)
            values += parameters
        where = " AND ".join(f"({condition})" for condition in conditions)
        return f"SELECT pages.step FROM pages JOIN visits ON visits.step = pages.step WHERE {where}", values

    def _list_relevance_conditions(self, threshold: float) -> list[tuple[str, list[object]]]:
        """Return the conditions on relevance, verdict and time."""
        found: list[tuple[str, list[object]]] = []
        if not self.verdicts and not self.includes_irrelevant:
            found.append((IS_RELEVANT, [threshold if self.relevance is None else self.relevance]))
        elif self.relevance:
            found.append(("visits.relevance >= ?", [self.relevance]))
        if self.max_relevance is not None:
            found.append(("coalesce(visits.relevance, 0) <= ?", [self.max_relevance]))
        if self.verdicts:
            labels = [name for name in self.verdicts if name != NO_VERDICT]
            choices = [f"{_LABELLED} WHERE label IN ({_list_marks(labels)}))"]
            choices += [f"NOT {_LABELLED})"] if NO_VERDICT in self.verdicts else []
            found.append((" OR ".join(choices), list(labels)))
        if self.since > 0:
            found.append(("visits.at >= ?", [self.since]))
        if self.until < float("inf"):
            found.append(("visits.at < ?", [self.until]))
        return found

    def _list_page_conditions(self) -> list[tuple[str, list[object]]]:
        """Return the conditions on host, language, type, text, tag and URL."""
        found: list[tuple[str, list[object]]] = []
        if self.hosts:
            # A name without a port selects all ports.
            patterns = [_escape_pattern(host) for host in self.hosts]
            values = [form for host in patterns for form in (host, f"{host}:%", f"%.{host}", f"%.{host}:%")]
            matches = " OR ".join(["host LIKE ? ESCAPE '!'"] * len(values))
            found.append((f"{_HOST} IN (SELECT host FROM ({_SELECT_HOSTS}) WHERE {matches})", list(values)))
        if self.languages:
            found.append((f"pages.language IN ({_list_marks(self.languages)})", list(self.languages)))
        if self.types:
            kinds = [form for kind in map(_escape_pattern, self.types) for form in (kind, f"{kind}/%")]
            found.append((" OR ".join(["pages.type LIKE ? ESCAPE '!'"] * len(kinds)), list(kinds)))
        if self.text:
            pattern = f"%{_escape_pattern(self.text)}%"
            found.append(("pages.title LIKE ? ESCAPE '!' OR pages.url LIKE ? ESCAPE '!'", [pattern, pattern]))
        if self.tags:
            marks = _list_marks(self.tags)
            found.append((f"pages.id IN (SELECT page FROM page_tags WHERE tag IN ({marks}))", list(self.tags)))
        if self.urls:
            found.append((f"pages.id IN ({_list_marks(self.urls)})", [fingerprint(url) for url in self.urls]))
        return found


def _list_marks(values: tuple[str, ...] | list[str]) -> str:
    """Return the parameter marks of an SQL list.

    >>> _list_marks(["a", "b"])
    '?,?'
    """
    return ",".join("?" * len(values))


def _escape_pattern(text: str) -> str:
    """Escape the wildcards of LIKE.

    >>> _escape_pattern("50%_a!")
    '50!%!_a!!'
    """
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
