"""`topicrawl lab rank`: compare the rankings of VSM and of summaries with the ranking of a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.lab.page_ranking import RankAgreement
    from topicrawl.models import Page

_METHOD_NAMES = {"vsm": "VSM, whole page", "summary": "summary"}


@click.command("rank")
@click.argument("pages", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--order",
    required=True,
    type=click.Path(path_type=Path),
    help="The ranking of a reader, the best page first: one URL or file name per line, or page⇥rank.",
)
@click.option("--words", help="The topic in words.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path),
    help="A topic.toml instead of words. [default: the topic of the crawl]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the ranks of each page.")
def rank_command(pages: Path, order: Path, words: str | None, topic_file: Path | None, as_json: bool) -> None:
    """Rank PAGES by the whole page (VSM) and by their summaries, and compare with the ranking of a reader.

    PAGES is a folder with HTML files, the directory of a crawl, or a recorded web. Only the pages of the order are
    ranked. The result has Spearman's ρ, Kendall's τ and the number of pages at exactly the rank of the reader, as the
    tables 2 to 4 of Mohammadi.

    \b
    Examples:
      topicrawl lab rank pages/ --order human.tsv --words "dengue fever"
      topicrawl lab rank dengue-fever --order human.tsv
    """
    from topicrawl.cli.train.inputs import load_topic
    from topicrawl.lab.page_ranking import compare_rankings, score_pages

    topic = load_topic(words, topic_file, None, web=pages)
    human = _read_order(order)
    loaded = _load_pages(pages, list(human), order)
    scores = score_pages(list(loaded.values()), topic)
    ranks = list(human.values())
    agreements = compare_rankings(ranks, scores)
    if as_json:
        click.echo(json.dumps(_build_report(human, scores, agreements), ensure_ascii=False))
        return
    click.echo(_format_ranks(human, scores))
    click.echo(f"{'':<18}{'rho':>7}{'tau':>7}{'exact ranks':>13}")
    for method, agreement in agreements.items():
        exact = f"{agreement.exact} of {len(human)}"
        click.echo(f"{_METHOD_NAMES[method]:<18}{agreement.spearman:>7.3f}{agreement.kendall:>7.3f}{exact:>13}")


def _read_order(path: Path) -> dict[str, float]:
    """Read the ranking of a reader: page → rank. Without ranks, the position in the file is the rank."""
    try:
        lines = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from error
    order: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        page, tab, rank = line.partition("\t")
        page = page.strip()
        if page in order:
            raise UsageError(f"{path}:{number}: {page} has two ranks")
        try:
            order[page] = float(rank) if tab else float(len(order) + 1)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {rank!r} is not a rank: write a page, a tab and a number") from error
    if len(order) < 2:
        raise UsageError(f"{path}: a ranking needs at least two pages, one per line")
    return order


def _load_pages(source: Path, names: list[str], order: Path) -> dict[str, Page]:
    """Load the pages with these names from a folder of files, a crawl or a recorded web, with their styles."""
    from topicrawl import parse
    from topicrawl.cli.train.label_sentences import parse_file
    from topicrawl.fetch.replay import Recording
    from topicrawl.models import Link, Page

    if not source.is_dir():
        raise UsageError(f"{source} is a file; give a folder with pages, a crawl or a recorded web")
    is_recording = any(source.glob("*.warc*")) or any(source.glob("*/*.warc*"))
    recording = Recording(source) if is_recording else None
    pages = {}
    for name in names:
        page: object = None
        if recording is not None and recording.contains(name):
            page = parse.parse_response(recording.get_response(name), Link(name), styles=True, context=False)
        elif recording is None and (source / name).is_file():
            page = parse_file(source / name)
        if not isinstance(page, Page):
            raise UsageError(f"{order}: {name} is not a page of {source}")
        pages[name] = page
    return pages


def _rank_scores(scores: list[float]) -> list[float]:
    from topicrawl.lab.rank_correlation import ranks

    return ranks([-score for score in scores])


def _format_ranks(human: dict[str, float], scores: dict[str, list[float]]) -> str:
    """Return a table of the ranks of each page."""
    columns = [list(human.values()), *(_rank_scores(values) for values in scores.values())]
    lines = [f"{'reader':>8}{'VSM':>8}{'summary':>9}  page"]
    for name, *row in sorted(zip(human, *columns, strict=True), key=lambda row: row[1]):
        reader, vsm, summary = row
        lines.append(f"{reader:>8g}{vsm:>8g}{summary:>9g}  {name}")
    return "\n".join(lines) + "\n"


def _build_report(
    human: dict[str, float], scores: dict[str, list[float]], agreements: dict[str, RankAgreement]
) -> dict[str, object]:
    """Return the agreements and the ranks of each page as plain values."""
    rank_lists = {method: _rank_scores(values) for method, values in scores.items()}
    return {
        "methods": {
            method: {"rho": round(item.spearman, 6), "tau": round(item.kendall, 6), "exact": item.exact}
            for method, item in agreements.items()
        },
        "pages": [
            {"page": name, "reader": rank, **{method: values[number] for method, values in rank_lists.items()}}
            for number, (name, rank) in enumerate(human.items())
        ],
    }
