"""Documentation tests: it is complete and up to date, its links resolve, and its examples run."""

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
from itertools import chain, pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import click
import pytest
from tests.helpers.live_site import live_site
from tests.helpers.sample_web import write_small_web

import topicrawl
from topicrawl import cli, errors, strategies
from topicrawl import topic as topics
from topicrawl.cli import logs
from topicrawl.cli.crawl import EXIT_NOTHING_FETCHED
from topicrawl.cli.doctor import EXIT_PROBLEMS_FOUND
from topicrawl.cli.lab import evaluate
from topicrawl.cli.progress import CrawlProgress, JsonEventDisplay
from topicrawl.cli.status import StatusReport
from topicrawl.cli.strategies import StrategyDescription
from topicrawl.cli.topic import _topic_to_dict
from topicrawl.cli.train import context_graph, hmm, nb, summary
from topicrawl.cli.why import _print_suggestions
from topicrawl.collection import browsing_sessions, store
from topicrawl.collection.export.run import ExportResult
from topicrawl.collection.reviewer_log import ReviewerReport
from topicrawl.collection.store import CollectionStore
from topicrawl.doctor.finding import CheckArea
from topicrawl.engine.recall_estimate import RecallMonitor
from topicrawl.errors import TopicrawlError
from topicrawl.frontier.base import FrontierCounts
from topicrawl.frontier.redis.shared_crawl import SharedCrawlStatus, WorkerInfo
from topicrawl.frontier.sqlite import file
from topicrawl.lab.bootstrap import ConfidenceInterval
from topicrawl.models import Failure, Refusal
from topicrawl.recrawl.sink import RevisitResult
from topicrawl.search import feedback, index_file
from topicrawl.search.models import CollectionReport, Feedback, SearchHit, SearchResults
from topicrawl.seeds import search_engine_cache
from topicrawl.seeds.election import ElectionResult
from topicrawl.seeds.voting import Seed, SeedGroup
from topicrawl.settings import list_settings, load_settings_file
from topicrawl.text.frequent_words import load_frequent_words
from topicrawl.web.url_explanation import ChainStep, Explanation, PageLabel, WaitingLinkDetails

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
COMPARISON = DOCS / "explanation" / "crawlers-of-the-papers.md"
DEPENDENCIES = DOCS / "explanation" / "dependencies.md"
ARCHITECTURE = DOCS / "explanation" / "architecture.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*topicrawl (?!crawl …)(.*)$")


def read_reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text("utf-8")


def find_code_blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(path.read_text("utf-8")) if kind == language]


def find_relative_links(path: Path) -> list[str]:
    """Return the relative links of a page."""
    prose = _FENCE.sub("", path.read_text("utf-8"))
    return [link for link in _LINK.findall(prose) if "://" not in link]


@pytest.fixture(params=PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def page(request: pytest.FixtureRequest) -> Path:
    path = request.param
    assert isinstance(path, Path)
    return path


# Completeness


def test_generated_reference_is_up_to_date() -> None:
    script = ROOT / "tools" / "make_reference.py"
    result = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_command_is_documented() -> None:
    assert all(f"\n## topicrawl {name}\n" in read_reference("cli") for name in cli.COMMANDS)


def test_every_setting_is_documented() -> None:
    assert all(f"\n| `{name}` |" in read_reference("settings") for name in list_settings())
    assert all(f"--{name.replace('_', '-')}" in read_reference("cli") for name in list_settings())


@pytest.mark.parametrize("reason", [*Failure, *Refusal], ids=str)
def test_every_failure_and_refusal_is_documented(reason: Failure | Refusal) -> None:
    assert f"\n| `{reason}` |" in read_reference("failures")


def test_every_exit_code_is_documented() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TopicrawlError)]
    text = read_reference("exit-codes")
    for kind in kinds:
        assert f"\n| `{kind.__name__}` | {kind.exit_code} |" in text
    codes = {0, cli.EXIT_INTERRUPTED, EXIT_NOTHING_FETCHED, EXIT_PROBLEMS_FOUND, *(kind.exit_code for kind in kinds)}
    assert set(map(int, re.findall(r"^\| (\d+) \|", text, re.M))) == codes


def test_every_environment_variable_is_documented() -> None:
    access = re.compile(r'environ(?:\.get\(|\[)"(\w+)"|envvar="(\w+)"|environment\.get\("(\w+)"')
    files = [path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    names = {name for path in files for match in access.findall(path.read_text("utf-8")) for name in match if name}
    assert "SEARXNG_URL" in names
    assert {name for name in names if f"`{name}`" not in read_reference("environment")} == set()


def test_every_file_of_a_crawl_directory_is_documented() -> None:
    table = read_reference("collection").partition("\n\nCopy a directory")[0]
    files = {
        "topicrawl.sqlite",
        "frontier.sqlite",
        "topic.toml",
        "crawl.log",
        "lock",
        "search.lock",
        "warc/",
        "examples/",
        f"{browsing_sessions.PAGES_FOLDER}/",
        browsing_sessions.SESSIONS_FILE,
        feedback.FEEDBACK_FILE,
        index_file.INDEX_FILE,
        search_engine_cache.SEEDS_FILE,
        search_engine_cache.ANSWERS_FILE,
    }
    assert {name for name in files if f"`{name}" not in table} == set()


def test_database_formats_are_documented() -> None:
    formats = {
        "topicrawl.sqlite": store.SCHEMA.version,
        "frontier.sqlite": file.FRONTIER_SCHEMA.version,
        "search.sqlite": index_file.SCHEMA.version,
    }
    text = read_reference("collection")
    assert [name for name, number in formats.items() if f"{number} (`{name}`)" not in text] == []


def find_documented_fields(event: str) -> set[str]:
    """Return the documented fields of an event or a command, including nested fields."""
    rows = re.findall(rf"^\| `{event}` \| (.*)", read_reference("output"), re.M)
    return {name for row in rows for name in find_code_words(row)}


def find_dict_keys(function: object, required_key: str = "") -> set[str]:
    """Return the keys of the dict displays in a function: of all, or of those that contain a given key."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    key_nodes = [node.keys for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    tables = [{str(node.value) for node in nodes if isinstance(node, ast.Constant)} for nodes in key_nodes]
    return {key for table in tables if not required_key or required_key in table for key in table}


def find_code_words(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def test_every_event_of_a_crawl_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    events = JsonEventDisplay()
    events.start("owls", True)
    events.show_visit(topicrawl.Visit(1, topicrawl.Link("http://a/"), topicrawl.Priority(1.0), "http://a/"))
    events.stop(CrawlProgress(topicrawl.Topic.of("owls"), 0), FrontierCounts(0, 0, 0, 0, 0), topicrawl.StopReason.EMPTY)
    for line in capsys.readouterr().out.splitlines():
        event = json.loads(line)
        assert event.keys() - {"event"} <= find_documented_fields(event["event"]), event


@pytest.mark.parametrize("reason", topicrawl.StopReason, ids=lambda reason: reason.name)
def test_every_stop_reason_is_documented(reason: topicrawl.Stop) -> None:
    assert f"\n| `{reason}` |" in read_reference("output")


def test_every_field_of_status_is_documented() -> None:
    names = [field.name for field in dataclasses.fields(StatusReport)]
    assert [name for name in names if f"\n| `{name}` |" not in read_reference("output")] == []
    estimate = RecallMonitor(0.5).get_estimate(1).to_json()
    assert estimate.keys() <= find_documented_fields("outlook")
    assert {field.name for field in dataclasses.fields(ReviewerReport)} <= find_documented_fields("reviewer")


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("doctor", {"directory", "problems", "warnings", "findings", *CheckArea("a").ok("b", "c").to_dict()}),
        ("look", {*RevisitResult._fields}),
        (
            "why",
            {
                field.name
                for kind in (Explanation, ChainStep, WaitingLinkDetails, PageLabel)
                for field in dataclasses.fields(kind)
            },
        ),
        ("strategies", {field.name for field in dataclasses.fields(StrategyDescription)}),
        (
            "search",
            {name for kind in (SearchResults, CollectionReport, SearchHit) for name in kind.__struct_fields__},
        ),
        ("why", find_dict_keys(_print_suggestions)),
        ("topic build", find_dict_keys(_topic_to_dict)),
        ("export", {field.name for field in dataclasses.fields(ExportResult)}),
        (
            "cluster status",
            {
                "alive",
                *(
                    field.name
                    for kind in (SharedCrawlStatus, WorkerInfo, FrontierCounts)
                    for field in dataclasses.fields(kind)
                ),
            },
        ),
        ("train hmm", find_dict_keys(hmm.hmm_command.callback) | {"walks", "pages", "relevant"}),
        ("train nb", find_dict_keys(nb.nb_command.callback)),
        ("train context-graph", find_dict_keys(context_graph.context_graph_command.callback, "out")),
        ("train summary", {"out", *find_dict_keys(summary._build_summary)}),
        (
            "lab evaluate",
            find_dict_keys(evaluate._build_table)
            | find_dict_keys(evaluate.CrawlDecisions.estimate_recall)
            | {*ConfidenceInterval._fields},
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_every_field_of_a_command_is_documented(command: str, fields: set[str]) -> None:
    assert fields - find_documented_fields(command) == set()


def iterate_json_commands(group: click.Group, path: str = "") -> Iterator[str]:
    """Yield the commands that have `--json`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from iterate_json_commands(command, f"{path}{name} ")
        elif command is not None and any("--json" in parameter.opts for parameter in command.params):
            yield f"{path}{name}"


def test_every_command_with_json_output_is_documented() -> None:
    text = read_reference("output")
    commands = set(iterate_json_commands(cli.root_command))  # type: ignore[arg-type]
    assert {"crawl", "train nb", "lab evaluate"} <= commands
    assert {name for name in commands if f"\n| `{name}` |" not in text and f"`{name} --json`" not in text} == set()


def test_every_field_of_a_log_line_is_documented() -> None:
    (row,) = re.findall(r"^\| `crawl.log` \| (.*)", read_reference("output"), re.M)
    assert {*logs._EVENT_FIELDS, "event", "url", "worker", "message", "trace"} <= set(find_code_words(row))


def test_every_field_of_a_file_is_documented() -> None:
    seeds = ElectionResult("q", (Seed("http://a/", SeedGroup.RELEVANT, {}, ""),)).to_dict()
    row = re.search(r"^\| `seeds.json`.*", read_reference("output"), re.M)
    assert row
    assert {*seeds, *seeds["seeds"][0]} <= set(find_code_words(row[0]))
    line = re.search(r"^\| `feedback.jsonl`.*", read_reference("output"), re.M)
    assert line
    assert {*Feedback.__struct_fields__} <= set(find_code_words(line[0]))


@pytest.mark.parametrize("name", topicrawl.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"^\| `{name}[`(]", read_reference("python"), re.M)


@pytest.mark.parametrize("name", strategies.list_strategies())
def test_every_strategy_is_documented_and_measured(name: str) -> None:
    assert f"\n| `{name}` |" in read_reference("strategies")
    assert re.search(rf"^\| `{name}`.*\d+ / \d+ / \d+", COMPARISON.read_text("utf-8"), re.M)


def test_every_table_and_column_of_a_collection_is_documented(tmp_path: Path) -> None:
    CollectionStore(tmp_path / "topicrawl.sqlite").close()
    database = sqlite3.connect(tmp_path / "topicrawl.sqlite")
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert "visits" in tables
    for table in tables:
        section = re.search(rf"^### `{table}`:.*?(?=^##)", read_reference("collection"), re.M | re.S)
        assert section, table
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        assert re.findall(r"^\| `(\w+)`", section[0], re.M) == columns, table
    database.close()


def test_every_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {re.split(r"[<>=\[]", requirement)[0] for requirement in requirements}
    rows = re.findall(r"^\| ([^|-][^|]*) \|", DEPENDENCIES.read_text("utf-8"), re.M)
    documented = {re.sub(r" \(extra `\w+`\)", "", name) for row in rows for name in row.split(", ")}
    assert documented - {"library", "tool"} == declared


def test_architecture_lists_every_module_of_the_package_root() -> None:
    tree = ARCHITECTURE.read_text("utf-8").partition("```\n")[2].partition("```")[0]
    modules = [path for path in Path(topicrawl.__file__).parent.iterdir() if not path.name.startswith("__")]
    names = [path.name + "/" * path.is_dir() for path in modules if path.is_dir() or path.suffix == ".py"]
    assert [name for name in names if not re.search(rf"^[├└]── {re.escape(name)} ", tree, re.M)] == []


def test_architecture_names_existing_files() -> None:
    text = ARCHITECTURE.read_text("utf-8").partition("\n## Where to change")[2]
    names = {name for name in re.findall(r"`([\w/]+\.(?:py|lua))`", text) if "NAME" not in name}
    roots = (ROOT, ROOT / "tests", ROOT / "src" / "topicrawl")
    assert [name for name in sorted(names) if not any((root / name).exists() for root in roots)] == []


def test_tables_of_the_papers_name_existing_files() -> None:
    names = set(re.findall(r"`([\w/]+\.py)`", COMPARISON.read_text("utf-8")))
    paths = [path.as_posix() for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert names
    assert [name for name in sorted(names) if not any(path.endswith(f"/{name}") for path in paths)] == []


def test_architecture_names_existing_functions() -> None:
    text = ARCHITECTURE.read_text("utf-8").partition("\n## Where to change")[2]
    names = {name for name in re.findall(r"`(?:\w+\.)?(\w+)\(\)`", text) if "NAME" not in name}
    files = [path for folder in ("src", "tests", "tools") for path in (ROOT / folder).rglob("*") if path.is_file()]
    source = "\n".join(path.read_text("utf-8") for path in files if path.suffix in (".py", ".lua", ".js"))
    assert sorted(names - set(re.findall(r"\b(?:def|class|function) (\w+)", source))) == []


def test_architecture_lists_the_import_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    section = ARCHITECTURE.read_text("utf-8").partition("\n## Import layers\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\d+\. `([^`]+)`:", section, re.M) == contracts[0]["layers"]


# Consistency


def test_every_page_is_linked_from_the_index() -> None:
    reached = {DOCS / "README.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        for target in find_relative_links(page):
            path = (page.parent / target.partition("#")[0]).resolve()
            if path.suffix == ".md" and path not in reached:
                reached.add(path)
                waiting.append(path)
    assert {path.resolve() for path in DOCS.rglob("*.md")} <= {path.resolve() for path in reached}


def test_every_link_resolves(page: Path) -> None:
    for target in find_relative_links(page):
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
            assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_every_page_has_one_title_and_no_machine_path(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(re.findall(r"^# ", _FENCE.sub("", text), re.M)) == 1
    assert not re.search(r"/(?:work|root|tmp|home)/", text)


def test_no_line_of_a_paragraph_looks_like_a_list_item(page: Path) -> None:
    """A number at the end of a sentence, at the start of a line, would begin a list."""
    lines = _FENCE.sub("", page.read_text("utf-8")).splitlines()
    text = re.compile(r"(?![-+*] )[^\s|<#>]")
    found = [
        line
        for before, line in pairwise(lines)
        if re.match(r"\d+\. |[-+*] ", line) and text.match(before) and not re.match(r"\d+\. ", before)
    ]
    assert found == []


def test_readme_is_short() -> None:
    assert README.read_text("utf-8").count("\n") <= 120


def test_picture_is_small_and_well_formed() -> None:
    picture = DOCS / "harvest.svg"
    assert picture.stat().st_size < 60_000
    assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"


# Examples


def iterate_commands(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of every `topicrawl` command in the code blocks of a page."""
    for _, text in _FENCE.findall(page.read_text("utf-8")):
        for line in text.replace("\\\n", " ").splitlines():
            if match := _COMMAND.match(line):
                yield shlex.split(match[1], comments=True)


def test_every_command_in_a_code_block_exists_with_its_options(page: Path) -> None:
    context = click.Context(cli.root_command)
    for words in iterate_commands(page):
        command: click.Command = cli.root_command
        if page.name == "cli.md" and words[-1:] == ["[ARGS]..."]:
            continue
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            subcommand = command.get_command(context, words[0])
            assert subcommand is not None, words
            command, words = subcommand, words[1:]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known | {"--help", "--version"}, words


def test_python_blocks_are_valid(page: Path) -> None:
    for text in find_code_blocks(page, "python"):
        if ">>>" not in text:
            ast.parse(text)


def test_sql_blocks_run(page: Path, tmp_path: Path) -> None:
    if statements := find_code_blocks(page, "sql"):
        CollectionStore(tmp_path / "topicrawl.sqlite").close()
        with closing(sqlite3.connect(tmp_path / "topicrawl.sqlite")) as database:
            for text in statements:
                database.executescript(text)


def test_toml_blocks_are_topics_or_settings(page: Path, tmp_path: Path) -> None:
    for number, text in enumerate(find_code_blocks(page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, "utf-8")
        assert topics.load_topic(path) if "[words]" in text else load_settings_file(path)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with a small recorded web and one task."""
    directory = tmp_path_factory.mktemp("docs")
    write_small_web(directory / "sample-web")
    tasks = directory / "sample-web" / "tasks.json"
    tasks.write_text(json.dumps(json.loads(tasks.read_text("utf-8"))[:1]), "utf-8")
    return directory


def run_python(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=directory, capture_output=True, text=True, check=True, encoding="utf-8"
    )


@pytest.fixture(scope="module")
def guide(web: Path) -> Path:
    """The same directory with the strategy of the guide."""
    (text,) = find_code_blocks(DOCS / "how-to" / "write-a-strategy.md", "python")
    (web / "mine.py").write_text(text, "utf-8")
    return web


def test_strategy_of_the_guide_runs_from_the_current_directory(guide: Path) -> None:
    task = json.loads((guide / "sample-web" / "tasks.json").read_text("utf-8"))[0]
    # With -P, the current directory is not in sys.path, as for the installed command.
    run = ("-P", "-m", "topicrawl", "lab", "run", "sample-web", "--words", task["words"], "--seed", task["seeds"][0])
    scores = []
    for spec in ("mine:GoodHosts", "mine:GoodHosts:host_weight=0.9"):
        lines = run_python(guide, *run, "--strategy", spec, "--pages", "30").stdout.splitlines()
        scores.append([json.loads(line)["score"] for line in lines])
    assert len(scores[0]) == len(scores[1]) == 30
    assert scores[0] != scores[1]


_RESTORE_SCRIPT = """
from mine import GoodHosts
from topicrawl import Link, Priority, Visit
one, two = GoodHosts(), GoodHosts()
two.restore_state(None)
one.learn(Visit(1, Link("http://a/"), Priority(1.0), "http://a/", relevance=0.5))
two.restore_state(one.get_state())
print(one.relevance_by_host == two.relevance_by_host == {"a": (0.5, 1)})
"""


def test_strategy_of_the_guide_restores_its_state(guide: Path) -> None:
    assert run_python(guide, "-c", _RESTORE_SCRIPT).stdout == "True\n"


def test_relevance_model_of_the_guide_scores_and_learns(web: Path) -> None:
    (text,) = find_code_blocks(DOCS / "how-to" / "write-a-relevance-model.md", "python")
    (web / "my_judge.py").write_text(text, "utf-8")
    task = json.loads((web / "sample-web" / "tasks.json").read_text("utf-8"))[0]
    run = ("-P", "-m", "topicrawl", "lab", "run", "sample-web", "--words", task["words"], "--seed", task["seeds"][0])
    result = run_python(web, *run, "--judge", "my_judge:Beginning:words=30", "--pages", "120")
    assert len({json.loads(line)["relevance"] for line in result.stdout.splitlines()}) > 3
    assert run_python(web, "-c", _ANNOTATION_SCRIPT).stdout == "[0.0, 0.1, 0.0]\n"


def test_embedding_of_the_guide_compares_words(web: Path) -> None:
    (text,) = find_code_blocks(DOCS / "how-to" / "use-another-embedding.md", "python")
    (web / "my_vectors.py").write_text(text, "utf-8")
    words = ["owl", "sparrow", *load_frequent_words("en")[:300]]
    rows = [
        f"{word} {number % 7} {number % 11} {1 if number < 2 else -number % 5}" for number, word in enumerate(words)
    ]
    (web / "words.vec").write_text("\n".join([f"{len(rows)} 3", *rows]), "utf-8")
    (web / "sparrow.html").write_text("<title>Sparrow</title><p>sparrow sparrow</p>", "utf-8")
    spec = "my_vectors:VectorFile:path=words.vec,language=en"
    run = ("-P", "-m", "topicrawl", "topic", "try", "owl", "sparrow.html", "--json", "--embedding")
    trusts = [json.loads(run_python(web, *run, name).stdout)["topic"]["vector_trust"] for name in (spec, "none")]
    assert trusts[0] > trusts[1] == 0.0


_ANNOTATION_SCRIPT = """
from my_judge import Beginning
from topicrawl import Page, Topic
judge, page = Beginning(Topic.of("owls")), Page("http://a/1", "Trains")
scores = [judge.score(page)]
judge.learn(Page("http://a/2"), True)
scores.append(judge.score(page))
judge.forget("http://a/2")
print([*scores, judge.score(page)])
"""


def test_seed_provider_of_the_guide_queries_a_wiki(web: Path) -> None:
    def respond(path: str) -> tuple[int, Mapping[str, str], bytes]:
        rows = [{"title": "Dengue fever", "snippet": 'A <span class="x">fever</span>'}, {"title": "Aedes"}]
        assert parse_qs(urlsplit(path).query)["srsearch"] == ["dengue fever"]
        return 200, {"Content-Type": "application/json"}, json.dumps({"query": {"search": rows}}).encode()

    (text,) = find_code_blocks(DOCS / "how-to" / "write-a-seed-provider.md", "python")
    (web / "my_wiki.py").write_text(text, "utf-8")
    with live_site(respond) as (site, _):
        arguments = ("dengue fever", "--engine", f"my_wiki:Wiki:site={site}", "--allow-net", "127.0.0.0/8", "--json")
        election = json.loads(run_python(web, "-P", "-m", "topicrawl", "seeds", *arguments).stdout)
    assert [seed["url"] for seed in election["seeds"]] == [f"{site}/wiki/Dengue_fever", f"{site}/wiki/Aedes"]
    assert election["answers"][0]["hits"][0]["snippet"] == "A fever"


def test_counting_script_of_the_guide_runs(web: Path) -> None:
    (text,) = find_code_blocks(DOCS / "how-to" / "run-on-a-recorded-web.md", "python")
    (web / "found.py").write_text(text, "utf-8")
    output = run_python(web, "found.py", "best_first").stdout
    assert re.fullmatch(r"dengue fever \[\d+, \d+, \d+\] of \d+\n", output)
