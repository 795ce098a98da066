"""Command line of Topicrawl: one module per command, imported when the command is called."""

from __future__ import annotations

import os
import sys
from io import StringIO
from typing import NoReturn

import click

from topicrawl import __version__
from topicrawl.cli.lazy_group import LazyGroup
from topicrawl.errors import TopicrawlError, find_resource_error, mask_secrets

#: Command → its module and its line in `topicrawl --help`.
COMMANDS = {
    "seeds": ("topicrawl.cli.seeds", "Find the seed pages of a topic by a vote of search engines."),
    "crawl": ("topicrawl.cli.crawl", "Crawl the web for a topic into a directory, or resume a crawl."),
    "import": ("topicrawl.cli.import_pages", "Judge and store the pages of WARC, ARC and WACZ files."),
    "topic": ("topicrawl.cli.topic", "Write a topic to a file that you can edit, and try it on pages."),
    "status": ("topicrawl.cli.status", "Show the progress of a crawl."),
    "why": ("topicrawl.cli.why", "Explain why a page was fetched or was not fetched."),
    "export": ("topicrawl.cli.export", "Export the pages of a crawl as JSON lines, Parquet, CSV, WARC or Markdown."),
    "review": ("topicrawl.cli.review", "Review the pages of a crawl by samples, on the command line or in a CSV file."),
    "search": ("topicrawl.cli.search", "Search the pages of crawls on this machine and on other servers."),
    "serve": ("topicrawl.cli.serve", "Watch, steer, review and search crawls in a web browser."),
    "mcp": ("topicrawl.cli.mcp", "Let assistants search collections and start crawls (Model Context Protocol)."),
    "refresh": ("topicrawl.cli.refresh", "Revisit the pages of a crawl, and list new and changed pages."),
    "worker": ("topicrawl.cli.worker", "Add a worker to a crawl whose frontier is in Redis."),
    "cluster": ("topicrawl.cli.cluster", "Show, pause, resume and finish the crawls in a Redis."),
    "gather": ("topicrawl.cli.gather", "Merge the directories of several workers into one collection."),
    "strategies": ("topicrawl.cli.strategies", "List the crawling strategies and their parameters."),
    "train": ("topicrawl.cli.train", "Train a model for later crawls from examples and browsing sessions."),
    "lab": ("topicrawl.cli.lab", "Run and compare strategies on recorded webs."),
    "doctor": ("topicrawl.cli.doctor", "Check the installation, the machine and a crawl, and suggest fixes."),
    "demo": ("topicrawl.cli.demo", "Compare three strategies on a synthetic web on this machine."),
}

#: Exit code after Ctrl-C, SIGTERM or SIGHUP.
EXIT_INTERRUPTED = 130


@click.command(
    "topicrawl",
    cls=LazyGroup,
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, "-V", "--version", prog_name="topicrawl")
def root_command() -> None:
    """Find the pages on the web that are about a topic.

    \b
    Example:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --contact you@example.org
    """


def main() -> None:
    """Run the `topicrawl` command. Report user errors in one line, without a traceback."""
    # The matrices of a crawl are small. The threads of numpy take .05 s of CPU time at each start on two cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        root_command(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        message = StringIO()
        error.show(message)
        click.echo(mask_secrets(message.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except TopicrawlError as error:
        # A lack of file descriptors is often reported as a file that cannot be used.
        _exit_with_error(find_resource_error(error) or error)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The process that reads the output has exited (`| head`). This is not an error, but no more output is possible.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (MemoryError, OSError) as error:
        resource_error = find_resource_error(error)
        if resource_error is None:
            raise
        _exit_with_error(resource_error)


def _exit_with_error(error: TopicrawlError) -> NoReturn:
    """Print the message of an error and end the process with its exit code."""
    click.echo(f"topicrawl: {error}", err=True)
    sys.exit(error.exit_code)
