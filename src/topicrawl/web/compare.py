"""Compare: reports of the lab, and strategies tried on what a crawl has recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from topicrawl import strategies
from topicrawl.collection import verdicts
from topicrawl.collection.verdicts import Ruling
from topicrawl.errors import UsageError
from topicrawl.web.drawing import COLOURS, curves_svg
from topicrawl.web.shelves import Opened, Unknown
from topicrawl.web.site import Form, Site, go, shown
from topicrawl.web.teach import MODEL

FOLDER = "tries"
_EXAMPLES = "examples.tsv"
_MOST = 6  # strategies at a time
_FETCHES = 2000
_LARGEST = 20 << 20  # bytes of a report
#: A report has styles of its own and no scripts; what it holds came from the lab, not from the web.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@shown
def room(site: Site, request: Request, form: Form) -> Response:
    """Reports, and what was tried on each collection."""
    chosen = form.text("name", most=200)
    names = list(site.shelves.all())
    chosen = chosen if chosen in names else (names[0] if names else "")
    values: dict[str, Any] = {
        "names": names,
        "chosen": chosen,
        "reports": list(_reports(site)),
        "tried": None,
        "usual": strategies.USUAL,
    }
    if chosen:
        with site.shelves.opened(chosen) as opened:
            job = _job(opened.directory)
            values |= {
                "tried": _tried(opened), "now": site.jobs.now(job), "kinds": _kinds(opened),
                "failed": [outcome for outcome in site.jobs.outcomes(job) if outcome.failed],
            }  # fmt: skip
    return site.page("compare.html", **values)


class Row(NamedTuple):
    """What a strategy has found."""

    name: str
    fetches: int
    found: int
    share: float  # of all that there is to find
    half: int | None  # fetches until half of it was found; None: never
    colour: int | None  # None: it is not in the picture


def _tried(opened: Opened) -> dict[str, Any]:
    """What was tried on a collection: the best strategies first, and their curves."""
    targets = _targets(opened)
    # Whoever has found as much as another, and more of it early, stands before him.
    curves = dict(sorted(_curves(opened, targets).items(), key=lambda item: (-item[1][-1], -sum(item[1]), item[0])))
    drawn = dict(list(curves.items())[:COLOURS])
    rows = []
    for number, (name, curve) in enumerate(curves.items()):
        half = next((at for at, found in enumerate(curve) if 2 * found >= len(targets) > 0), None)
        share = curve[-1] / max(1, len(targets))
        rows.append(Row(name, len(curve) - 1, curve[-1], share, half, number if name in drawn else None))
    return {"targets": len(targets), "rows": rows, "picture": Markup(curves_svg(drawn)) if drawn else ""}


def _kinds(opened: Opened) -> list[tuple[str, list[tuple[str, str]], bool]]:
    """Strategies with a sentence each, by what they need; and whether that is here."""
    needs: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for name, kind in strategies.available().items():
        needs["examples" in kind.inputs].append((name, strategies.sentence(kind)))
    taught = bool(_examples(opened)) or (opened.directory / MODEL).exists()
    return [("From the topic's words", needs[False], True), ("Learners, from examples too", needs[True], taught)]


@shown
def attempt(site: Site, request: Request, form: Form) -> Response:
    """Try strategies on what a crawl recorded, each from the crawl's own seeds."""
    name = form.text("name", most=200)
    asked = [item for item in dict.fromkeys(form.texts("strategy")) if item]
    if not asked or len(asked) > _MOST or not set(asked) <= set(strategies.available()):
        raise UsageError(f"choose one to {_MOST} of the strategies")
    fetches = form.number("fetches", 500, least=10, most=_FETCHES)
    with site.shelves.opened(name) as opened:
        seeds = _seeds(opened)
        folder = opened.directory / FOLDER
        folder.mkdir(exist_ok=True)
        examples = _examples(opened)
        (folder / _EXAMPLES).write_text("".join(f"{url}\t{label}\n" for url, label in examples.items()), "utf-8")
        fixed = ["lab", "run", str(opened.directory), "--topic", str(opened.directory / "topic.toml")]
        fixed += [f"--pages={fetches}", *(f"--seed={url}" for url in seeds)]
        site.jobs.run(
            _job(opened.directory),
            {each: [*fixed, *_taught(opened.directory, each), f"--out={folder / each}.jsonl"] for each in asked},
        )
    return go("/compare", name=name)


def _taught(directory: Path, strategy: str) -> list[str]:
    """The strategy as an option, with what it may learn from: a model of browsing, or the pages that readers judged."""
    if strategy == "hmm" and (directory / MODEL).exists():
        return [f"--strategy=hmm:model={directory / MODEL}"]
    examples = directory / FOLDER / _EXAMPLES
    learns = "examples" in strategies.available()[strategy].inputs and examples.stat().st_size > 0
    return [f"--strategy={strategy}", *([f"--examples={examples}"] if learns else [])]


def _examples(opened: Opened) -> dict[str, str]:
    """Pages that readers judged; without a relevant one nobody can learn from them."""
    said = {row.url: str(row.verdict) for row in verdicts.latest(opened.store).values() if row.relevant is not None}
    return said if Ruling.RELEVANT in said.values() else {}


@shown
def report(site: Site, request: Request, form: Form) -> Response:
    """A report of `topicrawl lab compare`."""
    path = dict(_reports(site)).get(request.path_params["name"])
    if path is None or path.stat().st_size > _LARGEST:
        raise Unknown("there is no such report here")
    return HTMLResponse(path.read_text("utf-8"), headers={"content-security-policy": _POLICY})


def _reports(site: Site) -> list[tuple[str, Path]]:
    home = site.shelves.home
    found = sorted(home.glob("*/report.html")) if home is not None else []
    return [(path.parent.name, path) for path in found if not path.is_symlink()]


def _job(directory: Path) -> str:
    return f"try {directory}"


def _seeds(opened: Opened) -> list[str]:
    """The crawl's seeds that are in its archive."""
    rows = opened.store.rows("SELECT url FROM visits WHERE source = '' AND failure IS NULL ORDER BY step LIMIT 20")
    if not rows:
        raise UsageError(f"{opened.name} has no seed that could be read: there is nothing to try strategies on")
    return [str(url) for (url,) in rows]


def _targets(opened: Opened) -> set[str]:
    """What was to be found: what readers call relevant; where they said nothing, what the topic's words do."""
    sql = "SELECT url FROM visits WHERE failure IS NULL AND relevance >= ?"
    found = {str(url) for (url,) in opened.store.rows(sql, (opened.topic.threshold,))}
    for verdict in verdicts.latest(opened.store).values():
        if verdict.verdict == Ruling.RELEVANT:
            found.add(verdict.url)
        elif verdict.verdict == Ruling.IRRELEVANT:
            found.discard(verdict.url)
    return found


def _curves(opened: Opened, targets: set[str]) -> dict[str, list[int]]:
    """Strategy → relevant pages found after each fetch."""
    curves: dict[str, list[int]] = {}
    for path in sorted((opened.directory / FOLDER).glob("*.jsonl")):
        curve, found = [0], set()
        for line in path.read_text("utf-8").splitlines():
            try:
                url = json.loads(line).get("url")
            except ValueError:
                break  # it is being written
            # Several addresses may lead to one page, which is found once.
            found |= {url} & targets
            curve.append(len(found))
        if len(curve) > 1:
            curves[path.stem] = curve
    return curves
