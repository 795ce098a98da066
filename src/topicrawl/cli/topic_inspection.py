"""`topicrawl topic try` and `topic show`: how a topic is understood, how it judges pages, what a crawl has learned."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl import topic as topics
from topicrawl.cli.embedding_option import add_embedding_option
from topicrawl.errors import DamagedError, TopicError, UsageError
from topicrawl.text.embedding import BUILT_IN, load_vector_source
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.models import Page
    from topicrawl.relevance.topic_judge import Judgement, TopicJudge

_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".txt", ".gz")
_MAX_TITLE = 60  # characters of a title in the table
_MAX_PARTS = 3  # reasons that the table shows for each page
_SIMILAR_TERMS = 10


@dataclass(frozen=True)
class TriedPage:
    """A judged page."""

    name: str
    title: str
    judgement: Judgement


@click.command("try")
@click.argument("topic")
@click.argument("pages", nargs=-1, required=True)
@add_embedding_option
@click.option("--top", default=20, show_default=True, type=click.IntRange(1), help="Pages to show, the best first.")
@click.option("--expand", is_flag=True, help="Let the topic learn from the given pages first, as a crawl does.")
@click.option("--json", "as_json", is_flag=True, help="Print all pages as JSON.")
def try_command(topic: str, pages: tuple[str, ...], top: int, *, embedding: str, expand: bool, as_json: bool) -> None:
    """Show how TOPIC is understood and how it judges PAGES. Nothing is crawled or stored.

    TOPIC is a phrase or a topic file. PAGES are HTML or text files, folders that contain such files, the directory of a
    crawl, or a recorded web. The reasons of a page are contributions to the log-odds of its relevance.

    \b
    Examples:
      topicrawl topic try "geographic information systems" /usr/share/doc/grass-doc
      topicrawl topic try topic.toml notes.html other.html --json
      topicrawl topic try "dengue fever" dengue-fever --expand
    """
    from topicrawl.relevance.multilingual import MultilingualVsm
    from topicrawl.relevance.topic_judge import TopicJudge

    parsed = topics.load_topic(Path(topic)) if topic.endswith(".toml") else Topic.of(topic)
    judge = TopicJudge(MultilingualVsm(parsed, vector_source=load_vector_source(embedding)))
    found = list(_read_pages(pages))
    if not found:
        raise TopicError("the given files and folders contain no page with text")
    if expand:
        for _, page in found:
            judge.observe(page)
    tried = [TriedPage(name, page.title, judge.judge(page)) for name, page in found]
    tried.sort(key=lambda page: (-page.judgement.score, page.name))
    if as_json:
        json.dump(_build_report(parsed, judge, tried), sys.stdout, ensure_ascii=False)
        click.echo()
    else:
        _print_report(parsed, judge, tried, top)


@click.command("show")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(directory: Path, *, as_json: bool) -> None:
    """Show how the crawl in DIRECTORY understands its topic, and which words it has learned from its best pages.

    To remove a learned word, add it to `exclude` in the topic.toml of the directory, and resume the crawl. A verdict
    that contradicts the crawl removes the page from the sources.

    \b
    Example:
      topicrawl topic show geographic-information-systems
    """
    from topicrawl.collection.directory import load_crawl_topic
    from topicrawl.collection.store import CollectionStore
    from topicrawl.relevance.multilingual import MultilingualVsm
    from topicrawl.relevance.topic_judge import TopicJudge

    topic = load_crawl_topic(directory)
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        learned, settings = store.get_fact("learned"), store.get_fact("settings")
    finally:
        store.close()
    embedding = settings.get("embedding", BUILT_IN) if isinstance(settings, dict) else BUILT_IN
    judge = TopicJudge(MultilingualVsm(topic, vector_source=load_vector_source(str(embedding))))
    if isinstance(learned, dict):
        try:
            judge.restore_state(learned.get("judge"))
        except ValueError as error:
            raise DamagedError(
                f"{directory}: the learned state cannot be restored ({error}); `topicrawl doctor {directory} --repair` "
                "deletes it"
            ) from error
    if as_json:
        json.dump({**_describe_topic(topic, judge), "sources": judge.expansion.sources}, sys.stdout, ensure_ascii=False)
        click.echo()
        return
    _print_topic(_describe_topic(topic, judge))
    for url, weight in judge.expansion.sources.items():
        click.echo(f"  learned from {url} ({weight:.2f})")


def _read_pages(names: Sequence[str]) -> Iterator[tuple[str, Page]]:
    """Yield the name and the page of each file. Files without text in folders are skipped."""
    from topicrawl.cli.topic_examples import read_file

    for name in names:
        path = Path(name)
        if not path.exists():
            raise UsageError(f"{name}: there is no such file or directory")
        if not path.is_dir():
            yield name, read_file(path)
        elif _is_recording(path):
            yield from _read_recording(path)
        else:
            yield from _read_folder(path)


def _is_recording(path: Path) -> bool:
    """Return whether a directory contains a crawl or a recorded web."""
    return any(path.glob("*.warc*")) or any(path.glob("*/*.warc*"))


def _read_folder(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages in a folder and its subfolders."""
    from topicrawl.cli.topic_examples import read_file

    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _PAGE_SUFFIXES and path.is_file())
    with click.progressbar(files, label="reading", file=sys.stderr, hidden=not sys.stderr.isatty()) as progress:
        for path in progress:
            try:
                yield str(path.relative_to(folder)), read_file(path)
            except TopicError:
                continue  # an empty page, or a file that is not a page


def _read_recording(path: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages of a crawl or a recorded web."""
    from topicrawl import parse
    from topicrawl.fetch.replay import Recording
    from topicrawl.models import Link, Page

    recording = Recording(path)
    for url in recording:
        page = parse.parse_response(recording.get_response(url), Link(url), context=False)
        if isinstance(page, Page) and page.words:
            yield url, page


def _describe_topic(topic: Topic, judge: TopicJudge) -> dict[str, object]:
    """Return how the topic is understood."""
    from topicrawl.models import Page
    from topicrawl.relevance.topic_units import TopicUnits

    extractor = judge.get_extractor(Page("", language=topic.languages[0] if topic.languages else "en"))
    return {
        "units": TopicUnits.of(topic).describe(),
        "vector_trust": round(extractor.meaning.trust, 2),
        "similar_terms": extractor.meaning.find_similar_terms(_SIMILAR_TERMS),
        "threshold": topic.threshold,
        "expansion": {term: round(weight, 3) for term, weight in judge.expansion.terms.items()},
    }


def _build_report(topic: Topic, judge: TopicJudge, tried: Iterable[TriedPage]) -> dict[str, object]:
    """Return the interpretation of the topic and all judged pages."""
    return {
        "topic": _describe_topic(topic, judge),
        "pages": [
            {
                "name": page.name,
                "title": page.title,
                "relevance": page.judgement.score,
                "relevant": page.judgement.score >= topic.threshold,
                "parts": {name: round(value, 3) for name, value in page.judgement.parts.items()},
            }
            for page in tried
        ],
    }


def _print_report(topic: Topic, judge: TopicJudge, tried: Sequence[TriedPage], top: int) -> None:
    """Print the interpretation of the topic and the best pages as a table."""
    _print_topic(_describe_topic(topic, judge))
    relevant = sum(page.judgement.score >= topic.threshold for page in tried)
    click.echo(f"{relevant} of {len(tried)} pages are relevant (relevance ≥ {topic.threshold:g})\n")
    for page in tried[:top]:
        parts = sorted(page.judgement.parts.items(), key=lambda item: -abs(item[1]))
        reasons = [f"{name} {value:+.1f}" for name, value in parts if name != "constant" and abs(value) >= 0.1]
        mark = "✓" if page.judgement.score >= topic.threshold else " "
        title = f"  {page.title[:_MAX_TITLE]}" if page.title else ""
        click.echo(f"{page.judgement.score:.2f} {mark} {page.name}{title}")
        click.echo(f"       {', '.join(reasons[:_MAX_PARTS]) or 'nothing on the page points to the topic'}")


def _print_topic(found: dict[str, object]) -> None:
    """Print how the topic is understood."""
    click.echo(f"pages about {found['units']}")
    if found["vector_trust"]:
        click.echo(f"similar words ({found['vector_trust']:.0%} trusted): {', '.join(found['similar_terms'])}")  # type: ignore[arg-type]
    else:
        click.echo("the words are too general, or unknown, for a comparison by meaning: only the words count")
    if found["expansion"]:
        click.echo(f"words learned from the best pages: {', '.join(found['expansion'])}")  # type: ignore[arg-type]
