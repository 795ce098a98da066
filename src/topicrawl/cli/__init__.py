"""The command line; one file a command, loaded when it is called so that the start stays fast."""

from __future__ import annotations

import importlib
import os
import sys

import click

from topicrawl import __version__
from topicrawl.errors import TopicrawlError

#: Command → what it is for. The module of the same name holds the function `command`.
COMMANDS = {
    "seeds": "Find the first pages for a topic: search engines vote.",
    "crawl": "Crawl the web for a topic into a directory, or go on with one.",
    "topic": "Describe a topic in a file that can be read and edited.",
    "status": "What a crawl has done so far.",
    "why": "Why a page was fetched, or why it was not.",
    "export": "The pages of a crawl for other programs: JSON lines, Parquet, CSV, WARC, Markdown.",
    "search": "Search the pages of crawls, here and on other servers.",
    "serve": "Collections in a browser: watch, steer, review, teach, search.",
    "refresh": "Look at the pages of a crawl again; list what is new or changed.",
    "worker": "Work on a crawl that lives in Redis, from as many machines as you like.",
    "cluster": "How the crawls in a Redis are doing; pause, resume and finish them.",
    "gather": "Make one collection out of the directories of many workers.",
    "strategies": "The crawlers that there are, with their parameters.",
    "train": "Learn from examples and browsing sessions, for crawls to come.",
    "lab": "Run crawlers over a recorded web.",
    "doctor": "What is wrong with the installation, the machine or a crawl, and what to do.",
    "demo": "Crawl a made-up web on this machine, best-first beside breadth-first.",
}

INTERRUPTED = 130


class Commands(click.Group):
    """Loads a command's module when the command is named."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}_command").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        # Listed from the table above: asking each command would load them all.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="topicrawl")
def topicrawl() -> None:
    """Finds the pages on the web that are about a topic.

    \b
    Example:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --contact you@example.org
    """


def main() -> None:
    """The `topicrawl` command: errors of the user are one line, never a traceback."""
    try:
        topicrawl(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except TopicrawlError as error:
        click.echo(f"topicrawl: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): not an error, but nothing more can be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
