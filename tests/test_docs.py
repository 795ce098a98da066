"""What is undocumented, stale or broken in the documentation is red."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import shlex
import sqlite3
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import click
import pytest
from tests.cli.live import live_site

import topicrawl
from topicrawl import cli, errors, strategies
from topicrawl import topic as topics
from topicrawl.cli import lab_evaluate, logs, train_context_graph, train_hmm, train_nb, train_summary
from topicrawl.cli.crawl_command import NOTHING_FETCHED
from topicrawl.cli.doctor_command import SOMETHING_TO_FIX
from topicrawl.cli.progress import Events, Tally
from topicrawl.cli.status_command import Figures
from topicrawl.cli.strategies_command import Description
from topicrawl.cli.topic_command import _plain
from topicrawl.cli.why_command import Explanation, Step, Waiting, _suggested
from topicrawl.collection import browsing, store, told
from topicrawl.collection.export_run import Done
from topicrawl.collection.store import Store
from topicrawl.discoveries import Discoveries
from topicrawl.doctor.finding import Area
from topicrawl.errors import TopicrawlError
from topicrawl.frontier import sqlite_file
from topicrawl.frontier.contract import Counts
from topicrawl.frontier.redis_crawl import Status, Worker
from topicrawl.lab.bootstrap import Interval
from topicrawl.records import Failure, Refusal
from topicrawl.refresh import Looked
from topicrawl.search import feedback, index_file
from topicrawl.search.answers import Answer, Asked, Feedback, Hit
from topicrawl.seeds.found import Found
from topicrawl.seeds.voting import Group, Seed
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


def test_every_exit_code_is_documented() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TopicrawlError)]
    text = reference("exit-codes")
    for kind in kinds:
        assert f"\n| `{kind.__name__}` | {kind.exit_code} |" in text
    codes = {0, cli.INTERRUPTED, NOTHING_FETCHED, SOMETHING_TO_FIX, *(kind.exit_code for kind in kinds)}
    assert set(map(int, re.findall(r"^\| (\d+) \|", text, re.M))) == codes


def test_every_variable_of_the_environment_that_is_read_is_documented() -> None:
    read = re.compile(r'environ(?:\.get\(|\[)"(\w+)"|envvar="(\w+)"|environment\.get\("(\w+)"')
    files = [path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    names = {name for path in files for found in read.findall(path.read_text("utf-8")) for name in found if name}
    assert "SEARXNG_URL" in names
    assert {name for name in names if f"`{name}`" not in reference("environment")} == set()


def test_every_file_of_a_directory_is_documented() -> None:
    listed = reference("collection").partition("\n\nCopy a directory")[0]
    written = {"topicrawl.sqlite", "frontier.sqlite", "topic.toml", "crawl.log", "lock", "search.lock", told.SEEDS}
    written |= {told.TOLD, feedback.FILE, index_file.FILE, browsing.FILE, "warc/", "examples/", f"{browsing.FOLDER}/"}
    assert {name for name in written if f"`{name}" not in listed} == set()


def test_the_formats_of_the_databases_are_documented() -> None:
    said = f"{store.SHAPE.version} of `topicrawl.sqlite`, {sqlite_file.SHAPE.version} of `frontier.sqlite` and"
    assert said in reference("collection")
    assert sqlite_file.SHAPE.version == index_file.SHAPE.version


def shown(event: str) -> set[str]:
    """The fields that the documentation names for an event or a command, those of tables in it included."""
    return {name for row in re.findall(rf"^\| `{event}` \| (.*)", reference("output"), re.M) for name in ticked(row)}


def keys(function: object, having: str = "") -> set[str]:
    """The keys of the tables in a function: of all, or of those that have a certain one."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    tables = [node.keys for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    found = [{str(key.value) for key in table if isinstance(key, ast.Constant)} for table in tables]
    return {key for table in found if not having or having in table for key in table}


def ticked(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def test_every_event_of_a_crawl_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    events = Events()
    events.start("owls", True)
    events.visit(topicrawl.Visit(1, topicrawl.Link("http://a/"), topicrawl.Place(1.0), "http://a/"))
    events.stop(Tally(topicrawl.Topic.of("owls"), 0), Counts(0, 0, 0, 0, 0), topicrawl.Stop.EMPTY)
    for line in capsys.readouterr().out.splitlines():
        event = json.loads(line)
        assert event.keys() - {"event"} <= shown(event["event"]), event


@pytest.mark.parametrize("reason", topicrawl.Stop, ids=lambda reason: reason.name)
def test_every_end_of_a_crawl_is_documented(reason: topicrawl.Stop) -> None:
    assert f"\n| `{reason}` |" in reference("output")


def test_every_figure_of_a_status_is_documented() -> None:
    figures = [field.name for field in dataclasses.fields(Figures)]
    assert [name for name in figures if f"\n| `{name}` |" not in reference("output")] == []
    outlook = Discoveries(0.5).outlook(1).values()
    assert outlook.keys() <= shown("outlook")


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("doctor", {"directory", "problems", "warnings", "findings", *Area("a").ok("b", "c").table()}),
        ("look", {*Looked._fields}),
        ("why", {field.name for kind in (Explanation, Step, Waiting) for field in dataclasses.fields(kind)}),
        ("strategies", {field.name for field in dataclasses.fields(Description)}),
        ("search", {field.name for kind in (Answer, Asked, Hit) for field in dataclasses.fields(kind)}),
        ("why", keys(_suggested)),
        ("topic build", keys(_plain)),
        ("export", {field.name for field in dataclasses.fields(Done)}),
        (
            "cluster status",
            {"alive", *(it.name for kind in (Status, Worker, Counts) for it in dataclasses.fields(kind))},
        ),
        ("train hmm", keys(train_hmm.command.callback) | {"walks", "pages", "relevant"}),
        ("train nb", keys(train_nb.command.callback)),
        ("train context-graph", keys(train_context_graph.command.callback, "out")),
        ("train summary", {"out", *keys(train_summary._told)}),
        ("lab evaluate", keys(lab_evaluate._table) | keys(lab_evaluate.Sides.recall) | {*Interval._fields}),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_every_field_of_a_command_is_documented(command: str, fields: set[str]) -> None:
    assert fields - shown(command) == set()


def speaking(group: click.Group, path: str = "") -> Iterator[str]:
    """The commands that have `--json`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from speaking(command, f"{path}{name} ")
        elif command is not None and any("--json" in parameter.opts for parameter in command.params):
            yield f"{path}{name}"


def test_every_command_that_speaks_json_is_documented() -> None:
    said = reference("output")
    commands = set(speaking(cli.topicrawl))  # type: ignore[arg-type]
    assert {"crawl", "train nb", "lab evaluate"} <= commands
    assert {name for name in commands if f"\n| `{name}` |" not in said and f"`{name} --json`" not in said} == set()


def test_every_field_of_a_line_of_the_log_is_documented() -> None:
    (row,) = re.findall(r"^\| `crawl.log` \| (.*)", reference("output"), re.M)
    assert {*logs._FIELDS, "event", "url", "worker", "message", "trace"} <= set(ticked(row))


def test_every_field_of_a_file_is_documented() -> None:
    seeds = Found("q", (Seed("http://a/", Group.RELEVANT, {}, ""),)).table()
    row = re.search(r"^\| `seeds.json`.*", reference("output"), re.M)
    assert row
    assert {*seeds, *seeds["seeds"][0]} <= set(ticked(row[0]))
    line = re.search(r"^\| `feedback.jsonl`.*", reference("output"), re.M)
    assert line
    assert {field.name for field in dataclasses.fields(Feedback)} <= set(ticked(line[0]))


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
    if listings := blocks(page, "sql"):
        Store(tmp_path / "topicrawl.sqlite").close()
        with closing(sqlite3.connect(tmp_path / "topicrawl.sqlite")) as database:
            for text in listings:
                database.executescript(text)


def test_toml_listings_are_topics_or_settings(page: Path, tmp_path: Path) -> None:
    for number, text in enumerate(blocks(page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, "utf-8")
        assert topics.load(path) if "[words]" in text else read_settings(path)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small recorded web in it, and one task."""
    directory = tmp_path_factory.mktemp("docs")
    topicrawl.SampleWeb(pages=400, hosts=20).write(directory / "sample-web")
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


def test_the_judge_of_the_guide_judges_and_can_be_taught(web: Path) -> None:
    (text,) = blocks(DOCS / "how-to" / "write-a-relevance-model.md", "python")
    (web / "my_judge.py").write_text(text, "utf-8")
    task = json.loads((web / "sample-web" / "tasks.json").read_text("utf-8"))[0]
    run = ("-P", "-m", "topicrawl", "lab", "run", "sample-web", "--words", task["words"], "--seed", task["seeds"][0])
    ran = python(web, *run, "--judge", "my_judge:Beginning:words=30", "--pages", "120")
    assert len({json.loads(line)["relevance"] for line in ran.stdout.splitlines()}) > 3
    assert python(web, "-c", _TAUGHT).stdout == "[0.0, 0.1, 0.0]\n"


_TAUGHT = """
from my_judge import Beginning
from topicrawl import Page, Topic
judge, page = Beginning(Topic.of("owls")), Page("http://a/1", "Trains")
scores = [judge.score(page)]
judge.learn(Page("http://a/2"), True)
scores.append(judge.score(page))
judge.forget("http://a/2")
print([*scores, judge.score(page)])
"""


def test_the_seed_provider_of_the_guide_asks_a_wiki(web: Path) -> None:
    def wiki(path: str) -> tuple[int, Mapping[str, str], bytes]:
        rows = [{"title": "Dengue fever", "snippet": 'A <span class="x">fever</span>'}, {"title": "Aedes"}]
        assert parse_qs(urlsplit(path).query)["srsearch"] == ["dengue fever"]
        return 200, {"Content-Type": "application/json"}, json.dumps({"query": {"search": rows}}).encode()

    (text,) = blocks(DOCS / "how-to" / "write-a-seed-provider.md", "python")
    (web / "my_wiki.py").write_text(text, "utf-8")
    with live_site(wiki) as (site, _):
        asked = ("dengue fever", "--engine", f"my_wiki:Wiki:site={site}", "--allow-net", "127.0.0.0/8", "--json")
        found = json.loads(python(web, "-P", "-m", "topicrawl", "seeds", *asked).stdout)
    assert [seed["url"] for seed in found["seeds"]] == [f"{site}/wiki/Dengue_fever", f"{site}/wiki/Aedes"]
    assert found["answers"][0]["hits"][0]["snippet"] == "A fever"


def test_the_counting_script_of_the_guide_works(web: Path) -> None:
    (text,) = blocks(DOCS / "how-to" / "run-on-a-recorded-web.md", "python")
    (web / "found.py").write_text(text, "utf-8")
    printed = python(web, "found.py", "best_first").stdout
    assert re.fullmatch(r"dengue fever \[\d+, \d+, \d+\] of \d+\n", printed)
