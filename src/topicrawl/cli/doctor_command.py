"""`topicrawl doctor`: what is wrong, and what to do."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.errors import CollectionError

if TYPE_CHECKING:
    from topicrawl.doctor.finding import Finding

SOMETHING_TO_FIX = 1


@click.command("doctor")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--sample", type=click.IntRange(0), default=1000, show_default=True, help="Pages to read back; 0: all.")
@click.option(
    "--seconds", type=click.FloatRange(0), default=60.0, show_default=True, help="For the directory; 0: no limit."
)
@click.option("--offline", is_flag=True, help="Do not ask the name server for example.org.")
@click.option(
    "--repair", is_flag=True, help="Remove what can be made again: broken index, drafts, unreadable learning."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(directory: Path | None, **options: Any) -> None:
    """Examine the installation, the machine, and the directory of a crawl if you name one.

    One line a finding: ok, note (good to know), warning (it works, but not as it should), problem (to be fixed).
    Nothing is changed. A crawl may run meanwhile. Exit code 0: there is no problem; 1: there is one.

    \b
    Examples:
      topicrawl doctor
      topicrawl doctor dengue-fever
      topicrawl doctor dengue-fever --sample 0 --seconds 0     # every page, however long it takes
    """
    if directory is not None and not directory.is_dir():
        raise CollectionError(f"{directory} is not a directory: name the directory of a crawl, or none")
    found = []
    for finding in _findings(directory, options):
        if options["repair"] and finding.repair is not None:
            finding.repair()
            finding = finding.repaired()
        found.append(finding)
        if not options["as_json"]:
            _show(finding, found)
    counts = Counter(finding.state.value for finding in found)
    if options["as_json"]:
        table = {"directory": str(directory) if directory else None, "problems": counts["problem"]}
        rows = [finding.table() for finding in found]
        click.echo(json.dumps({**table, "warnings": counts["warning"], "findings": rows}, ensure_ascii=False, indent=1))
    else:
        click.echo(f"{counts['problem']} problems, {counts['warning']} warnings")
    sys.exit(SOMETHING_TO_FIX if counts["problem"] else 0)


def _findings(directory: Path | None, options: dict[str, Any]) -> Iterator[Finding]:
    # They load what they examine: all of it.
    from topicrawl.doctor.collection import collection, settings_of
    from topicrawl.doctor.finding import Limits
    from topicrawl.doctor.installation import installation
    from topicrawl.doctor.machine import machine
    from topicrawl.settings import Settings

    yield from installation()
    settings = Settings() if directory is None else settings_of(directory)
    yield from machine(directory or Path(), settings, offline=options["offline"])
    if directory is not None:
        yield from collection(directory, Limits(options["sample"], options["seconds"], _progress()))


def _progress() -> Any:
    """Where the examination is, on a terminal; drawn over by the next line."""
    if not sys.stderr.isatty():
        return lambda text: None
    return lambda text: click.echo(f"\r{text:<60}\r", nl=False, err=True)


def _show(finding: Finding, before: list[Finding]) -> None:
    if len(before) < 2 or before[-2].area != finding.area:
        click.echo(finding.area)
    text = " ".join(f"{finding.says}; {finding.fix}".split()) if finding.fix else finding.says
    click.echo(f"  {finding.state:<8} {finding.name:<17} {text}")
