"""Sessions as lines with tabs between the columns; lines that begin with # are not read.

One click a line, the form to write by hand. Lines of one name are one session, in their order:

    session ⇥ url ⇥ label        label: relevant, irrelevant, or nothing; the column may be left out

One session a line, the form of recorded webs; only the last column is read:

    session ⇥ status ⇥ target ⇥ duration ⇥ URLs with blanks between them

In both, `<` stands for a click on Back.
"""

from __future__ import annotations

from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.urls import canonical

BACK = "<"
_LABELS = {"relevant": True, "irrelevant": False}
_CLICKS, _WHOLE = (2, 3), (5,)


def tsv_walks(text: str, path: Path) -> tuple[list[tuple[str, ...]], dict[str, bool]]:
    """The sessions, and whether the pages that have a label are relevant; the last label of a page counts."""
    sessions: dict[str, list[str]] = {}  # name → its steps
    labels: dict[str, bool] = {}
    form: tuple[int, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        form = form or next((known for known in (_CLICKS, _WHOLE) if len(columns) in known), ())
        if len(columns) not in form:
            expected = " or ".join(map(str, form or (*_CLICKS, *_WHOLE)))
            raise UsageError(f"{path}:{number}: expected {expected} columns with tabs between them, not {len(columns)}")
        if form == _WHOLE:
            sessions[f"line {number}"] = columns[4].split()
            continue
        step = columns[1].strip()
        sessions.setdefault(columns[0], []).append(step)
        _check(step, f"{path}:{number}")
        if label := "".join(columns[2:]).strip():
            _note(labels, step, label, f"{path}:{number}")
    return [walk for steps in sessions.values() if (walk := walked(steps))], labels


def _check(step: str, where: str) -> None:
    # Pages of the browser itself (about:, chrome:) are no mistake, they are only not of the web.
    if step != BACK and ":" not in step:
        raise UsageError(f"{where}: expected a web address or < in the second column, found {step[:80]!r}")


def _note(labels: dict[str, bool], step: str, label: str, where: str) -> None:
    if label not in _LABELS:
        raise UsageError(f"{where}: the label is 'relevant' or 'irrelevant', not {label[:80]!r}")
    if (url := canonical(step)) is not None:
        labels[url] = _LABELS[label]


def walked(steps: list[str]) -> tuple[str, ...]:
    """
    >>> walked(["http://a/", "http://b/", "<", "http://c/"])
    ('http://a/', 'http://b/', 'http://a/', 'http://c/')
    """
    found: list[str] = []
    behind: list[str] = []  # the pages that a step back leads to, the nearest last
    for step in steps:
        if step == BACK:
            if behind:
                found.append(behind.pop())
        elif url := canonical(step):
            if found:
                behind.append(found[-1])
            found.append(url)
    return tuple(found)
