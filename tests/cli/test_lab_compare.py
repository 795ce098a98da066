"""`topicrawl lab compare` from the command line: a table, a report, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.longer import LONG

from topicrawl.cli.lab_compare import Options
from topicrawl.lab.sample import SampleWeb

MISTAKES = [
    (["nowhere"], 3, "nowhere"),
    (["."], 3, ".warc"),
    ([".", "--strategies", "best_frist"], 2, "did you mean 'best_first'"),
    ([".", "--strategies", " , "], 2, "which strategies"),
    ([".", "--budget", "1"], 2, "--budget"),
    ([".", "--jobs", "0"], 2, "--jobs"),
    ([".", "--examples", "-1"], 2, "--examples"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), MISTAKES, ids=lambda value: str(value))
def test_a_mistake_is_one_line(run, arguments: list[str], code: int, words: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "compare", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().iterdir()), "a refused command leaves nothing behind"


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
    asked = Options((), None, text, 10, 1, 0, Path("x"), None, False)
    assert asked.named() == names


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "sample"
    SampleWeb(pages=400, hosts=20).write(folder)
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))[:2]
    tasks[1]["seeds"] = ["http://elsewhere.example/"]
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder


@LONG
def test_a_comparison_prints_its_table_and_names_what_is_missing(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ("lab", "compare", sample, "--strategies", "best_first,nb4", "--budget", 20, "--examples", 0)
    ran = run(*asked)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split()[:4] == ["strategy", "recall@5", "recall@10", "recall@20"]
    assert [line.split()[0] for line in lines[1:4]] == ["oracle", "best_first", "breadth_first"]
    assert "elsewhere.example/ is not a page of the recorded web" in ran.err
    assert "nb4 failed on 1 tasks: " in ran.err
    assert {path.name for path in Path("comparison").iterdir()} == {
        "report.html", "report.json", "results.jsonl", "runs.csv", "standings.csv",
    }  # fmt: skip
    assert run(*asked).out == ran.out


def test_a_comparison_in_which_no_strategy_ran_is_an_error(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    task = json.loads((sample / "tasks.json").read_text("utf-8"))[0]
    Path("tasks.json").write_text(json.dumps([{**task, "words": "the of and"}]), "utf-8")
    ran = run("lab", "compare", sample, "--tasks", "tasks.json", "--strategies", "best_first", "--budget", "20")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("topicrawl: no strategy could be measured on any task: the words of")
    assert Path("comparison/report.html").exists()


def test_a_file_in_the_way_is_refused(run, sample: Path) -> None:  # type: ignore[no-untyped-def]
    Path("mine").write_text("mine")
    ran = run("lab", "compare", sample, "--strategies", "best_first", "--out", "mine")
    assert ran.code == 2
    assert "mine is a file" in ran.err
    assert Path("mine").read_text() == "mine"
