"""`topicrawl lab compare` on the command line: table, report and error messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.crawl_directory import crawl_tree
from tests.helpers.markers import LONG
from tests.helpers.sample_web import write_small_web

from topicrawl.cli.lab.compare import CompareOptions

MISTAKES = [
    (["nowhere"], 3, "nowhere"),
    (["."], 3, ".warc"),
    ([".", "--strategies", "best_frist"], 2, "did you mean 'best_first'"),
    ([".", "--strategies", " , "], 2, "no strategies given"),
    ([".", "--budget", "1"], 2, "--budget"),
    ([".", "--topics", "0"], 2, "--topics"),
    ([".", "--jobs", "0"], 2, "--jobs"),
    ([".", "--examples", "-1"], 2, "--examples"),
    ([".", "--phrase", "owls", "--tasks", "both"], 2, "--phrase and --tasks exclude each other"),
    ([".", "--seed", "http://a.example/", "--tasks", "phrase"], 2, "are options of --phrase"),
    ([".", "..", "--phrase", "owls", "--seed", "http://a.example/"], 2, "--seed needs a single web"),
    ([".", "--targets", "mine"], 2, "--targets"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), MISTAKES, ids=lambda value: str(value))
def test_invalid_arguments_are_reported_in_one_line(run, arguments: list[str], code: int, words: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "compare", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().iterdir()), "a rejected command leaves no files"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ["a", "b"]),
        (" a , a ,b", ["a", "b"]),
        ("best_first:page=0.8,anchor=0.2,b", ["best_first:page=0.8,anchor=0.2", "b"]),
        ("a,mine:Own:x=1,y=2", ["a", "mine:Own:x=1,y=2"]),
        ("apprentice+examples", ["apprentice+examples"]),
    ],
)
def test_strategies_keep_their_parameters(text: str, names: list[str]) -> None:
    options = CompareOptions((), text, budget=10, jobs=1, examples=0, out=Path("x"), cache=None, no_cache=False)
    assert options.parse_strategies() == names


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(folder)
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))[:2]
    tasks[1]["seeds"] = ["http://elsewhere.example/"]
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder


@LONG
def test_a_comparison_prints_its_table_and_the_missing_runs(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ("lab", "compare", sample, "--strategies", "best_first,nb4", "--budget", 20, "--examples", 0)
    ran = run(*asked)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split()[:4] == ["strategy", "recall@5", "recall@10", "recall@20"]
    assert [line.split()[0] for line in lines[1:4]] == ["oracle", "best_first", "breadth_first"]
    assert "elsewhere.example/ is not a page of the recorded web" in ran.err
    assert "nb4 failed on 1 tasks: " in ran.err
    assert {path.name for path in Path("comparison").iterdir()} == {
        "report.html",
        "report.json",
        "results.jsonl",
        "runs.csv",
        "standings.csv",
    }
    assert run(*asked).out == ran.out


@LONG
def test_a_crawl_is_compared_with_phrases(run, tmp_path_factory: pytest.TempPathFactory) -> None:  # type: ignore[no-untyped-def]
    crawl = tmp_path_factory.mktemp("crawls") / "dengue"
    address = crawl_tree(crawl, 30)
    asked = ("lab", "compare", crawl, "--strategies", "best_first", "--budget", 20)
    ran = run(*asked, "--phrase", "dengue fever")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert "that the crawl, not a person, found relevant to 'dengue fever'" in lines[0]
    assert lines[1].split()[0] == "strategy"
    assert "95 %: one task: no interval, which needs at least 5 tasks" in lines
    assert "…" not in ran.out, "there are no intervals"
    assert lines[-1].endswith("; one task cannot show whether a difference is significant.")
    report = json.loads(Path("comparison/report.json").read_text("utf-8"))
    assert (report["recommendation"], report["notes"]) == (lines[-1], [lines[0]])
    ran = run(*asked, *(f"--phrase=dengue fever {word}" for word in "abcde"), "--seed", f"{address}/1")
    assert ran.code == 0, ran.err
    assert "no interval" not in ran.out
    assert "95 % interval" in ran.out.splitlines()[-1]


@LONG
def test_measures_of_the_papers_are_printed_on_request(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ("lab", "compare", sample, "--strategies", "best_first", "--budget", 20, "--examples", 0)
    assert "harvest ratio" not in run(*asked).out
    ran = run(*asked, "--judged", 5)
    assert ran.code == 0, ran.err
    assert "Measures of the papers after 20 fetches" in ran.out
    assert "average similarity" in ran.out


@LONG
def test_both_kinds_of_tasks_are_reported_separately(run, tmp_path_factory: pytest.TempPathFactory) -> None:  # type: ignore[no-untyped-def]
    web = tmp_path_factory.mktemp("webs") / "sample"
    write_small_web(web)
    for name in ("tasks.json", "tasks-phrase.json"):
        (web / name).write_text(json.dumps(json.loads((web / name).read_text("utf-8"))[:1]), "utf-8")
    asked = ("lab", "compare", web, "--strategies", "best_first", "--budget", 20, "--examples", 0)
    both = run(*asked, "--tasks", "both")
    assert both.code == 0, both.err
    assert [line for line in both.out.splitlines() if line.startswith("Tasks of")] == [
        "Tasks of tasks.json",
        "Tasks of tasks-phrase.json",
    ]
    assert Path("comparison/words/report.html").exists()
    assert Path("comparison/phrase/report.html").exists()
    alone = run(*asked, "--tasks", "phrase").out.replace("comparison/", "comparison/phrase/")
    assert both.out.endswith(alone)
    assert run(*asked, "--tasks", "tasks-phrase.json").out.replace("comparison/", "comparison/phrase/") == alone
    missing = run(*asked, "--tasks", "nix.json")
    assert (missing.code, missing.out) == (2, "")
    assert "nix.json: the tasks cannot be read" in missing.err


@LONG
def test_a_comparison_in_which_no_strategy_ran_is_an_error(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    task = json.loads((sample / "tasks.json").read_text("utf-8"))[0]
    Path("tasks.json").write_text(json.dumps([{**task, "words": "the of and"}]), "utf-8")
    ran = run("lab", "compare", sample, "--tasks", "tasks.json", "--strategies", "best_first", "--budget", "20")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("topicrawl: no strategy could be measured on any task: all words of")
    assert Path("comparison/report.html").exists()


def test_a_file_instead_of_the_output_directory_is_rejected(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    Path("mine").write_text("mine")
    ran = run("lab", "compare", sample, "--strategies", "best_first", "--out", "mine")
    assert ran.code == 2
    assert "mine is a file" in ran.err
    assert Path("mine").read_text() == "mine"
