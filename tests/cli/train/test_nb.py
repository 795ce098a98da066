"""`topicrawl train nb`: write a training set and use it in a crawl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicrawl.sample_web.recording import build_response, write_pages

ON, OFF = "dengue fever mosquito", "steam locomotive railway"
WORDS = ("--words", "dengue fever")


def html(topic: str, links: list[str]) -> bytes:
    anchors = " ".join(f'<p>about {topic} <a href="{link}">{topic}</a> and {topic}</p>' for link in links)
    return f"<html><title>{topic}</title><body><p>{topic} is here. {topic} is there.</p>{anchors}</body>".encode()


@pytest.fixture
def web(run: object, tmp_path: Path) -> Path:
    """Record ten pages on dengue and ten on railways, each with links to the next two on its topic."""
    answers = []
    for kind, text in (("dengue", ON), ("railway", OFF)):
        for number in range(10):
            links = [f"/{kind}/{(number + step) % 10}" for step in (1, 2)] + ["/dengue/0", "/railway/0"]
            url = f"http://a.example/{kind}/{number}"
            answers.append(build_response(url, 200, {"content-type": "text/html"}, html(text, links)))
    write_pages(tmp_path / "web", answers, description="twenty pages")
    rows = [f"http://a.example/dengue/{n}\trelevant\nhttp://a.example/railway/{n}\tirrelevant\n" for n in range(3, 7)]
    (tmp_path / "examples.tsv").write_text("".join(rows) + "http://a.example/nowhere\tirrelevant\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("strategy", ["nb4", "hati"])
def test_a_training_set_is_written_and_used(run, web: Path, strategy: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("train", "nb", "web", *WORDS, "--examples", "examples.tsv", "--strategy", strategy, "--out", "t.tsv")
    assert ran.code == 0, ran.err
    assert "4 relevant and 4 irrelevant rows, 1 examples skipped because no page links to them" in ran.err
    text = (web / "t.tsv").read_text("utf-8")
    assert "keyword\tdengue\t1\n" in text
    assert text.count("\trelevant\texample\n") == text.count("\tirrelevant\texample\n") == 4
    seed = ("--seed", "http://a.example/dengue/0")
    ran = run("lab", "run", "web", *WORDS, *seed, "--strategy", f"{strategy}:training=t.tsv", "--out", "visits.jsonl")
    assert ran.code == 0, ran.err
    # NB4 gives up paths of irrelevant pages, hati does not.
    assert ("15 fetches, 10 relevant" if strategy == "nb4" else "20 fetches, 10 relevant") in ran.err


def test_the_same_examples_give_the_same_file(run, web: Path) -> None:  # type: ignore[no-untyped-def]
    made = ("train", "nb", "web", *WORDS, "--examples", "examples.tsv", "--out")
    assert run(*made, "one.tsv").code == run(*made, "two.tsv").code == 0
    assert (web / "one.tsv").read_bytes() == (web / "two.tsv").read_bytes()


def test_a_summary_is_printed_as_json(run, web: Path) -> None:  # type: ignore[no-untyped-def]
    ran = run("train", "nb", "web", *WORDS, "--examples", "examples.tsv", "--out", "t.tsv", "--json")
    summary = json.loads(ran.out)
    assert {name: summary[name] for name in ("relevant", "irrelevant", "left_out")} == {
        "relevant": 4,
        "irrelevant": 4,
        "left_out": 1,
    }


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "learns from example pages"),
        (("--examples", "one.tsv"), "there are no irrelevant examples"),
        (("--examples", "examples.tsv", "--strategy", "best_first"), "does not use a training set"),
        (("--examples", "examples.tsv", "--strategy", "nb4:training=x.tsv"), "omit the parameter `training`"),
        (("--examples", "examples.tsv", "--topic", "t.toml"), "not both"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(run, web: Path, more: tuple[str, ...], words: str) -> None:  # type: ignore[no-untyped-def]
    (web / "one.tsv").write_text("http://a.example/dengue/1\trelevant\n", "utf-8")
    ran = run("train", "nb", "web", *WORDS, *more, "--out", "t.tsv")
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert not (web / "t.tsv").exists()


def test_an_existing_file_is_not_overwritten(run, web: Path) -> None:  # type: ignore[no-untyped-def]
    (web / "t.tsv").write_text("mine", "utf-8")
    ran = run("train", "nb", "web", *WORDS, "--examples", "examples.tsv", "--out", "t.tsv")
    assert (ran.code, (web / "t.tsv").read_text("utf-8")) == (2, "mine")
