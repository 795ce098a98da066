"""Click group that imports the module of a command only when the command is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Group of commands that are listed from a table and loaded on demand.

    `lazy_commands` maps the name of a command to its module and its one-line help. The module defines a click command
    with this name. `--help` lists the commands from the table and imports none of the modules, so that it stays fast.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        lazy_commands: Mapping[str, tuple[str, str]],
        section: str = "Commands",
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self.lazy_commands = lazy_commands
        self.section = section

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of the table."""
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command, or None if the name is unknown."""
        if cmd_name not in self.lazy_commands:
            return None
        module = importlib.import_module(self.lazy_commands[cmd_name][0])
        for value in vars(module).values():
            if isinstance(value, click.Command) and value.name == cmd_name:
                return value
        raise LookupError(f"{module.__name__} defines no command {cmd_name!r}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands with the help lines of the table."""
        with formatter.section(self.section):
            formatter.write_dl([(name, text) for name, (_, text) in self.lazy_commands.items()])
