"""Sessions from a tab-separated file, in one of two formats. Lines that begin with # are comments.

One click per line, for files written by hand. The lines with the same session name form a session, in their order:

    session ⇥ url ⇥ label        label: relevant, irrelevant or empty; the column is optional

One session per line, the format of recorded webs. Only the last column is used:

    session ⇥ status ⇥ target ⇥ duration ⇥ URLs separated by spaces

In both formats, `<` means a click on Back.
"""

from __future__ import annotations

from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.urls import canonicalize_url

BACK = "<"
_LABELS = {"relevant": True, "irrelevant": False}
_CLICK_COLUMNS, _SESSION_COLUMNS = (2, 3), (5,)


def parse_tsv(text: str, path: Path) -> tuple[list[tuple[str, ...]], dict[str, bool]]:
    """Return the sessions and the labels (True: relevant) by URL; the last label of a page counts.

    `path` is used in error messages.
    """
    sessions: dict[str, list[str]] = {}  # name → URLs and clicks on Back
    labels: dict[str, bool] = {}
    form: tuple[int, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        form = form or next((counts for counts in (_CLICK_COLUMNS, _SESSION_COLUMNS) if len(columns) in counts), ())
        if len(columns) not in form:
            expected = " or ".join(map(str, form or (*_CLICK_COLUMNS, *_SESSION_COLUMNS)))
            raise UsageError(f"{path}:{number}: expected {expected} columns separated by tabs, found {len(columns)}")
        if form == _SESSION_COLUMNS:
            sessions[f"line {number}"] = columns[4].split()
            continue
        step = columns[1].strip()
        sessions.setdefault(columns[0], []).append(step)
        _check_step(step, f"{path}:{number}")
        if label := "".join(columns[2:]).strip():
            _add_label(labels, step, label, f"{path}:{number}")
    return [walk for steps in sessions.values() if (walk := resolve_back_clicks(steps))], labels


def _check_step(step: str, where: str) -> None:
    # Internal pages of the browser (about:, chrome:) are allowed and ignored later.
    if step != BACK and ":" not in step:
        raise UsageError(f"{where}: expected a URL or < in the second column, found {step[:80]!r}")


def _add_label(labels: dict[str, bool], step: str, label: str, where: str) -> None:
    if label not in _LABELS:
        raise UsageError(f"{where}: the label must be 'relevant' or 'irrelevant', not {label[:80]!r}")
    if (url := canonicalize_url(step)) is not None:
        labels[url] = _LABELS[label]


def resolve_back_clicks(steps: list[str]) -> tuple[str, ...]:
    """Replace clicks on Back by the pages they lead to, and drop URLs that are not http or https.

    >>> resolve_back_clicks(["http://a/", "http://b/", "<", "http://c/"])
    ('http://a/', 'http://b/', 'http://a/', 'http://c/')
    """
    urls: list[str] = []
    history: list[str] = []  # pages to which clicks on Back lead, the nearest last
    for step in steps:
        if step == BACK:
            if history:
                urls.append(history.pop())
        elif url := canonicalize_url(step):
            if urls:
                history.append(urls[-1])
            urls.append(url)
    return tuple(urls)
