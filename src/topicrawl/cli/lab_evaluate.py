"""`topicrawl lab evaluate` and `lab sample`: a crawl that exists against pages that people judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.lab.bootstrap import Interval
    from topicrawl.lab.evaluate import Crawled, Score

_POINTS = 10  # lines of the table
_NAMED = 5  # missing pages that are named one by one


@dataclass(frozen=True)
class Sides:
    """What the crawl accepted and what it rejected, and what people said of some of it."""

    accepted: list[str]
    rejected: list[str]
    judgements: Mapping[str, bool]

    def recall(self) -> dict[str, object]:
        """The estimate with all it is made of; `recall` is None where it cannot be made."""
        from topicrawl.lab.missed import Sampled, by_directory, recall

        kept, left = (Sampled.of(side, self.judgements) for side in (self.accepted, self.rejected))
        found = recall(kept, left)
        by_hosts = by_directory(self.rejected, self.judgements)
        return {
            "recall": _rounded(found),
            "accepted": {"pages": kept.pages, "judged": kept.judged, "relevant": kept.relevant},
            "rejected": {"pages": left.pages, "judged": left.judged, "relevant": left.relevant},
            "relevant_rejected_by_host": by_hosts if left.judged else None,
        }


def _rounded(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {name: round(value, 4) for name, value in interval._asdict().items()}


@click.command("evaluate")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--judged", required=True, type=click.Path(path_type=Path), help="Judged pages: lines of url⇥relevant|irrelevant."
)
@click.option(
    "--from", "web", type=click.Path(path_type=Path), help="A recorded web with judged pages not in the crawl."
)
@click.option("--threshold", default=0.75, show_default=True, type=click.FloatRange(0, 1), help="Above it: relevant.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the whole curve.")
def evaluate(directory: Path, judged: Path, web: Path | None, threshold: float, as_json: bool) -> None:
    """Score a crawl against judged pages: harvest ratio, average similarity, recall.

    Every page of the crawl is compared with all pages judged relevant; its largest cosine counts.
    Pages of the crawl that were judged themselves, drawn by `lab sample`, give an estimate of recall.

    \b
    Example:
      topicrawl lab evaluate dengue-fever --judged judged.tsv
    """
    from topicrawl import topic as topics
    from topicrawl.fetch.replay import Recording
    from topicrawl.lab.evaluate import Crawled, judged_pages
    from topicrawl.lab.evaluate import evaluate as scored

    relevant, irrelevant = topics.examples(judged)
    if both := sorted(set(relevant) & set(irrelevant)):
        raise UsageError(f"{judged}: {both[0]} is judged relevant and irrelevant")
    if not relevant:
        raise UsageError(f"{judged}: no page in it is judged relevant, so there is nothing to compare with")
    crawled = Crawled(directory)
    try:
        pages, missing = judged_pages(relevant, crawled, Recording(web) if web is not None else None)
        _say_missing(missing, len(pages))
        score = scored(crawled, pages, threshold)
        if crawled.lost:
            click.echo(f"topicrawl: {len(crawled.lost)} pages do not read back, such as {crawled.lost[0]}", err=True)
        sides = _sides(crawled, {**dict.fromkeys(relevant, True), **dict.fromkeys(irrelevant, False)})
    finally:
        crawled.close()
    click.echo(json.dumps(_table(score, sides, missing)) if as_json else _text(score, sides))


def _sides(crawled: Crawled, judgements: Mapping[str, bool]) -> Sides:
    accepted: list[str] = []
    rejected: list[str] = []
    for row in crawled.visits():
        side = accepted if (row.relevance or 0.0) >= crawled.topic.threshold else rejected
        side.append(row.url)
    return Sides(accepted, rejected, judgements)


def _say_missing(missing: list[str], read: int) -> None:
    for url in missing[:_NAMED]:
        click.echo(f"topicrawl: judged relevant, but without text in the crawl and the recording: {url}", err=True)
    if len(missing) > _NAMED:
        click.echo(f"topicrawl: … and {len(missing) - _NAMED} more; {read} judged pages are left", err=True)


def _table(score: Score, sides: Sides, missing: list[str]) -> dict[str, Any]:
    return {
        "pages": score.pages,
        "judged_relevant": score.judged,
        "missing": missing,
        "threshold": score.threshold,
        "relevant": score.relevant,
        "harvest_ratio": round(score.harvest_ratio, 6),
        "average_similarity": round(score.average_similarity, 6),
        "curve": {"relevant": score.found(), "average_similarity": [round(mean, 6) for mean in score.averages()]},
        **sides.recall(),
    }


def _text(score: Score, sides: Sides) -> str:
    found, means = score.found(), score.averages()
    lines = [
        f"{score.pages:,} pages against {score.judged:,} judged relevant, similarity above {score.threshold:g} counts",
        "",
        "  pages  relevant  harvest ratio  average similarity",
    ]
    step = max(1, -(-score.pages // _POINTS))
    for count in [*range(step, score.pages, step), score.pages]:
        ratio = found[count - 1] / count
        lines.append(f"{count:7,}  {found[count - 1]:8,}  {ratio:13.3f}  {means[count - 1]:18.3f}")
    return "\n".join([*lines, "", _recall_text(sides)])


def _recall_text(sides: Sides) -> str:
    found: Any = sides.recall()
    kept, left = found["accepted"], found["rejected"]
    judged = (
        f"{kept['judged']:,} of {kept['pages']:,} accepted and {left['judged']:,} of {left['pages']:,} rejected pages"
    )
    if found["recall"] is None:
        return f"recall: not estimated, because only {judged} are judged; `topicrawl lab sample` draws some to judge"
    value, low, high = (found["recall"][name] for name in ("value", "low", "high"))
    return (
        f"recall among the pages fetched: {value:.2f} ({low:.2f} to {high:.2f})\n"
        f"  from {judged}, judged; it holds if these were drawn by lot\n"
        f"relevant pages rejected, by Kluev's rule of whole hosts: {found['relevant_rejected_by_host']:,}"
    )


@click.command("sample")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--rejected", default=50, show_default=True, type=click.IntRange(0), help="Pages to draw of the rejected."
)
@click.option("--accepted", default=20, show_default=True, type=click.IntRange(0), help="Pages to draw of the others.")
@click.option("--seed", default=0, show_default=True, help="Another number draws others.")
@click.option("--out", type=click.Path(path_type=Path), help="File to write. [default: standard output]")
def sample(directory: Path, rejected: int, accepted: int, seed: int, out: Path | None) -> None:
    """Draw pages of a crawl by lot, for a person to judge.

    Each line is a URL and a tab; write relevant or irrelevant behind it, then give the file to `lab evaluate`.

    \b
    Example:
      topicrawl lab sample dengue-fever --rejected 100 --out judged.tsv
    """
    from topicrawl.lab.evaluate import Crawled
    from topicrawl.lab.missed import sample as drawn

    crawled = Crawled(directory)
    try:
        sides = _sides(crawled, {})
    finally:
        crawled.close()
    # Mixed, so that the judge does not see what the crawl thought.
    urls = sorted({*drawn(sides.rejected, rejected, seed=seed), *drawn(sides.accepted, accepted, seed=seed)})
    if not urls:
        raise UsageError(f"{directory}: nothing to draw: no page was kept, or 0 were asked for")
    text = "".join(f"{url}\t\n" for url in urls)
    if out is None:
        click.echo(text, nl=False)
        return
    written(out, text)
    click.echo(f"{len(urls)} pages to judge in {out}", err=True)


def written(path: Path, text: str) -> None:
    """Write a file that does not exist yet; nobody's judgements are overwritten."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; name another file or take it away") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
