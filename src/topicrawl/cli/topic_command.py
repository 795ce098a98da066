"""`topicrawl topic`: topics from words and example pages."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from topicrawl import topic as topics
from topicrawl.errors import TopicError, UsageError
from topicrawl.text.keywords import WEIGHTINGS
from topicrawl.text.lexicon import ALGORITHMS
from topicrawl.topic import Topic
from topicrawl.topic.filter import SIZES


@click.group("topic")
def command() -> None:
    """Describe a topic in a file that can be read and edited."""


@command.command("build")
@click.argument("words", required=False, default="")
@click.option("--page", "pages", multiple=True, metavar="FILE|URL", help="A page on the topic; may be repeated.")
@click.option("--unlike", multiple=True, metavar="FILE|URL", help="A page that is not on the topic; may be repeated.")
@click.option("--examples", type=click.Path(path_type=Path), help="Example pages: lines of url⇥relevant|irrelevant.")
@click.option("--from", "source", type=click.Path(path_type=Path), help="A crawl or a recorded web to read URLs from.")
@click.option("--k", default=14, show_default=True, type=click.IntRange(1, 1000), help="Words taken from the pages.")
@click.option("--weighting", default="tf", show_default=True, type=click.Choice(WEIGHTINGS), help="What words weigh.")
@click.option("--language", default="", help="ISO 639-1 code, such as en. [default: that of the pages, or en]")
@click.option("--out", type=click.Path(path_type=Path), default=Path("topic.toml"), show_default=True, help="The file.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="The topic as JSON on standard output as well.")
@click.option("--contact", default="", help="Your e-mail address or web page, told to every host that is asked.")
@click.option("--delay", default=1.0, show_default=True, type=click.FloatRange(0), help="Seconds between two requests.")
@click.option("--allow-net", multiple=True, help="A private network that may be asked, such as 127.0.0.0/8.")
def build_command(**options: Any) -> None:
    """Make a topic.toml from words, from pages on the topic, or from both.

    The words that you name are the topic's own: they are kept whatever the pages say. From pages come the words that
    they say most, a filter of words and collocations, and thresholds; from pages that are not on the topic as well,
    a better choice of all three. Pages are files (HTML or text), web addresses, which are fetched as robots.txt and
    pace allow, or addresses in a crawl or a recorded web.

    \b
    Examples:
      topicrawl topic build "dengue fever"
      topicrawl topic build "dengue fever" --page notes.html --page https://www.who.int/dengue --out dengue.toml
      topicrawl topic build --examples judged.tsv --from tropical --weighting tf_idf
      topicrawl crawl --topic dengue.toml --seed https://www.who.int/
    """
    asked = Asked(**options)
    topic = asked.topic()
    asked.write(topic)


@dataclass(frozen=True)
class Asked:
    """What the user wrote."""

    words: str
    pages: tuple[str, ...]
    unlike: tuple[str, ...]
    examples: Path | None
    source: Path | None
    k: int
    weighting: str
    language: str
    out: Path
    force: bool
    as_json: bool
    contact: str
    delay: float
    allow_net: tuple[str, ...]

    def topic(self) -> Topic:
        from topicrawl.cli.topic_pages import Pages, Reach
        from topicrawl.relevance.topic_building import Recipe, build

        relevant, irrelevant = self.pages, self.unlike
        if self.examples is not None:
            good, bad = topics.examples(self.examples)
            relevant, irrelevant = (*relevant, *good), (*irrelevant, *bad)
        if not self.words.strip() and not relevant:
            raise TopicError('what is the topic? Give words, pages or both: topicrawl topic build "dengue fever"')
        language = self._checked()
        pages = Pages(self.source, Reach(self.contact, self.delay, self.allow_net))
        found = pages.read([*relevant, *irrelevant])
        good_pages = [found[name] for name in dict.fromkeys(relevant) if name in found]
        bad_pages = [found[name] for name in dict.fromkeys(irrelevant) if name in found]
        if relevant and not good_pages:
            raise TopicError(f"none of the {len(relevant)} pages on the topic could be read ({pages.missed})")
        if pages.missed:
            click.echo(f"topicrawl: left out: {pages.missed}", err=True)
        return build(self.words, good_pages, bad_pages, Recipe(self.k, self.weighting, language))

    def _checked(self) -> str:
        """The language; every mistake that needs no page is found before one is asked for."""
        if str(self.out) != "-":
            from topicrawl.cli.training import free

            free(self.out, force=self.force)
        if self.source is not None and self.examples is None and not self.pages and not self.unlike:
            raise UsageError("--from says where pages are to be read, not which: name them with --examples or --page")
        language = self.language.replace("_", "-").partition("-")[0].lower()
        if language and language not in ALGORITHMS:
            raise UsageError(f"unknown language {self.language!r}; known are {', '.join(ALGORITHMS)}")
        return language

    def write(self, topic: Topic) -> None:
        """The file, and what is in it for people or for programs."""
        if str(self.out) == "-":
            click.echo(topic.toml(), nl=False)
        else:
            try:
                self.out.write_text(topic.toml(), "utf-8")
            except OSError as error:
                raise UsageError(f"{self.out} cannot be written: {error.strerror}") from error
        if self.as_json:
            json.dump(_plain(topic, self.out), sys.stdout, ensure_ascii=False)
            click.echo()
        parts = [f"{len(topic.words)} words", *(f"{len(topic.filter.part(name))} {name}" for name in SIZES)]
        click.echo(f"{self.out}: {', '.join(parts if topic.filter else parts[:1])}; {topic.origin}", err=True)


def _plain(topic: Topic, out: Path) -> dict[str, object]:
    return {
        "file": str(out),
        "name": topic.name,
        "languages": list(topic.languages),
        "threshold": topic.threshold,
        "words": dict(topic.words),
        "filter": {name: dict(topic.filter.part(name)) for name in SIZES},
        "thresholds": topic.thresholds.set(),
        "examples": {"relevant": list(topic.relevant), "irrelevant": list(topic.irrelevant)},
    }
