"""Compare: reports of the lab, and strategies tried on what a crawl has recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from topicrawl import strategies
from topicrawl.collection import verdicts
from topicrawl.collection.verdicts import Ruling
from topicrawl.errors import UsageError
from topicrawl.web.drawing import curves_svg
from topicrawl.web.shelves import Opened, Unknown
from topicrawl.web.site import Form, Site, go, shown

FOLDER = "tries"
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
    values: dict[str, Any] = {"names": names, "chosen": chosen, "reports": list(_reports(site))}
    values |= {"strategies": list(strategies.available()), "picture": "", "rows": [], "said": "", "working": False}
    if chosen:
        with site.shelves.opened(chosen) as opened:
            curves = _curves(opened)
            targets = len(_targets(opened))
            rows = [(name, len(curve) - 1, curve[-1], targets) for name, curve in curves.items()]
            values |= {
                "picture": Markup(curves_svg(curves)) if curves else "",
                "rows": sorted(rows, key=lambda row: -row[2]),
                "said": site.jobs.words(_job(opened.directory)),
                "working": site.jobs.running(_job(opened.directory)),
            }
    return site.page("compare.html", **values)


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
        topic = opened.directory / "topic.toml"
        commands = [
            ["lab", "run", str(opened.directory), "--topic", str(topic), f"--strategy={strategy}", f"--pages={fetches}",
             f"--out={folder / strategy}.jsonl", *(f"--seed={url}" for url in seeds)]
            for strategy in asked
        ]  # fmt: skip
        site.jobs.run(_job(opened.directory), commands)
    return go("/compare", name=name)


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


def _curves(opened: Opened) -> dict[str, list[int]]:
    """Strategy → relevant pages found after each fetch."""
    targets = _targets(opened)
    curves: dict[str, list[int]] = {}
    for path in sorted((opened.directory / FOLDER).glob("*.jsonl")):
        curve = [0]
        for line in path.read_text("utf-8").splitlines():
            try:
                found = json.loads(line).get("url") in targets
            except ValueError:
                break  # it is being written
            curve.append(curve[-1] + found)
        if len(curve) > 1:
            curves[path.stem] = curve
    return curves
