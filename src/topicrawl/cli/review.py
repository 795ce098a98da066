"""`topicrawl review`: review the pages of a crawl by samples."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.errors import CollectionError, UsageError

if TYPE_CHECKING:
    from topicrawl.collection.review import AppliedDecision
    from topicrawl.collection.review_report import ReviewReport
    from topicrawl.collection.store import CollectionStore

_ACTIONS = ("relevant", "irrelevant", "unsure", "accept", "reject", "undo", "read_sheet", "judge")


@click.command("review")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--relevant", multiple=True, metavar="URL", help="Verdict: this page is relevant; may be repeated.")
@click.option("--irrelevant", multiple=True, metavar="URL", help="Verdict: this page is irrelevant; may be repeated.")
@click.option("--unsure", multiple=True, metavar="URL", help="Verdict: this page is doubtful; may be repeated.")
@click.option("--accept", multiple=True, metavar="GROUP", help="Accept the pages of a group without a verdict.")
@click.option("--reject", multiple=True, metavar="GROUP", help="Reject the pages of a group without a verdict.")
@click.option("--undo", is_flag=True, help="Undo the last action: verdicts given together, or a decision on a group.")
@click.option(
    "--write-sheet",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the pages of all samples as CSV; -: standard output.",
)
@click.option(
    "--read-sheet",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read the verdicts from a CSV file with the columns url and verdict.",
)
@click.option(
    "--reviewer-judge",
    "judge",
    metavar="NAME",
    help="Let another judge review the samples: topic, cosine, multi_metric or summary.",
)
@click.option("--by", default="", metavar="NAME", help="Name of the user who gives the verdicts.")
@click.option("--count", type=click.IntRange(0), default=10, show_default=True, help="Number of pages to list.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all pages to review.")
def review_command(directory: Path, **options: Any) -> None:
    """Review the pages of a crawl by samples, so that few verdicts decide on all pages.

    The pages are grouped by the metric that selected them and by directory. A fifth of each group is its sample. When
    the whole sample has verdicts, they decide on the other pages: accepted if more than 75 % of the sample are
    relevant, otherwise rejected. The group "undoubted" needs no sample. Without an action, the command lists the groups
    and the next pages to review. The crawl may be running. The last verdict on a page counts in `export`, `status`,
    `search`, `refresh` and `serve`.

    \b
    Examples:
      topicrawl review dengue-fever
      topicrawl review dengue-fever --relevant https://example.org/a --irrelevant https://example.org/b
      topicrawl review dengue-fever --accept undoubted
      topicrawl review dengue-fever --write-sheet sheet.csv
      topicrawl review dengue-fever --read-sheet sheet.csv
      topicrawl review dengue-fever --reviewer-judge summary --json
      topicrawl review dengue-fever --undo

    \b
    Exit codes: 0 success, also if there is nothing to undo; 2 an unknown page, group or judge, or an invalid sheet
    (nothing is changed); 3 the directory contains no crawl.
    """
    from topicrawl.collection.directory import load_crawl_topic
    from topicrawl.collection.review_report import build_review_report
    from topicrawl.collection.store import CollectionStore

    is_change = any(options[name] for name in _ACTIONS)
    if not (directory / "topicrawl.sqlite").is_file():
        raise CollectionError(f"{directory} contains no crawl: specify a directory created by `topicrawl crawl`")
    threshold = load_crawl_topic(directory).threshold
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=not is_change)
    try:
        done = _apply_actions(directory, store, threshold, options) if is_change else []
        if options["write_sheet"] is not None:
            _write_sheet(store, threshold, options["write_sheet"])
        report = build_review_report(store, threshold)
    finally:
        store.close()
    to_stderr = str(options["write_sheet"]) == "-"
    if options["as_json"]:
        click.echo(json.dumps(_to_json(report, done), ensure_ascii=False), err=to_stderr)
        return
    for line in (*done, *_format_report(report, options["count"])):
        click.echo(line, err=to_stderr)


def _apply_actions(directory: Path, store: CollectionStore, threshold: float, options: dict[str, Any]) -> list[str]:
    """Apply the actions of the options. Return a line for each. Invalid input changes nothing."""
    from topicrawl.collection.annotations import AnnotationLabel, clean_annotator, undo_last_action
    from topicrawl.collection.review import build_groups, find_group, label_group, load_candidates, review_pages
    from topicrawl.collection.review_report import select_changed
    from topicrawl.engine.judge_reviewer import check_reviewer_judge

    now, lines, annotator = time.time(), [], clean_annotator(options["by"])
    verdicts = _collect_verdicts(store, options)
    groups = build_groups(load_candidates(store, threshold), threshold)
    for name in (*options["accept"], *options["reject"]):
        find_group(groups, name)
    if options["judge"]:
        check_reviewer_judge(store, options["judge"])
    if options["undo"]:
        if len([name for name in _ACTIONS if options[name]]) > 1:
            raise UsageError("--undo cannot be combined with other actions: call the command twice")
        undone = undo_last_action(store, at=now)
        return [f"undone: {len(undone)} pages have their earlier verdicts" if undone else "nothing to undo"]
    if changed := select_changed(verdicts, load_candidates(store, threshold)):
        lines.append(f"{len(changed)} verdicts added")
        lines += _format_decisions(review_pages(store, changed, threshold, origin="read", at=now, annotator=annotator))
    elif verdicts:
        lines.append("no verdict has changed")
    for name, label in (("accept", AnnotationLabel.RELEVANT), ("reject", AnnotationLabel.IRRELEVANT)):
        for group in options[name]:
            # Each decision may change the labels of other groups.
            groups = build_groups(load_candidates(store, threshold), threshold)
            applied = label_group(store, find_group(groups, group), label, at=now, annotator=annotator)
            lines += _format_decisions([applied])
    if options["judge"]:
        lines += _review_with_judge(directory, store, options["judge"], now)
    return lines


def _collect_verdicts(store: CollectionStore, options: dict[str, Any]) -> dict[str, Any]:
    """Return the verdicts of the options and of the sheet by the final URL of the page."""
    from topicrawl.collection.annotations import AnnotationLabel
    from topicrawl.collection.review import find_page_urls
    from topicrawl.collection.review_report import parse_sheet
    from topicrawl.urls import canonicalize_url

    verdicts: dict[str, AnnotationLabel] = {}
    if options["read_sheet"] is not None:
        path = options["read_sheet"]
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise UsageError(f"{path} cannot be read: {reason}") from error
        labels = parse_sheet(text, str(path))
        verdicts |= dict(zip(find_page_urls(store, labels), labels.values(), strict=True))
    for label in (AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT, AnnotationLabel.UNSURE):
        for url in find_page_urls(store, [canonicalize_url(text) or text for text in options[label]]):
            if verdicts.setdefault(url, label) != label:
                raise UsageError(f"{url} has two verdicts: give one")
    return verdicts


def _review_with_judge(directory: Path, store: CollectionStore, name: str, now: float) -> list[str]:
    from topicrawl.engine.judge_reviewer import review_with_judge

    result = review_with_judge(directory, store, name, at=now)
    unreadable = f", {result.unreadable} pages cannot be read" if result.unreadable else ""
    summary = f"the judge {name} finds {result.relevant} pages relevant and {result.irrelevant} irrelevant{unreadable}"
    return [summary, *_format_decisions(result.decisions)]


def _write_sheet(store: CollectionStore, threshold: float, path: Path) -> None:
    from topicrawl.cli.lab.evaluate import write_new_file
    from topicrawl.collection.review import build_groups, load_candidates
    from topicrawl.collection.review_report import format_sheet

    text = format_sheet(build_groups(load_candidates(store, threshold), threshold))
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    write_new_file(path, text)
    click.echo(f"{path}: fill in the column verdict (relevant, irrelevant or unsure), then use --read-sheet", err=True)


def _format_decisions(decisions: Sequence[AppliedDecision]) -> list[str]:
    verbs = {"relevant": "accepted", "irrelevant": "rejected"}
    return [
        f"{verbs[each.label]}: {each.pages} other page{'s' * (each.pages != 1)} of the group {each.group}"
        for each in decisions
    ]


def _to_json(report: ReviewReport, done: list[str]) -> dict[str, Any]:
    from msgspec import to_builtins

    return {**to_builtins(report), "done": done}


def _format_report(report: ReviewReport, count: int) -> list[str]:
    """Return the lines of the report: the figures, the groups and the next pages."""
    lines = [
        f"{report.recommended:,} of {report.pages:,} pages are judged relevant, {report.undoubted:,} undoubtedly; the "
        f"samples have {report.sampled:,} pages ({report.effort:.0%}); {report.reviewed:,} pages are reviewed",
        "",
        "  pages  sample  reviewed  relevant  decision    group",
    ]
    for group in report.groups:
        row = f"{group.pages:7,}  {group.sample:6,}  {group.reviewed:8,}  {group.relevant:8,}"
        lines.append(f"{row}  {group.decision or '-':<10}  {group.name}")
    if report.queue and count:
        lines += ["", f"{len(report.queue):,} pages to review:"]
        lines += [f"  {page.relevance:.2f}  {page.url}  {page.title}" for page in report.queue[:count]]
    return lines
