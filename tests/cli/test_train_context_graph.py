"""`topicrawl train context-graph`: a model from a recorded web, used by a crawl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicrawl.lab.sample import SampleWeb

from .conftest import Run

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


def test_a_model_is_made_and_a_crawl_uses_it(run: Run, web: Path, examples: Path) -> None:
    said = train(run, web, examples, "--layers", 2, "--width", 20)
    model = json.loads(Path("m.json").read_text("utf-8"))
    assert "m.json: 6, " in said
    assert model["kind"] == "context-graph"
    assert len(model["model"]["logs"]) == 3
    assert "dengu" in model["model"]["terms"]
    ran = run(
        "lab", "run", web, "--words", "dengue fever", "--seed", WEB.url(0), "--pages", 5, "--out", "v.jsonl",
        "--strategy", "context_graph:model=m.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err


def test_the_same_examples_make_the_same_file_and_it_is_not_overwritten_by_mistake(
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
def test_a_mistake_is_one_line(run: Run, web: Path, more: tuple[str, ...], says: str) -> None:
    ran = run("train", "context-graph", web, "--words", "dengue fever", "--out", "m.json", *more)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert not Path("m.json").exists()
