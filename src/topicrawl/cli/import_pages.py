"""`topicrawl import`: judge and store the pages of web archives that other programs have made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli import EXIT_INTERRUPTED
from topicrawl.cli.setting_options import add_config_option, add_setting_options, get_given_settings, load_config
from topicrawl.errors import TopicError

if TYPE_CHECKING:
    from topicrawl.engine.import_crawl import CopiedCaptures
    from topicrawl.settings import Settings
    from topicrawl.topic import Topic

_PROGRESS_STEP = 100  # pages between two lines of progress
_SETTINGS = ("strategy", "judge", "embedding", "max_bytes", "documents", "distinct", "main_text")


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--topic", metavar="TEXT", help="Words, or a topic.toml. Not needed if --out contains a crawl.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The directory of the crawl. [default: the name of the topic]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@add_config_option
@lambda function: add_setting_options(function, _SETTINGS)
def import_command(files: tuple[Path, ...], **options: Any) -> None:
    """Judge the pages in FILES and store them in a crawl directory, as if they had just been crawled.

    FILES are WARC files (.warc, .warc.gz, .warc.zst), ARC files (.arc, .arc.gz) and WACZ files, for example of wget,
    Heritrix and Browsertrix. No request is sent. The links of the pages wait in the frontier, and `topicrawl crawl`
    continues from there. If the directory already contains a crawl, the pages are added to it.

    \b
    Examples:
      topicrawl import crawl.wacz --topic "dengue fever"
      topicrawl import wget.warc.gz --topic topic.toml --out tropical
      topicrawl crawl --out tropical --pages 5000            # continue
    """
    from topicrawl.cli.event_loop import run_async

    directory, topic, settings = _resolve_import(options)
    result, copied = run_async(_import_files(files, directory, topic, settings, is_quiet=options["as_json"]))
    if options["as_json"]:
        click.echo(json.dumps(result))
    else:
        click.echo(
            f"{result['pages']} pages in {directory}, {result['relevant']} relevant; {result['failed']} captures "
            f"without a usable page, {copied.others} other captures",
            err=True,
        )
        if copied.damage:
            click.echo(f"warning: {copied.damage}", err=True)
        click.echo(f"continue with `topicrawl crawl --out {directory}`", err=True)
    sys.exit(EXIT_INTERRUPTED if result["interrupted"] else 0)


def _resolve_import(options: dict[str, Any]) -> tuple[Path, Topic, Settings]:
    """Return the directory, the topic and the settings. Raise `TopicError` if there is no topic."""
    from topicrawl import topic as topics
    from topicrawl.builder.stored_settings import load_topic_and_settings
    from topicrawl.cli.crawl import contains_crawl, slugify
    from topicrawl.engine.identity import build_identity, check_identity
    from topicrawl.settings import Settings

    text, directory = options["topic"], options["out"]
    topic: Topic | None = None
    if text is not None:
        topic = topics.load_topic(Path(text)) if text.endswith(".toml") else topics.Topic.of(text)
        directory = directory or Path(slugify(topic.name))
    if directory is None:
        raise TopicError('give the topic as --topic "dengue fever", or a crawl directory as --out')
    given: dict[str, Any] = {**load_config(options["config"]), **get_given_settings(options)}
    if contains_crawl(directory):
        stored_topic, settings = load_topic_and_settings(directory, given)
        if topic is not None:
            check_identity(directory, build_identity(stored_topic, settings), build_identity(topic, settings))
        return directory, stored_topic, settings
    if topic is None:
        raise TopicError(f"there is no crawl in {directory} yet: give the topic with --topic")
    return directory, topic, Settings(**given)


async def _import_files(
    files: tuple[Path, ...], directory: Path, topic: Topic, settings: Settings, *, is_quiet: bool
) -> tuple[dict[str, object], CopiedCaptures]:
    """Copy the captures into a temporary recording, and visit its pages. Return the result and what was copied."""
    from tempfile import TemporaryDirectory

    from topicrawl.builder.crawls import open_import
    from topicrawl.cli.event_loop import install_signal_handlers
    from topicrawl.engine.import_crawl import copy_captures
    from topicrawl.engine.limits import StopReason
    from topicrawl.fetch.replay import Recording

    pages = relevant = failed = 0
    directory.parent.mkdir(parents=True, exist_ok=True)
    # The recording can be as large as the files, so that it must not be in a small /tmp.
    with TemporaryDirectory(prefix=".import-", dir=directory.parent) as folder:
        copied = copy_captures(files, Path(folder), max_bytes=settings.max_bytes)
        recording = Recording(folder, max_bytes=settings.max_bytes, keeps_wire=True)
        async with open_import(directory, topic, recording, settings) as imported:
            restore = install_signal_handlers(imported.crawl.interrupt)
            try:
                async for visit in imported.visits():
                    pages += visit.failure is None
                    failed += visit.failure is not None
                    relevant += visit.failure is None and (visit.relevance or 0.0) >= topic.threshold
                    if not is_quiet and (pages + failed) % _PROGRESS_STEP == 0:
                        click.echo(f"{pages + failed} of {len(recording)} captures", err=True)
            finally:
                restore()
            is_interrupted = imported.crawl.stop_reason is StopReason.INTERRUPTED
    result = {
        "event": "import",
        "directory": str(directory),
        "pages": pages,
        "relevant": relevant,
        "failed": failed,
        "skipped": copied.others,
        "damage": copied.damage,
        "interrupted": is_interrupted,
    }
    return result, copied
