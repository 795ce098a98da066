"""Options of commands for the settings of a crawl, and the settings file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from topicrawl.settings import Settings, list_settings, load_settings_file

#: Settings file that commands load from the current directory if `--config` is not given.
DEFAULT_CONFIG = Path("topicrawl.toml")
#: Settings of requests. Every command that sends requests to hosts has an option for each.
NETWORK_SETTINGS = ("delay", "timeout", "user_agent", "contact", "robots", "proxy", "allow_net", "resolve")
#: Settings whose values the shell can complete.
_COMPLETED_SETTINGS = ("strategy", "judge", "render")

Function = TypeVar("Function", bound=Callable[..., Any])


def format_default(value: object) -> str:
    """Return the default value of a setting for the help text.

    >>> format_default(()), format_default(None), format_default(1.0)
    ('none', 'auto', '1.0')
    """
    if value is None:
        return "auto"
    return "none" if value in ("", (), {}) else str(value)


def _complete_value(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the values of a setting that start with a text, for the completion of the shell."""
    from topicrawl.relevance.base import BUILT_IN_JUDGES
    from topicrawl.settings import RENDER_MODES
    from topicrawl.strategies import list_strategies

    values = {"strategy": list_strategies(), "judge": BUILT_IN_JUDGES, "render": RENDER_MODES}[str(parameter.name)]
    return [value for value in values if value.startswith(incomplete)]


def add_setting_options(function: Function, names: Iterable[str] | None = None) -> Function:
    """Add an option for each setting, or for the given settings. An option that the user does not give is None."""
    settings = list_settings()
    for name in reversed(list(settings if names is None else names)):
        known = settings[name]
        if known.kind is dict:
            continue  # only in a settings file
        option = "--" + name.replace("_", "-")
        if known.kind is bool:
            option = f"{option}/--no-{name.replace('_', '-')}"
        decorate = click.option(
            option,
            name,
            type=None if known.kind in (bool, tuple) else known.kind,
            multiple=known.kind is tuple,
            default=None,
            metavar={int: "N", float: "X", str: "TEXT", tuple: "TEXT"}.get(known.kind),
            help=f"{known.help} [default: {format_default(known.default)}]",
            shell_complete=_complete_value if name in _COMPLETED_SETTINGS else None,
        )
        function = decorate(function)
    return function


def add_config_option(function: Function) -> Function:
    """Add the option `--config`."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        help="A TOML file with settings; options override it. [default: topicrawl.toml, if it exists]",
    )(function)


def add_network_options(function: Function) -> Function:
    """Add the options of all commands that send requests to hosts: `NETWORK_SETTINGS` and `--config`."""
    return add_setting_options(add_config_option(function), NETWORK_SETTINGS)


def load_config(path: Path | None) -> dict[str, object]:
    """Load the settings file of `--config`, or `topicrawl.toml` in the current directory if it exists."""
    if path is not None:
        return load_settings_file(path)
    if not DEFAULT_CONFIG.is_file():
        return {}
    table = load_settings_file(DEFAULT_CONFIG)
    click.echo(f"settings from {DEFAULT_CONFIG}", err=True)
    return table


def collect_network_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of requests that the user gave, as options of `add_network_options` or in the file."""
    names = {*NETWORK_SETTINGS, "max_bytes", "hosts"}
    in_file = {name: value for name, value in load_config(options["config"]).items() if name in names}
    return {**in_file, **get_given_settings(options)}


def build_network_settings(options: Mapping[str, Any], **defaults: Any) -> Settings:
    """Return settings with those of requests that the user gave. `defaults` replaces the defaults of a crawl."""
    return Settings(**{**defaults, **collect_network_settings(options)})


def get_given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the user gave as options."""
    settings = list_settings()
    return {name: value for name, value in options.items() if name in settings and value not in (None, ())}


def format_options(given: Mapping[str, Any]) -> list[str]:
    """Return settings as arguments of a command.

    >>> format_options({"user_agent": "Bot", "allow_net": ("10.0.0.0/8", "::1"), "robots": False})
    ['--user-agent=Bot', '--allow-net=10.0.0.0/8', '--allow-net=::1', '--no-robots']
    """
    arguments = []
    for name, value in given.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{option}" if value else f"--no-{option}")
        else:
            arguments += [f"--{option}={each}" for each in (value if isinstance(value, tuple) else (value,))]
    return arguments
