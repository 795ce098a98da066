"""`topicrawl topic try` shows how a topic is understood and how it judges files, folders and recorded webs."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path

import pytest
from click.testing import CliRunner

from topicrawl.cli.topic import topic_command
from topicrawl.collection.directory import Collection
from topicrawl.models import Page
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

OWLS = "<title>Owls</title><p>Owls hunt at night. An owl is a bird of prey.</p>"
TRAINS = "<title>Trains</title><p>The locomotive stops at the station.</p>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "owls.html").write_text(OWLS)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "trains.html").write_text(TRAINS)
    (tmp_path / "empty.html").write_text("")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(topic_command, ["try", *arguments])
    return result.exit_code, result.output if result.exception is None else f"{result.output}{result.exception}"


def test_pages_of_a_folder_are_listed_with_reasons(folder: Path) -> None:
    code, output = run("owls", str(folder))
    assert code == 0
    assert 'pages about "owl"' in output
    assert "1 of 2 pages are relevant" in output
    lines = output.splitlines()
    best = next(number for number, line in enumerate(lines) if "owls.html" in line)
    assert "✓" in lines[best]
    assert "phrases +" in lines[best + 1]


def test_json_has_all_pages_and_parts_that_add_up(folder: Path) -> None:
    code, output = run("owls", str(folder), "--json")
    assert code == 0
    report = json.loads(output)
    assert [page["name"] for page in report["pages"]] == ["owls.html", str(Path("deep") / "trains.html")]
    assert [page["relevant"] for page in report["pages"]] == [True, False]
    for page in report["pages"]:
        assert 1 / (1 + exp(-sum(page["parts"].values()))) == pytest.approx(page["relevance"], abs=0.01)
    assert "bird" in report["topic"]["similar_terms"]


def test_a_topic_file_with_a_threshold(folder: Path) -> None:
    topic = folder / "topic.toml"
    topic.write_text('name = "owls"\nthreshold = 0.0001\n[words]\nowls = 1.0\n')
    code, output = run(str(topic), str(folder / "deep" / "trains.html"))
    assert code == 0
    assert "1 of 1 pages are relevant (relevance ≥ 0.0001)" in output


def save_learned_state(directory: Path, judge: TopicJudge, topic: Topic) -> None:
    with Collection(directory, topic, {"identity": {}}) as collection:
        collection.store.set_facts({"learned": {"step": 4, "judge": judge.get_state()}})


def test_show_lists_the_words_that_a_crawl_has_learned_and_their_sources(tmp_path: Path) -> None:
    topic = Topic.of("owls")
    judge = TopicJudge(Vsm(topic))
    text = "owls and owl pellets: an owl swallows mice whole and casts pellets"
    for number in range(4):
        judge.observe(Page(f"http://a.example/{number}", title="Owls", words=tuple(tokenise(text)), language="en"))
    save_learned_state(tmp_path / "owls", judge, topic)
    result = CliRunner().invoke(topic_command, ["show", str(tmp_path / "owls")])
    assert result.exit_code == 0
    assert "words learned from the best pages: " in result.output
    assert "pellet" in result.output
    assert "learned from http://a.example/3" in result.output
    report = json.loads(CliRunner().invoke(topic_command, ["show", str(tmp_path / "owls"), "--json"]).output)
    assert "pellet" in report["expansion"]
    assert len(report["sources"]) == 4


@pytest.mark.parametrize("name", ["missing.html", "empty.html"])
def test_unreadable_pages_are_named(folder: Path, name: str) -> None:
    code, output = run("owls", str(folder / name))
    assert code
    assert name in output
