"""Groups of commands list their commands without importing them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from topicrawl.cli import COMMANDS, cluster, lab, train
from topicrawl.cli.lazy_group import LazyGroup

TABLES = [COMMANDS, lab.COMMANDS, train.COMMANDS, cluster.COMMANDS]


@pytest.mark.parametrize("group", [(), ("lab",), ("train",), ("cluster",)], ids=lambda words: " ".join(words) or "root")
def test_the_help_of_a_group_imports_no_command(group: tuple[str, ...]) -> None:
    code = (
        "import sys; from topicrawl.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted(name for name in sys.modules if name.startswith('topicrawl.cli.')), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *group, "--help"], capture_output=True, text=True, check=True)
    expected = ["topicrawl.cli.lazy_group", *(f"topicrawl.cli.{name}" for name in group)]
    assert ran.stderr.strip() == str(sorted(expected))
    assert "Commands:" in ran.stdout or "Models:" in ran.stdout


@pytest.mark.parametrize("table", TABLES, ids=["root", "lab", "train", "cluster"])
def test_every_command_of_a_table_exists(table: dict[str, tuple[str, str]]) -> None:
    group = LazyGroup("group", lazy_commands=table)
    context = click.Context(group)
    assert group.list_commands(context) == list(table)
    for name in table:
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert group.get_command(context, "none") is None


def test_a_module_without_the_command_is_an_error() -> None:
    group = LazyGroup("group", lazy_commands={"none": ("topicrawl.cli.gather", "No such command.")})
    with pytest.raises(LookupError, match="'none'"):
        group.get_command(click.Context(group), "none")
