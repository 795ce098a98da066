"""Notices at the end of a command, for schedulers: run a command, or post to a webhook."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from topicrawl.errors import UsageError
from topicrawl.urls import canonicalize_url, get_host

if TYPE_CHECKING:
    from topicrawl.settings import Settings

_COMMAND_TIMEOUT = 600.0  # seconds
_MAX_REPLY_BYTES = 64 * 1024

Function = TypeVar("Function", bound=Callable[..., Any])


def add_completion_options(function: Function) -> Function:
    """Add the options `--on-completion` and `--webhook`."""
    function = click.option(
        "--webhook",
        default="",
        envvar="TOPICRAWL_WEBHOOK",
        metavar="URL",
        help="At the end, post a JSON summary to this URL. It is never stored.",
    )(function)
    return click.option(
        "--on-completion",
        default="",
        metavar="COMMAND",
        help="At the end, run this command, without a shell, with a JSON summary on its standard input.",
    )(function)


def check_completion_options(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an invalid command or webhook, before a long crawl."""
    try:
        words = shlex.split(options["on_completion"])
    except ValueError as error:
        raise UsageError(f"--on-completion is not a command: {error}") from error
    if options["on_completion"] and not words:
        raise UsageError("--on-completion is empty: give a command such as 'notify-send finished'")
    if options["webhook"] and canonicalize_url(options["webhook"]) is None:
        # The message omits the URL, which may contain a secret.
        raise UsageError("--webhook is not a web address: write it as https://example.org/hook")


async def send_notices(options: Mapping[str, Any], summary: Mapping[str, object], settings: Settings) -> None:
    """Run the command and post to the webhook. Print a warning for each that fails."""
    text = json.dumps(summary, ensure_ascii=False) + "\n"
    if options["on_completion"]:
        run_notice_command(shlex.split(options["on_completion"]), text)
    if options["webhook"]:
        await _post_summary(options["webhook"], text, settings)


def run_notice_command(words: list[str], text: str) -> None:
    """Run a command with a text on its standard input. Print a warning if it fails."""
    try:
        result = subprocess.run(
            words, input=text, text=True, timeout=_COMMAND_TIMEOUT, check=False, env={**os.environ}, stdout=2
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no end within {_COMMAND_TIMEOUT:.0f} s"
        click.echo(f"topicrawl: the command of --on-completion failed: {words[0]}: {reason}", err=True)
        return
    if result.returncode:
        click.echo(f"topicrawl: the command of --on-completion failed with exit code {result.returncode}", err=True)


async def _post_summary(webhook: str, text: str, settings: Settings) -> None:
    """Post a text to a webhook through the address guard. Print a warning if the host does not accept it."""
    from dataclasses import replace

    from topicrawl.engine.http_setup import build_http_settings
    from topicrawl.fetch.http import HttpClient

    url = canonicalize_url(webhook)
    assert url is not None  # see `check_completion_options`
    http_settings = replace(build_http_settings(settings), headers={"Content-Type": "application/json"})
    async with HttpClient(http_settings) as http:
        response = await http.post(url, text.encode(), max_bytes=_MAX_REPLY_BYTES)
    # An empty response or a redirect is an answer too.
    if not 200 <= response.status < 400:
        reason = f"status {response.status}" if response.status else response.detail.replace(webhook, "…")
        click.echo(f"topicrawl: the webhook on {get_host(url)} failed: {reason}", err=True)
