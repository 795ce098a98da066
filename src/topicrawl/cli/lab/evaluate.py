"""`topicrawl lab evaluate` and `topicrawl lab sample`: measure a crawl against pages that people have judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.lab.bootstrap import ConfidenceInterval
    from topicrawl.lab.evaluate import EvaluationResult, RecordedRun, StoredCrawl

_TABLE_ROWS = 10  # rows of the table
_MAX_REPORTED = 5  # missing pages that are listed one by one


@dataclass(frozen=True)
class CrawlDecisions:
    """URLs that the crawl accepted and rejected as relevant, and the judgements of people on some of them."""

    accepted: list[str]
    rejected: list[str]
    judgements: Mapping[str, bool]

    def estimate_recall(self) -> dict[str, object]:
        """Return the recall estimate and its inputs as JSON; `recall` is None if there are too few judgements."""
        from topicrawl.lab.sampled_recall import JudgedSample, count_relevant_by_host, estimate_recall

        accepted, rejected = (JudgedSample.of(urls, self.judgements) for urls in (self.accepted, self.rejected))
        estimate = estimate_recall(accepted, rejected)
        by_hosts = count_relevant_by_host(self.rejected, self.judgements)
        return {
            "recall": _round_interval(estimate),
            "accepted": {"pages": accepted.pages, "judged": accepted.judged, "relevant": accepted.relevant},
            "rejected": {"pages": rejected.pages, "judged": rejected.judged, "relevant": rejected.relevant},
            "relevant_rejected_by_host": by_hosts if rejected.judged else None,
        }


def _round_interval(interval: ConfidenceInterval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {name: round(value, 4) for name, value in interval._asdict().items()}


@click.command("evaluate")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--judged",
    required=True,
    type=click.Path(path_type=Path),
    help="Judged pages, one per line: url⇥relevant|irrelevant.",
)
@click.option(
    "--from", "web", type=click.Path(path_type=Path), help="A recorded web with judged pages that the crawl lacks."
)
@click.option(
    "--threshold",
    default=0.75,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="A page with a higher similarity is relevant.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the whole curve.")
def evaluate_command(directory: Path, judged: Path, web: Path | None, threshold: float, as_json: bool) -> None:
    """Measure a crawl against judged pages: harvest ratio, average similarity, precision rate, recall.

    DIRECTORY is a crawl, or the file of visits that `topicrawl lab run --out` wrote, with its web in --from. The
    similarity of a page is its largest cosine with a page that is judged relevant. Judged pages of the crawl
    itself, drawn by `topicrawl lab sample`, give an estimate of recall.

    \b
    Example:
      topicrawl lab evaluate dengue-fever --judged judged.tsv
      topicrawl lab evaluate visits.jsonl --from webs/wikispeedia --judged judged.tsv
    """
    from topicrawl import topic as topics
    from topicrawl.fetch.replay import Recording
    from topicrawl.lab.evaluate import RecordedRun, StoredCrawl, load_judged_pages
    from topicrawl.lab.evaluate import evaluate_crawl as scored

    relevant, irrelevant = topics.load_examples(judged)
    if both := sorted(set(relevant) & set(irrelevant)):
        raise UsageError(f"{judged}: {both[0]} is judged relevant and irrelevant")
    if not relevant:
        raise UsageError(f"{judged}: no page is judged relevant; at least one is needed")
    recording = Recording(web) if web is not None else None
    crawled: StoredCrawl | RecordedRun
    if directory.is_file():
        if recording is None:
            raise UsageError(f"{directory} is a file: give the recorded web of this run with --from")
        crawled = RecordedRun(directory, recording)
    else:
        crawled = StoredCrawl(directory)
    try:
        pages, missing = load_judged_pages(relevant, crawled, recording)
        _report_missing(missing, len(pages))
        score = scored(crawled, pages, threshold)
        if crawled.unreadable:
            click.echo(
                f"topicrawl: {len(crawled.unreadable)} pages cannot be read, for example {crawled.unreadable[0]}",
                err=True,
            )
        decisions = _load_decisions(crawled, {**dict.fromkeys(relevant, True), **dict.fromkeys(irrelevant, False)})
    finally:
        crawled.close()
    click.echo(json.dumps(_build_table(score, decisions, missing)) if as_json else _format_text(score, decisions))


def _load_decisions(crawled: StoredCrawl | RecordedRun, judgements: Mapping[str, bool]) -> CrawlDecisions:
    """Split the pages of a crawl by the threshold of its topic."""
    accepted: list[str] = []
    rejected: list[str] = []
    for row in crawled.iter_visits():
        urls = accepted if (row.relevance or 0.0) >= crawled.topic.threshold else rejected
        urls.append(row.url)
    return CrawlDecisions(accepted, rejected, judgements)


def _report_missing(missing: list[str], count: int) -> None:
    """Print the judged pages without text; `count` is the number of judged pages that could be read."""
    for url in missing[:_MAX_REPORTED]:
        click.echo(f"topicrawl: judged relevant, but neither the crawl nor the recording has its text: {url}", err=True)
    if len(missing) > _MAX_REPORTED:
        click.echo(f"topicrawl: … and {len(missing) - _MAX_REPORTED} more; {count} judged pages are left", err=True)


def _build_table(score: EvaluationResult, decisions: CrawlDecisions, missing: list[str]) -> dict[str, Any]:
    return {
        "pages": score.pages,
        "judged_relevant": score.judged,
        "missing": missing,
        "threshold": score.threshold,
        "relevant": score.relevant,
        "harvest_ratio": round(score.harvest_ratio, 6),
        "average_similarity": round(score.average_similarity, 6),
        "relevant_unjudged": score.unjudged_relevant,
        "precision_rate": round(score.precision_rate, 6),
        "curve": {
            "relevant": score.cumulative_relevant(),
            "average_similarity": [round(mean, 6) for mean in score.cumulative_averages()],
        },
        **decisions.estimate_recall(),
    }


def _format_text(score: EvaluationResult, decisions: CrawlDecisions) -> str:
    relevant, averages = score.cumulative_relevant(), score.cumulative_averages()
    lines = [
        f"{score.pages:,} pages compared with {score.judged:,} pages judged relevant; "
        f"a page with a similarity above {score.threshold:g} is relevant",
        "",
        "  pages  relevant  harvest ratio  average similarity",
    ]
    step = max(1, -(-score.pages // _TABLE_ROWS))
    for count in [*range(step, score.pages, step), score.pages]:
        ratio = relevant[count - 1] / count
        lines.append(f"{count:7,}  {relevant[count - 1]:8,}  {ratio:13.3f}  {averages[count - 1]:18.3f}")
    lines += [
        "",
        f"relevant pages that are not judged pages themselves: {score.unjudged_relevant:,}",
        f"precision rate: {score.precision_rate:.3f} ({score.accepted:,} pages that the crawl judges relevant)",
    ]
    return "\n".join([*lines, "", _format_recall(decisions)])


def _format_recall(decisions: CrawlDecisions) -> str:
    estimate: Any = decisions.estimate_recall()
    accepted, rejected = estimate["accepted"], estimate["rejected"]
    judged = (
        f"{accepted['judged']:,} of {accepted['pages']:,} accepted and "
        f"{rejected['judged']:,} of {rejected['pages']:,} rejected pages"
    )
    if estimate["recall"] is None:
        return f"recall: not estimated, because only {judged} are judged; `topicrawl lab sample` draws more pages"
    value, low, high = (estimate["recall"][name] for name in ("value", "low", "high"))
    return (
        f"recall among the fetched pages: {value:.2f} ({low:.2f} to {high:.2f})\n"
        f"  estimated from {judged}; valid if these are random samples\n"
        f"relevant pages rejected, by Kluev's rule of whole hosts: {estimate['relevant_rejected_by_host']:,}"
    )


@click.command("sample")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--rejected", default=50, show_default=True, type=click.IntRange(0), help="Number of irrelevant pages to draw."
)
@click.option(
    "--accepted", default=20, show_default=True, type=click.IntRange(0), help="Number of relevant pages to draw."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the random number generator.")
@click.option("--out", type=click.Path(path_type=Path), help="The output file. [default: standard output]")
def sample_command(directory: Path, rejected: int, accepted: int, seed: int, out: Path | None) -> None:
    """Draw random pages of a crawl for a person to judge.

    Each line contains a URL and a tab. Append relevant or irrelevant, then give the file to `topicrawl lab evaluate`.

    \b
    Example:
      topicrawl lab sample dengue-fever --rejected 100 --out judged.tsv
    """
    from topicrawl.lab.evaluate import StoredCrawl
    from topicrawl.lab.sampled_recall import draw_sample

    crawled = StoredCrawl(directory)
    try:
        decisions = _load_decisions(crawled, {})
    finally:
        crawled.close()
    # Sorted by URL, so that the order does not show the decision of the crawl to the judge.
    rejected_urls = draw_sample(decisions.rejected, rejected, seed=seed)
    accepted_urls = draw_sample(decisions.accepted, accepted, seed=seed)
    urls = sorted({*rejected_urls, *accepted_urls})
    if not urls:
        raise UsageError(f"{directory}: nothing to draw: the crawl has no pages, or --rejected and --accepted are 0")
    text = "".join(f"{url}\t\n" for url in urls)
    if out is None:
        click.echo(text, nl=False)
        return
    write_new_file(out, text)
    click.echo(f"{len(urls)} pages to judge in {out}", err=True)


def write_new_file(path: Path, text: str) -> None:
    """Write a new file. Refuse to overwrite an existing file, which may contain judgements."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; give another file or remove it") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
