"""`topicrawl topic`: build a topic file from words and example pages, and try a topic on pages."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click

from topicrawl import topic as topics
from topicrawl.cli.setting_options import add_network_options, build_network_settings
from topicrawl.cli.topic_inspection import show_command, try_command
from topicrawl.database import write_text_file
from topicrawl.errors import SeedError, TopicError, UsageError
from topicrawl.models import Page
from topicrawl.settings import Settings
from topicrawl.text.keyword_weights import TOPIC_WEIGHTINGS
from topicrawl.text.lexicon import STEMMING_ALGORITHMS
from topicrawl.topic import Topic
from topicrawl.topic.filter import ELEMENT_SIZES

RESULTS_OF_TABLE = 7  # Hati, Kumar and Mishra, section 4.2: the topic table is built from the first seven results


@click.group("topic")
def topic_command() -> None:
    """Write a topic to a file that you can edit, and try it on pages."""


@topic_command.command("build")
@click.argument("words", required=False, default="")
@click.option("--page", "pages", multiple=True, metavar="FILE|URL", help="A page on the topic; may be repeated.")
@click.option("--unlike", multiple=True, metavar="FILE|URL", help="A page that is not on the topic; may be repeated.")
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Example pages, one per line: url⇥relevant|irrelevant."
)
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="Read the URLs from this crawl or recorded web."
)
@click.option(
    "--engine", "engines", multiple=True, metavar="NAME", help="Take pages from this search engine, see below."
)
@click.option("--searxng", default="", metavar="URL", help="The URL of a SearXNG server. [default: SEARXNG_URL]")
@click.option(
    "--number",
    type=click.IntRange(1, 100),
    default=RESULTS_OF_TABLE,
    show_default=True,
    help="Results per engine.",
)
@click.option(
    "--negative",
    default="",
    metavar="TEXT",
    help="A query for pages that are not on the topic; -: WORDS with a minus sign.",
)
@click.option(
    "--k", default=14, show_default=True, type=click.IntRange(1, 1000), help="Keywords to take from the pages."
)
@click.option(
    "--weighting",
    default="distinctive",
    show_default=True,
    type=click.Choice(TOPIC_WEIGHTINGS),
    help="Keyword weights.",
)
@click.option("--language", default="", help="ISO 639-1 code, such as en. [default: the language of the pages, or en]")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("topic.toml"), show_default=True, help="The topic file."
)
@click.option(
    "--candidates",
    type=click.Path(path_type=Path),
    help="Also write the words and collocations from which the filter was chosen to this TSV file, with their counts.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Also print the topic as JSON to standard output.")
@add_network_options
def build_command(**options: Any) -> None:
    """Build a topic.toml from words, from pages on the topic, or from both.

    The topic always contains the given words. The pages supply keywords, a filter of words and collocations, and
    thresholds. Pages that are not on the topic (--unlike) improve all three. A page is a file (HTML, text, PDF,
    PostScript or another document, also in gzip or zip), a URL on the live web (fetched as robots.txt and the crawl
    delay allow), or a URL in a crawl or recorded web (--from).

    With --engine, the first --number results of the query WORDS are pages on the topic: those that two engines find, or
    all if only one engine answers. --negative does the same for pages that are not on the topic. The names of the
    engines are those of `topicrawl seeds --engine`.

    \b
    Examples:
      topicrawl topic build "dengue fever"
      topicrawl topic build "dengue fever" --engine ddgs --negative - --contact you@example.org
      topicrawl topic build "dengue fever" --page notes.html --page https://www.who.int/dengue --out dengue.toml
      topicrawl topic build --examples judged.tsv --from tropical --weighting tf_idf
      topicrawl crawl --topic dengue.toml --seed https://www.who.int/
    """
    settings = build_network_settings(options)
    names = {item.name for item in fields(TopicBuildOptions)}
    build_options = TopicBuildOptions(
        **{name: value for name, value in options.items() if name in names}, settings=settings
    )
    topic = build_options.build_topic()
    build_options.write_topic(topic)


topic_command.add_command(try_command)
topic_command.add_command(show_command)


@dataclass(frozen=True)
class TopicBuildOptions:
    """Options of `topicrawl topic build`."""

    words: str
    pages: tuple[str, ...]
    unlike: tuple[str, ...]
    examples: Path | None
    source: Path | None
    engines: tuple[str, ...]
    searxng: str
    number: int
    negative: str
    k: int
    weighting: str
    language: str
    out: Path
    candidates: Path | None
    force: bool
    as_json: bool
    settings: Settings  # of requests for pages

    def build_topic(self) -> Topic:
        """Read the pages and build the topic."""
        from topicrawl.cli.topic_examples import ExamplePageReader, find_pages
        from topicrawl.relevance.topic_builder import KeywordTableOptions, build_topic

        relevant, irrelevant = self.pages, self.unlike
        if self.examples is not None:
            good, bad = topics.load_examples(self.examples)
            relevant, irrelevant = (*relevant, *good), (*irrelevant, *bad)
        if not self.words.strip() and not relevant:
            raise TopicError('no topic given: give words, pages or both, as in topicrawl topic build "dengue fever"')
        language = self._check_options()
        if self.engines:
            good, bad = self._query_engines()
            relevant, irrelevant = (*relevant, *good), (*irrelevant, *bad)
        pages = ExamplePageReader(self.source, self.settings)
        by_name = pages.read_pages([*relevant, *irrelevant])
        good_pages, bad_pages = find_pages(by_name, relevant), find_pages(by_name, irrelevant)
        if relevant and not good_pages:
            raise TopicError(f"none of the {len(relevant)} pages on the topic could be read ({pages.failure_summary})")
        if pages.failure_summary:
            click.echo(f"topicrawl: skipped: {pages.failure_summary}", err=True)
        topic = build_topic(self.words, good_pages, bad_pages, KeywordTableOptions(self.k, self.weighting, language))
        if self.candidates is not None:
            self._write_candidates(self.candidates, topic, good_pages, bad_pages)
        return topic

    def _query_engines(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the URLs of the pages on the topic and of the others that the search engines elect."""
        from topicrawl.cli.seed_search import SEARCH_TIMEOUT, SeedQuery, find_seeds, print_seeds

        query = SeedQuery(
            " ".join(self.words.split()),
            self.engines,
            self.searxng,
            self.number,
            negative=self.negative.strip(),
            settings=replace(self.settings, timeout=min(self.settings.timeout, SEARCH_TIMEOUT)),
        )
        found = find_seeds(query)
        print_seeds(found)
        if not found.selected_seeds:
            raise SeedError(f"no page has {found.votes} votes: raise --number for more results, or choose other words")
        return tuple(seed.url for seed in found.selected_seeds), tuple(seed.url for seed in found.irrelevant_seeds)

    def _write_candidates(self, path: Path, topic: Topic, relevant: Sequence[Page], irrelevant: Sequence[Page]) -> None:
        """Write the elements from which an expert can choose the filter, with their counts."""
        from topicrawl.relevance.filter_choice import CANDIDATE_COLUMNS, list_candidates

        if not relevant:
            raise UsageError("--candidates needs pages on the topic: give them with --page or --examples")
        rows = ["\t".join(CANDIDATE_COLUMNS)]
        rows += ["\t".join(map(str, candidate)) for candidate in list_candidates(topic, relevant, irrelevant)]
        try:
            write_text_file(path, "\n".join(rows) + "\n")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error

    def _check_options(self) -> str:
        """Check the options before any page is read, and return the language code."""
        if str(self.out) != "-":
            from topicrawl.cli.train.inputs import check_output_path

            check_output_path(self.out, force=self.force)
        if self.source is not None and self.examples is None and not self.pages and not self.unlike:
            raise UsageError("--from needs the URLs of pages: give them with --examples or --page")
        if self.engines and not self.words.strip():
            raise UsageError('--engine needs the words of the query, as in topicrawl topic build "dengue fever"')
        if self.engines and self.source is not None:
            raise UsageError("--engine fetches live pages and cannot be combined with --from")
        if not self.engines and (self.negative or self.searxng):
            raise UsageError("--negative and --searxng need an --engine")
        language = self.language.replace("_", "-").partition("-")[0].lower()
        if language and language not in STEMMING_ALGORITHMS:
            raise UsageError(f"unknown language {self.language!r}; supported: {', '.join(STEMMING_ALGORITHMS)}")
        return language

    def write_topic(self, topic: Topic) -> None:
        """Write the topic file and print a summary."""
        if str(self.out) == "-":
            click.echo(topic.to_toml(), nl=False)
        else:
            try:
                write_text_file(self.out, topic.to_toml())
            except OSError as error:
                raise UsageError(f"{self.out} cannot be written: {error.strerror}") from error
        if self.as_json:
            json.dump(_topic_to_dict(topic, self.out), sys.stdout, ensure_ascii=False)
            click.echo()
        parts = [
            f"{len(topic.words)} words",
            *(f"{len(topic.filter.get_elements(name))} {name}" for name in ELEMENT_SIZES),
        ]
        click.echo(f"{self.out}: {', '.join(parts if topic.filter else parts[:1])}; {topic.origin}", err=True)


def _topic_to_dict(topic: Topic, out: Path) -> dict[str, object]:
    return {
        "file": str(out),
        "name": topic.name,
        "languages": list(topic.languages),
        "threshold": topic.threshold,
        "words": dict(topic.words),
        "filter": {name: dict(topic.filter.get_elements(name)) for name in ELEMENT_SIZES},
        "thresholds": topic.thresholds.get_defined(),
        "examples": {"relevant": list(topic.relevant), "irrelevant": list(topic.irrelevant)},
    }
