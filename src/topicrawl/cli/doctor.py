"""`topicrawl doctor`: check the installation, the machine and a crawl."""

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

#: Exit code if at least one check finds a problem.
EXIT_PROBLEMS_FOUND = 1


@click.command("doctor")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    help="Number of archived pages to read; 0: all.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Time limit for the checks of the directory; 0: no limit.",
)
@click.option("--offline", is_flag=True, help="Do not resolve example.org with the name server.")
@click.option(
    "--repair", is_flag=True, help="Remove files that are rebuilt: broken index, drafts, unreadable learned state."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(directory: Path | None, **options: Any) -> None:
    """Check the installation, the machine and, if given, the directory of a crawl.

    Each finding is one line: ok, note (for information), warning (works with restrictions) or problem (must be fixed).
    Without --repair, nothing is changed. The crawl may be running. The exit code is 1 if there is a problem, else 0.

    \b
    Examples:
      topicrawl doctor
      topicrawl doctor dengue-fever
      topicrawl doctor dengue-fever --sample 0 --seconds 0     # every page, without a time limit
    """
    if directory is not None and not directory.is_dir():
        raise CollectionError(f"{directory} is not a directory: give the directory of a crawl, or none")
    findings = []
    for finding in _collect_findings(directory, options):
        if options["repair"] and finding.repair is not None:
            finding.repair()
            finding = finding.mark_repaired()
        findings.append(finding)
        if not options["as_json"]:
            _print_finding(finding, findings)
    counts = Counter(finding.state.value for finding in findings)
    if options["as_json"]:
        table = {"directory": str(directory) if directory else None, "problems": counts["problem"]}
        rows = [finding.to_dict() for finding in findings]
        click.echo(json.dumps({**table, "warnings": counts["warning"], "findings": rows}, ensure_ascii=False, indent=1))
    else:
        click.echo(f"{counts['problem']} problems, {counts['warning']} warnings")
    sys.exit(EXIT_PROBLEMS_FOUND if counts["problem"] else 0)


def _collect_findings(directory: Path | None, options: dict[str, Any]) -> Iterator[Finding]:
    # Imported here, because the checks import all components that they check.
    from topicrawl.doctor.collection import check_collection, load_settings
    from topicrawl.doctor.finding import CheckLimits
    from topicrawl.doctor.installation import check_installation
    from topicrawl.doctor.machine import check_machine
    from topicrawl.settings import Settings

    yield from check_installation()
    settings = Settings() if directory is None else load_settings(directory)
    yield from check_machine(directory or Path(), settings, offline=options["offline"])
    if directory is not None:
        yield from check_collection(
            directory, CheckLimits(options["sample"], options["seconds"], _make_progress_printer())
        )


def _make_progress_printer() -> Any:
    """Return a function that prints the current check on a terminal; the next line overwrites it."""
    if not sys.stderr.isatty():
        return lambda text: None
    return lambda text: click.echo(f"\r{text:<60}\r", nl=False, err=True)


def _print_finding(finding: Finding, findings: list[Finding]) -> None:
    """Print a finding, which is the last one of `findings`, and the name of its area if it is the first one of it."""
    if len(findings) < 2 or findings[-2].area != finding.area:
        click.echo(finding.area)
    text = " ".join(f"{finding.says}; {finding.fix}".split()) if finding.fix else finding.says
    click.echo(f"  {finding.state:<8} {finding.name:<17} {text}")
