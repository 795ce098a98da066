"""Topics of `trial.py`, their target pages, and the measures of a crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

EXAMPLES = 10
Item = TypeVar("Item")

# Minimum of each measure. The other measures of a crawl have no goal.
GOALS = {"precision": 0.60, "fetch_share": 0.50, "recall": 0.50}


@dataclass(frozen=True)
class TrialTopic:
    """A phrase as a user types it, and the manuals that contain its target pages."""

    name: str
    phrase: str
    manuals: tuple[str, ...]
    pattern_file: str = ""  # file next to this one; without it, all pages of the manuals are targets


TOPICS = {
    topic.name: topic
    for topic in (
        TrialTopic("gis", "geographic information systems", ("grass", "postgis", "geos")),
        TrialTopic(
            "full-text-search",
            "full text search in databases",
            ("postgresql", "sqlite", "xapian"),
            "trial_full_text_search.txt",
        ),
    )
}


def load_patterns(path: Path) -> list[str]:
    """Load the patterns of a target list: one per line, without comments."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def select_targets(pages: Iterable[str], patterns: Sequence[str]) -> set[str]:
    """Return the page names that match a pattern and no pattern after `!`."""
    included = [pattern for pattern in patterns if not pattern.startswith("!")]
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    return {page for page in pages if _matches_any(page, included) and not _matches_any(page, excluded)}


def find_unused_patterns(pages: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Return the patterns that match no page, because another version of a manual has other pages."""
    pages = list(pages)
    return [
        pattern for pattern in patterns if not any(_matches_any(page, [pattern.removeprefix("!")]) for page in pages)
    ]


def _matches_any(page: str, patterns: Iterable[str]) -> bool:
    # With a leading slash, a pattern matches the whole name, and `*` matches no slash.
    return any(PurePosixPath(f"/{page}").match(f"/{pattern}") for pattern in patterns)


@dataclass(frozen=True)
class Fetch:
    """One fetch of a crawl, with page names instead of URLs where pages are compared."""

    page: str
    url: str
    score: float  # of the link
    relevance: float | None  # of the page; None: no page was stored
    relevant: bool  # in the export of the relevant pages
    failure: str | None = None
    duplicate_of: str = ""  # page name


@dataclass(frozen=True)
class TrialScore:
    """Measures of a crawl, and the pages on which they are missed."""

    fetched: int
    relevant: int
    targets: int
    precision: float  # share of the pages judged relevant that are targets
    fetch_share: float  # share of the fetches that went to the target manuals
    recall: float  # share of the targets that are judged relevant
    targets_fetched: float  # share of the targets that were fetched, whatever the judgement
    by_manual: dict[str, dict[str, int]]  # manual → fetched, relevant
    false_positives: list[Fetch]  # most relevant first
    missed_fetched: list[Fetch]  # targets that were fetched and judged irrelevant, most relevant first
    missed_unfetched: list[str]  # targets that were not fetched

    def check_goals(self) -> dict[str, bool]:
        """Return for every goal whether it is reached."""
        return {name: getattr(self, name) >= goal for name, goal in GOALS.items()}


def compute_score(fetches: Sequence[Fetch], targets: set[str], manuals: Sequence[str]) -> TrialScore:
    """Compute the measures of a crawl.

    A target that the crawler did not store because it repeats a page judged relevant counts as found: the collection
    contains its text.
    """
    by_page = {fetch.page: fetch for fetch in fetches}
    relevant = {fetch.page: fetch for fetch in fetches if fetch.relevant}
    found = {page for page in by_page if page in relevant or by_page[page].duplicate_of in relevant} & targets
    in_manuals = sum(get_manual_name(fetch.page) in manuals for fetch in fetches)
    return TrialScore(
        fetched=len(fetches),
        relevant=len(relevant),
        targets=len(targets),
        precision=_divide(len(relevant.keys() & targets), len(relevant)),
        fetch_share=_divide(in_manuals, len(fetches)),
        recall=_divide(len(found), len(targets)),
        targets_fetched=_divide(len(by_page.keys() & targets), len(targets)),
        by_manual=_count_by_manual(fetches),
        false_positives=_sort_by_relevance(fetch for page, fetch in relevant.items() if page not in targets),
        missed_fetched=_sort_by_relevance(by_page[page] for page in (targets & by_page.keys()) - found),
        missed_unfetched=sorted(targets - by_page.keys()),
    )


def get_manual_name(page: str) -> str:
    """Return the manual of a page name."""
    return page.partition("/")[0]


def pick_evenly(items: Sequence[Item], count: int = EXAMPLES) -> list[Item]:
    """Return up to `count` items at equal distances, so that the examples represent the whole list.

    >>> pick_evenly(range(100), 4)
    [0, 25, 50, 75]
    """
    return [items[number * len(items) // count] for number in range(count)] if len(items) > count else list(items)


def _sort_by_relevance(fetches: Iterable[Fetch]) -> list[Fetch]:
    return sorted(fetches, key=lambda fetch: (-(fetch.relevance or 0.0), fetch.page))


def _count_by_manual(fetches: Iterable[Fetch]) -> dict[str, dict[str, int]]:
    counts: Mapping[str, Counter[str]] = {"fetched": Counter(), "relevant": Counter()}
    for fetch in fetches:
        counts["fetched"][get_manual_name(fetch.page)] += 1
        counts["relevant"][get_manual_name(fetch.page)] += fetch.relevant
    return {
        manual: {kind: counter[manual] for kind, counter in counts.items()}
        for manual, _ in counts["fetched"].most_common()
    }


def _divide(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
