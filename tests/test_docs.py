"""What is undocumented, stale or broken in the documentation is red."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

import topicrawl
from topicrawl import cli, strategies
from topicrawl import topic as topics
from topicrawl.collection.store import Store
from topicrawl.records import Failure, Refusal
from topicrawl.settings import known_settings, read_settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: Extras for those who work on the project itself.
_OURS = ("dev", "bench")
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*topicrawl (?!crawl …)(.*)$")


def reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text("utf-8")


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(path.read_text("utf-8")) if kind == language]


def targets(path: Path) -> list[str]:
    """The relative links of a page."""
    prose = _FENCE.sub("", path.read_text("utf-8"))
    return [link for link in _LINK.findall(prose) if "://" not in link]


@pytest.fixture(params=PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def page(request: pytest.FixtureRequest) -> Path:
    path = request.param
    assert isinstance(path, Path)
    return path


# What must be mentioned


def test_the_generated_references_are_fresh() -> None:
    script = ROOT / "tools" / "make_reference.py"
    checked = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_command_is_documented() -> None:
    assert all(f"\n## topicrawl {name}\n" in reference("cli") for name in cli.COMMANDS)


def test_every_setting_is_documented() -> None:
    assert all(f"\n| `{name}` |" in reference("settings") for name in known_settings())
    assert all(f"--{name.replace('_', '-')}" in reference("cli") for name in known_settings())


@pytest.mark.parametrize("reason", [*Failure, *Refusal], ids=str)
def test_every_named_reason_is_documented(reason: Failure | Refusal) -> None:
    assert f"\n| `{reason}` |" in reference("failures")


@pytest.mark.parametrize("name", topicrawl.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"^\| `{name}[`(]", reference("python"), re.M)


@pytest.mark.parametrize("name", strategies.available())
def test_every_strategy_is_documented_and_measured(name: str) -> None:
    assert f"\n| `{name}` |" in reference("strategies")
    assert re.search(rf"^\| `{name}`.*\d+ / \d+ / \d+", README.read_text("utf-8"), re.M)


def test_every_table_and_column_of_a_collection_is_documented(tmp_path: Path) -> None:
    Store(tmp_path / "topicrawl.sqlite").close()
    database = sqlite3.connect(tmp_path / "topicrawl.sqlite")
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert "visits" in tables
    for table in tables:
        found = re.search(rf"^### `{table}`:.*?(?=^##)", reference("collection"), re.M | re.S)
        assert found, table
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        assert re.findall(r"^\| `(\w+)`", found[0], re.M) == columns, table
    database.close()


def test_every_dependency_has_its_reason_in_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [text for name, wanted in project["optional-dependencies"].items() for text in wanted if name not in _OURS]
    declared = {re.split(r"[<>=\[]", text)[0] for text in (*project["dependencies"], *extras)}
    table = README.read_text("utf-8").partition("| library |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([^|-][^|]*) \|", table, re.M)
    assert {re.sub(r" \(extra `\w+`\)", "", name) for row in rows for name in row.split(", ")} == declared


# What must hold together


def test_every_page_can_be_reached_from_the_map() -> None:
    found = {DOCS / "README.md"}
    waiting = list(found)
    while waiting:
        page = waiting.pop()
        for target in targets(page):
            path = (page.parent / target.partition("#")[0]).resolve()
            if path.suffix == ".md" and path not in found:
                found.add(path)
                waiting.append(path)
    assert {path.resolve() for path in DOCS.rglob("*.md")} <= {path.resolve() for path in found}


def test_every_link_leads_somewhere(page: Path) -> None:
    for target in targets(page):
        name, _, place = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        if place:
            titles = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
            assert place in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_every_page_has_one_title_and_names_no_place_on_a_machine(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(re.findall(r"^# ", _FENCE.sub("", text), re.M)) == 1
    assert not re.search(r"/(?:work|root|tmp|home)/", text)


def test_the_readme_is_short() -> None:
    assert README.read_text("utf-8").count("\n") <= 150


def test_the_picture_is_small_and_well_formed() -> None:
    picture = DOCS / "harvest.svg"
    assert picture.stat().st_size < 60_000
    assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"


# What must run


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every call of `topicrawl` in a page's listings."""
    for _, text in _FENCE.findall(page.read_text("utf-8")):
        for line in text.replace("\\\n", " ").splitlines():
            if called := _COMMAND.match(line):
                yield shlex.split(called[1], comments=True)


def test_every_command_in_a_listing_exists_with_its_options(page: Path) -> None:
    context = click.Context(cli.topicrawl)
    for words in commands(page):
        command: click.Command = cli.topicrawl
        if page.name == "cli.md" and words[-1:] == ["[ARGS]..."]:
            continue
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            found = command.get_command(context, words[0])
            assert found is not None, words
            command, words = found, words[1:]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known | {"--help", "--version"}, words


def test_python_listings_are_python(page: Path) -> None:
    for text in blocks(page, "python"):
        if ">>>" not in text:
            ast.parse(text)


def test_sql_listings_can_be_asked(page: Path, tmp_path: Path) -> None:
    Store(tmp_path / "topicrawl.sqlite").close()
    database = sqlite3.connect(tmp_path / "topicrawl.sqlite")
    for text in blocks(page, "sql"):
        database.executescript(text)
    database.close()


def test_toml_listings_are_topics_or_settings(page: Path, tmp_path: Path) -> None:
    for number, text in enumerate(blocks(page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, "utf-8")
        assert topics.load(path) if "[words]" in text else read_settings(path)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small recorded web in it, and one task."""
    directory = tmp_path_factory.mktemp("docs")
    topicrawl.SampleWeb(pages=600, hosts=20).write(directory / "sample-web")
    tasks = directory / "sample-web" / "tasks.json"
    tasks.write_text(json.dumps(json.loads(tasks.read_text("utf-8"))[:1]), "utf-8")
    return directory


def python(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=directory, capture_output=True, text=True, check=True, encoding="utf-8"
    )


@pytest.fixture(scope="module")
def guide(web: Path) -> Path:
    """The same, with the strategy that the guide writes."""
    (text,) = blocks(DOCS / "how-to" / "write-a-strategy.md", "python")
    (web / "mine.py").write_text(text, "utf-8")
    return web


def test_the_strategy_of_the_guide_works_from_the_current_directory(guide: Path) -> None:
    task = json.loads((guide / "sample-web" / "tasks.json").read_text("utf-8"))[0]
    # With -P the current directory is not on Python's own path, as for the installed command.
    run = ("-P", "-m", "topicrawl", "lab", "run", "sample-web", "--words", task["words"], "--seed", task["seeds"][0])
    scores = []
    for spec in ("mine:GoodHosts", "mine:GoodHosts:record=0.9"):
        lines = python(guide, *run, "--strategy", spec, "--pages", "30").stdout.splitlines()
        scores.append([json.loads(line)["score"] for line in lines])
    assert len(scores[0]) == len(scores[1]) == 30
    assert scores[0] != scores[1]


_REMEMBERS = """
from mine import GoodHosts
from topicrawl import Link, Place, Visit
one, two = GoodHosts(), GoodHosts()
two.restore(None)
one.learn(Visit(1, Link("http://a/"), Place(1.0), "http://a/", relevance=0.5))
two.restore(one.state())
print(one.judged == two.judged == {"a": (0.5, 1)})
"""


def test_the_strategy_of_the_guide_remembers_what_it_learned(guide: Path) -> None:
    assert python(guide, "-c", _REMEMBERS).stdout == "True\n"


def test_the_counting_script_of_the_guide_works(web: Path) -> None:
    (text,) = blocks(DOCS / "how-to" / "run-on-a-recorded-web.md", "python")
    (web / "found.py").write_text(text, "utf-8")
    printed = python(web, "found.py", "best_first").stdout
    assert re.fullmatch(r"dengue fever \[\d+, \d+, \d+\] of \d+\n", printed)
