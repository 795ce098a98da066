"""Compare strategies by replaying a recorded crawl, and show the reports of `topicrawl lab compare`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from topicrawl import strategies
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.page_relevance import list_seed_pages, load_page_relevance
from topicrawl.database import write_text_file
from topicrawl.errors import UsageError
from topicrawl.web.collections import NotFoundError, OpenCollection
from topicrawl.web.site import RequestForm, Site, page_endpoint, redirect_to
from topicrawl.web.teach import MODEL_FILE, MODEL_STRATEGIES

RUNS_FOLDER = "tries"
_EXAMPLES_FILE = "examples.tsv"
_MAX_STRATEGIES = 6  # strategies per comparison
_MAX_FETCHES = 2000
_COLOURS = 8  # curves of the chart; a replay adds at most `_MAX_STRATEGIES`
_MAX_POINTS = 200  # points of a curve
_NORMAL_QUANTILE = 1.96  # of an interval of 95 %
_MAX_REPORT_BYTES = 20 << 20  # bytes of a report
#: A report has inline styles and no scripts.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@page_endpoint
def show_comparison(site: Site, request: Request, form: RequestForm) -> Response:
    """Show the reports, and the results of the strategies replayed on one collection."""
    chosen = form.get_text("name", max_length=200)
    names = list(site.collections.list_directories())
    chosen = chosen if chosen in names else (names[0] if names else "")
    values: dict[str, Any] = {
        "names": names,
        "chosen": chosen,
        "reports": list(_find_reports(site)),
        "tried": None,
        "usual": strategies.DEFAULT_STRATEGY,
        "most": _MAX_STRATEGIES,
    }
    if chosen:
        with site.collections.open_readonly(chosen) as opened:
            job = _get_job_name(opened.directory)
            values |= {
                "tried": _load_results(opened),
                "now": site.jobs.describe_progress(job),
                "kinds": _group_strategies(opened),
                "failed": [outcome for outcome in site.jobs.get_results(job) if outcome.failed],
            }
    return site.render_page("compare.html", **values)


class StrategyReplay(NamedTuple):
    """Result of one strategy on a recorded crawl."""

    name: str
    fetches: int
    found: int
    share: float  # of all relevant pages
    interval: tuple[float, float]  # of the share
    half: int | None  # fetches until half of the relevant pages were found; None if they were not
    colour: int | None  # None if the chart does not contain the strategy


def _load_results(opened: OpenCollection) -> dict[str, Any]:
    """Return the results of all strategies replayed on a collection, best first, and a chart of their curves."""
    store, threshold = opened.store, opened.topic.threshold
    targets = opened.cache.compute("targets", store, lambda: load_page_relevance(store, threshold).relevant)
    # Strategies with the same result are sorted by how early they found the pages.
    curves = dict(
        sorted(_load_curves(opened, targets).items(), key=lambda item: (-item[1][-1], -sum(item[1]), item[0]))
    )
    drawn = dict(list(curves.items())[:_COLOURS])
    rows = []
    for number, (name, curve) in enumerate(curves.items()):
        half = next((at for at, found in enumerate(curve) if 2 * found >= len(targets) > 0), None)
        share, interval = curve[-1] / max(1, len(targets)), compute_interval(curve[-1], len(targets))
        colour = number if name in drawn else None
        rows.append(StrategyReplay(name, len(curve) - 1, curve[-1], share, interval, half, colour))
    return {"targets": len(targets), "rows": rows, "chart": build_chart(drawn, len(targets))}


def compute_interval(found: int, targets: int) -> tuple[float, float]:
    """Return the Wilson interval (95 %) of a share: the relevant pages are a sample of all pages about the topic.

    >>> compute_interval(0, 0), [round(bound, 2) for bound in compute_interval(50, 100)]
    ((0.0, 1.0), [0.4, 0.6])
    """
    if not targets:
        return 0.0, 1.0
    square, share = _NORMAL_QUANTILE**2, found / targets
    middle = (share + square / (2 * targets)) / (1 + square / targets)
    half = (
        _NORMAL_QUANTILE * math.sqrt(share * (1 - share) / targets + square / (4 * targets**2)) / (1 + square / targets)
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def build_chart(curves: Mapping[str, Sequence[int]], targets: int) -> dict[str, Any]:
    """Return curves at common numbers of fetches for the script of the page; a curve that has ended has no value.

    >>> build_chart({"a": [0, 1, 2], "b": [0, 0]}, 4)
    {'names': ['a', 'b'], 'data': [[0, 1, 2], [0, 1, 2], [0, 0, None]], 'targets': 4}
    """
    longest = max((len(curve) for curve in curves.values()), default=1)
    ends = {len(curve) - 1 for curve in curves.values()}
    fetches = sorted({*range(0, longest, max(1, longest // _MAX_POINTS)), *ends})
    rows = [[curve[at] if at < len(curve) else None for at in fetches] for curve in curves.values()]
    return {"names": list(curves), "data": [fetches, *rows], "targets": targets}


def _group_strategies(opened: OpenCollection) -> list[tuple[str, list[tuple[str, str]], bool]]:
    """Return groups of strategies: title, (name, description) of each strategy, whether their input is available."""
    needs: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for name, kind in strategies.list_strategies().items():
        needs["examples" in kind.required_inputs].append((name, strategies.describe_strategy(kind)))
    has_verdicts = opened.cache.compute("examples", opened.store, lambda: bool(_load_examples(opened)))
    has_examples = has_verdicts or (opened.directory / MODEL_FILE).exists()
    return [
        ("Strategies that need only the words of the topic", needs[False], True),
        ("Strategies that learn from examples", needs[True], has_examples),
    ]


@page_endpoint
def start_comparison(site: Site, request: Request, form: RequestForm) -> Response:
    """Replay a recorded crawl with the chosen strategies, each from the seeds of the crawl."""
    name = form.get_text("name", max_length=200)
    chosen = [item for item in dict.fromkeys(form.get_texts("strategy")) if item]
    if not chosen or len(chosen) > _MAX_STRATEGIES or not set(chosen) <= set(strategies.list_strategies()):
        raise UsageError(f"choose from 1 to {_MAX_STRATEGIES} of the strategies")
    fetches = form.get_integer("fetches", 500, minimum=10, maximum=_MAX_FETCHES)
    with site.collections.open_readonly(name) as opened:
        seeds = _find_seeds(opened)
        folder = opened.directory / RUNS_FOLDER
        folder.mkdir(exist_ok=True)
        examples = _load_examples(opened)
        write_text_file(folder / _EXAMPLES_FILE, "".join(f"{url}\t{label}\n" for url, label in examples.items()))
        fixed = ["lab", "run", str(opened.directory), "--topic", str(opened.directory / "topic.toml")]
        fixed += [f"--pages={fetches}", *(f"--seed={url}" for url in seeds)]
        site.jobs.start(
            _get_job_name(opened.directory),
            {
                each: [*fixed, *_build_strategy_options(opened.directory, each), f"--out={folder / each}.jsonl"]
                for each in chosen
            },
        )
    return redirect_to("/compare", name=name)


def _build_strategy_options(directory: Path, strategy: str) -> list[str]:
    """Return the command-line options of a strategy: its name, and the HMM model or the examples to learn from."""
    if strategy in MODEL_STRATEGIES and (directory / MODEL_FILE).exists():
        return [f"--strategy={strategy}:model={directory / MODEL_FILE}"]
    examples = directory / RUNS_FOLDER / _EXAMPLES_FILE
    learns = "examples" in strategies.list_strategies()[strategy].required_inputs and examples.stat().st_size > 0
    return [f"--strategy={strategy}", *([f"--examples={examples}"] if learns else [])]


def _load_examples(opened: OpenCollection) -> dict[str, str]:
    """Return the annotated pages (URL → verdict); empty if none is relevant, because no strategy can learn then."""
    verdicts = {
        row.url: str(row.label)
        for row in annotation_log.list_current_annotations(opened.store).values()
        if row.is_relevant is not None
    }
    return verdicts if AnnotationLabel.RELEVANT in verdicts.values() else {}


@page_endpoint
def show_report(site: Site, request: Request, form: RequestForm) -> Response:
    """Show a report of `topicrawl lab compare`."""
    path = dict(_find_reports(site)).get(request.path_params["name"])
    if path is None or path.stat().st_size > _MAX_REPORT_BYTES:
        raise NotFoundError("report not found")
    return HTMLResponse(path.read_text("utf-8"), headers={"content-security-policy": _REPORT_POLICY})


def _find_reports(site: Site) -> list[tuple[str, Path]]:
    """Return the names and paths of the reports beside the collections."""
    home = site.collections.crawl_home
    paths = sorted(home.glob("*/report.html")) if home is not None else []
    return [(path.parent.name, path) for path in paths if not path.is_symlink()]


def _get_job_name(directory: Path) -> str:
    return f"try {directory}"


def _find_seeds(opened: OpenCollection) -> list[str]:
    """Return the seeds of the crawl that were fetched, at most 20."""
    seeds = list_seed_pages(opened.store, 20)
    if not seeds:
        raise UsageError(f"cannot compare strategies on {opened.name}: none of its seeds was fetched")
    return seeds


def _load_curves(opened: OpenCollection, targets: Set[str]) -> dict[str, list[int]]:
    """Return the harvest curve of each strategy: the number of relevant pages found after each fetch."""
    curves: dict[str, list[int]] = {}
    for path in sorted((opened.directory / RUNS_FOLDER).glob("*.jsonl")):
        curve, found = [0], set()
        for line in path.read_text("utf-8").splitlines():
            try:
                url = json.loads(line).get("url")
            except ValueError:
                break  # the last line is still being written
            # Several URLs may redirect to one page, which counts once.
            found |= {url} & targets
            curve.append(len(found))
        if len(curve) > 1:
            curves[path.stem] = curve
    return curves
