"""`topicrawl train context-graph`: train a model on a recorded web and use it in a crawl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from topicrawl.sample_web.web import SampleWeb

WEB = SampleWeb(pages=400, hosts=20)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "web"
    WEB.write(path)
    return path


@pytest.fixture(scope="module")
def examples(web: Path) -> Path:
    rows = [line.split("\t") for line in (web / "labels.tsv").read_text("utf-8").splitlines()]
    good = [url for url, labels in rows if "dengue" in labels][:6]
    assert len(good) == 6
    file = web.parent / "examples.tsv"
    file.write_text("".join(f"{url}\trelevant\n" for url in good), "utf-8")
    return file


def train(run: Run, web: Path, examples: Path, *more: object) -> str:
    ran = run(
        "train", "context-graph", web, "--words", "dengue fever", "--examples", examples, "--out", "m.json", *more
    )
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    return ran.out + ran.err


def test_a_model_is_trained_and_used_by_a_crawl(run: Run, web: Path, examples: Path) -> None:
    said = train(run, web, examples, "--layers", 2, "--width", 20)
    model = json.loads(Path("m.json").read_text("utf-8"))
    assert "m.json: 6, " in said
    assert model["kind"] == "context-graph"
    assert len(model["model"]["logs"]) == 3
    assert "dengu" in model["model"]["terms"]
    ran = run(
        "lab",
        "run",
        web,
        "--words",
        "dengue fever",
        "--seed",
        WEB.page_url(0),
        "--pages",
        5,
        "--out",
        "v.jsonl",
        "--strategy",
        "context_graph:model=m.json",
    )
    assert ran.code == 0, ran.err


def test_the_same_examples_give_the_same_file_and_force_is_needed_to_overwrite_it(
    run: Run, web: Path, examples: Path
) -> None:
    train(run, web, examples)
    first = Path("m.json").read_bytes()
    refused = run("train", "context-graph", web, "--words", "dengue", "--examples", examples, "--out", "m.json")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--force" in refused.err
    summary = json.loads(train(run, web, examples, "--force", "--json").splitlines()[0])
    assert summary["layers"][0] == 6
    assert Path("m.json").read_bytes() == first


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "relevant examples"),
        (("--examples", "none.tsv"), "none.tsv"),
        (("--layers", "0"), "1 or more"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(run: Run, web: Path, more: tuple[str, ...], says: str) -> None:
    ran = run("train", "context-graph", web, "--words", "dengue fever", "--out", "m.json", *more)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert not Path("m.json").exists()
