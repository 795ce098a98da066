"""Writes docs/reference/*.md from the code; `--check` fails when they are not what the code says."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import click

from topicrawl import cli, records, strategies
from topicrawl.cli import crawl_metrics
from topicrawl.cli.strategies_command import described
from topicrawl.collection.export import columns
from topicrawl.lab import bootstrap, missed, oracle, rank_correlation
from topicrawl.lab import measures as lab_measures
from topicrawl.settings import known_settings

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
MADE = "<!-- made by tools/make_reference.py: change the code, then `make docs` -->\n\n"


def commands() -> str:
    text = "# Command line\n\n"
    text += "Exit codes: 0 done; 1 an error of ours; 2 wrong use; 3 a directory or recording that cannot be used; "
    text += "4 no space left; 5 not one page could be fetched; 6 the Redis that workers share has forgotten the crawl; "
    text += "130 interrupted (the same command goes on).\n"
    context = click.Context(cli.topicrawl, info_name="topicrawl", max_content_width=100, terminal_width=100)
    for name in cli.COMMANDS:
        command = importlib.import_module(f"topicrawl.cli.{name}_command").command
        text += helped(command, context, name, 2)
    return text


def helped(command: click.Command, parent: click.Context, name: str, level: int) -> str:
    context = click.Context(command, parent, name, max_content_width=100, terminal_width=100)
    text = f"\n{'#' * level} {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            text += helped(found, context, child, level + 1)
    return text


def settings() -> str:
    text = (
        "# Settings\n\nEach is an option of `topicrawl crawl` (`host_pages` is `--host-pages`) and a key of the TOML "
    )
    text += "file given with `--config`; options win over the file.\n\n"
    text += "| setting | type | default | what it does |\n|---|---|---|---|\n"
    for name, known in known_settings().items():
        default = "none" if known.default in ("", ()) else known.default
        kind = "list of str" if known.kind is tuple else known.kind.__name__
        text += f"| `{name}` | {kind} | {default} | {known.sentence.replace('|', chr(92) + '|')} |\n"
    return text


def crawlers() -> str:
    text = (
        "# Strategies\n\nUse one with `--strategy name` or `--strategy name:parameter=value,…`.\n\n"
        "What it needs: words of the topic, example pages, browsing sessions. Where examples and sessions both stand, "
        "one of them is enough. Cost: milliseconds of CPU a page for the whole loop, parsing included, on the made-up "
        "web (`tools/measure_costs.py`); a page of the live web is often larger.\n\n"
    )
    text += "| name | family | paper | needs | cost | parameters | |\n|---|---|---|---|---|---|---|\n"
    for kind in strategies.available().values():
        row = described(kind)
        shown = ", ".join(f"`{name}={value}`" for name, value in row.parameters.items()) or "none"
        cells = (f"`{row.name}`", row.family, row.paper, ", ".join(row.inputs), f"{row.cost:g}", shown, row.sentence)
        text += f"| {' | '.join(cells)} |\n"
    return text


def reasons() -> str:
    source = inspect.getsource(records)
    text = "# Named reasons\n\nWhy a fetch gave no page (`failure` in visits, `status`, `why` and JSON events):\n\n"
    text += members(source, "Failure")
    text += "\nWhy a link was never put into the frontier (`refusal` in the links table, and `why`):\n\n"
    return text + members(source, "Refusal")


def members(source: str, name: str) -> str:
    body = source.partition(f"class {name}(StrEnum):")[2].partition("\n\n\n")[0]
    text = "| name | what it means |\n|---|---|\n"
    for value, comment in re.findall(r'^    [A-Z_]+ = "(\w+)"(?:  # (.*))?$', body, re.M):
        text += f"| `{value}` | {comment or value.replace('_', ' ')} |\n"
    return text


def measures() -> str:
    """The docstring of every public measure: a sentence, a formula, an example."""
    text = "# Measures\n\n" + paragraphs(inspect.getdoc(lab_measures) or "").partition("\n\n")[2]
    text += "\n\nWhy these, and where they mislead: [Measuring a crawler](../explanation/evaluation.md).\n"
    for module in (lab_measures, rank_correlation, oracle, bootstrap, missed):
        text += f"\n## `{module.__name__}`\n"
        for name, found in vars(module).items():
            if name.startswith("_") or getattr(found, "__module__", "") != module.__name__:
                continue
            told = inspect.getdoc(found) or ""
            if ">>> " in told:
                shown = str(inspect.signature(found)).replace("'", "")
                text += f"\n### {name}\n\n```\n{name}{shown}\n```\n\n{paragraphs(told)}\n"
    return text


def metrics() -> str:
    """Every family of samples that a crawl serves, as it is named where it is made."""
    text = (
        "# Metrics\n\nWhat `topicrawl crawl` and `topicrawl worker` serve with `--metrics HOST:PORT` (or "
        "`TOPICRAWL_METRICS`), at `/metrics`, in the text format of Prometheus; `/health` says `ok`. Every sample has "
        "the label `crawl` and, in a crawl that workers share, `worker`. What to make of them: "
        "[Run a cluster](../how-to/run-a-cluster.md#watch).\n\n"
    )
    text += "| metric | type | what it says |\n|---|---|---|\n"
    for call in (node for node in ast.walk(ast.parse(inspect.getsource(crawl_metrics))) if isinstance(node, ast.Call)):
        said = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
        if isinstance(call.func, ast.Name) and call.func.id in ("counter", "gauge"):
            said.insert(1, call.func.id)
        elif not (isinstance(call.func, ast.Name) and call.func.id == "Family"):
            continue
        name, kind, sentence = said[:3]
        labels = {"topicrawl_failures_total": "{reason=…}", "topicrawl_build_info": "{version=…}"}.get(str(name), "")
        text += f"| `{name}{labels}` | {kind} | {sentence} |\n"
    return text


def exported() -> str:
    text = (
        "# Columns of an export\n\nThe same in every [format](../how-to/export-pages.md): keys of a JSON line, columns "
        "of Parquet and CSV (where lists are joined by a blank), the YAML on top of a Markdown file, the metadata "
        "record of a WARC. An empty value means that nothing is known.\n\n"
    )
    text += "| column | type | what it says |\n|---|---|---|\n"
    for column in columns():
        kind = getattr(column.kind, "__name__", "") if isinstance(column.kind, type) else ""
        text += f"| `{column.name}` | {(kind or str(column.kind)).replace('|', 'or')} | {column.sentence} |\n"
    return text


def paragraphs(told: str) -> str:
    """A docstring as Markdown: formulas are indented already, examples become listings."""
    parts = [part for part in told.split("\n\n") if part.strip()]
    return "\n\n".join(f"```\n{part}\n```" if part.startswith(">>> ") else part for part in parts)


def main() -> None:
    stale = []
    for name, make in {
        "cli": commands,
        "settings": settings,
        "strategies": crawlers,
        "failures": reasons,
        "measures": measures,
        "metrics": metrics,
        "export": exported,
    }.items():
        path, text = REFERENCE / f"{name}.md", MADE + make()
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, "utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"not fresh: {', '.join(stale)}; run `make docs`")
    print(f"{len(stale)} of the references {'written' if stale else 'were stale'}")


if __name__ == "__main__":
    main()
