"""`topicrawl lab evaluate`, `lab sample` and `lab presets`: results computed by hand, and error messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from topicrawl import topic as topics
from topicrawl.collection.directory import Collection
from topicrawl.lab.presets import PRESETS
from topicrawl.models import Failure, Link, Page, Priority, Response, Visit
from topicrawl.sample_web.recording import build_response, write_pages
from topicrawl.settings import load_settings_file
from topicrawl.topic import Topic

Run = Callable[..., Any]

# URL → relevance score of the crawl and text; the threshold of the topic is .5.
PAGES = {
    "http://a.example/owl": (0.8, "owl owl feather feather"),
    "http://a.example/train": (0.0, "locomotive steam"),
    "http://b.example/owls": (0.7, "owl feather"),
    "http://b.example/mixed": (0.0, "owl locomotive steam steam steam"),
}


def response(url: str, text: str) -> Response:
    return Response(url, url, 200, {"content-type": "text/html"}, f"<p>{text}</p>".encode(), 1000.0)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    with Collection(tmp_path / "crawl", Topic.of("owl feather"), {"identity": "x"}) as collection:
        for step, (url, (relevance, text)) in enumerate(PAGES.items(), 1):
            page = Page(url, words=tuple(text.split()))
            visit = Visit(step, Link(url), Priority(1.0), url, page, relevance, None, 1000.0, 200)
            collection.store_visits([(visit, response(url, text), None)])
        gone = Visit(5, Link("http://c.example/"), Priority(1.0), "http://c.example/", failure=Failure.NOT_FOUND)
        collection.store_visits([(gone, Response(gone.url, gone.url, 404, failure=Failure.NOT_FOUND), None)])
    return tmp_path / "crawl"


def judged(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "judged.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_a_run_on_a_recorded_web_is_measured_like_a_crawl(run: Run, tmp_path: Path) -> None:
    answers = [
        build_response(url, 200, {"content-type": "text/html"}, f"<p>{text}</p>".encode())
        for url, (_, text) in PAGES.items()
    ]
    (tmp_path / "web").mkdir()
    write_pages(tmp_path / "web", answers, description="owls")
    visits = [{"url": url, "relevance": relevance, "failure": None} for url, (relevance, _) in PAGES.items()]
    visits.append({"url": "http://c.example/", "relevance": None, "failure": "not_found"})
    file = tmp_path / "visits.jsonl"
    file.write_text("".join(json.dumps(visit) + "\n" for visit in visits), "utf-8")
    judgements = judged(tmp_path, "http://a.example/owl\trelevant")
    ran = run("lab", "evaluate", file, "--from", tmp_path / "web", "--judged", judgements, "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["pages"], found["relevant"], found["relevant_unjudged"]) == (4, 2, 1)
    assert (found["harvest_ratio"], found["precision_rate"]) == (0.5, 0.5)
    text = run("lab", "evaluate", file, "--from", tmp_path / "web", "--judged", judgements).out
    assert "precision rate: 0.500 (2 pages that the crawl judges relevant)" in text
    refused = run("lab", "evaluate", file, "--judged", judgements)
    assert (refused.code, "--from" in refused.err) == (2, True)
    file.write_text("{}\n", "utf-8")
    assert "visits.jsonl:1" in run("lab", "evaluate", file, "--from", tmp_path / "web", "--judged", judgements).err


def test_pages_are_scored_by_their_similarity_to_a_judged_page(run: Run, crawl: Path, tmp_path: Path) -> None:
    file = judged(tmp_path, "http://a.example/owl\trelevant", "http://a.example/train\tirrelevant")
    ran = run("lab", "evaluate", crawl, "--judged", file, "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["pages"], found["judged_relevant"], found["relevant"]) == (0, 4, 1, 2)
    assert found["harvest_ratio"] == 0.5
    # The page itself 1, no common words 0, the same direction 1, and a small value for some common words.
    assert found["curve"]["relevant"] == [1, 1, 2, 2]
    assert found["curve"]["average_similarity"][:3] == pytest.approx([1.0, 0.5, 2 / 3], abs=1e-6)
    assert 0 < found["average_similarity"] * 4 - 2 < 0.75


def test_recall_of_the_fetched_pages_has_a_confidence_interval(run: Run, crawl: Path, tmp_path: Path) -> None:
    file = judged(
        tmp_path,
        "http://a.example/owl\trelevant",
        "http://b.example/owls\trelevant",
        "http://a.example/train\tirrelevant",
        "http://b.example/mixed\trelevant",
    )
    found = json.loads(run("lab", "evaluate", crawl, "--judged", file, "--json").out)
    # All pages are judged, so the interval is a point: two of three relevant pages were accepted.
    assert found["recall"] == {"value": 0.6667, "low": 0.6667, "high": 0.6667}
    assert found["rejected"] == {"pages": 2, "judged": 2, "relevant": 1}
    assert found["relevant_rejected_by_host"] == 1
    some = judged(tmp_path, "http://a.example/owl\trelevant", "http://a.example/train\tirrelevant")
    wide = json.loads(run("lab", "evaluate", crawl, "--judged", some, "--json").out)["recall"]
    assert wide["low"] < 0.9 < wide["high"]


def test_the_table_has_counts_and_ratios(run: Run, crawl: Path, tmp_path: Path) -> None:
    file = judged(tmp_path, "http://a.example/owl\trelevant")
    out = run("lab", "evaluate", crawl, "--judged", file).out
    assert "4 pages compared with 1 pages judged relevant; a page with a similarity above 0.75 is relevant" in out
    assert "      4         2          0.500" in out
    assert "recall: not estimated, because only 1 of 2 accepted and 0 of 2 rejected pages are judged" in out


def test_judged_pages_may_come_from_a_recorded_web_and_missing_pages_are_reported(
    run: Run, crawl: Path, tmp_path: Path
) -> None:
    web = tmp_path / "web"
    write_pages(
        web,
        [build_response("http://w.example/", 200, {"content-type": "text/html"}, b"<p>owl feather")],
        description="x",
    )
    file = judged(tmp_path, "http://w.example/\trelevant", "http://nowhere.example/\trelevant")
    ran = run("lab", "evaluate", crawl, "--judged", file, "--from", web, "--json")
    assert json.loads(ran.out)["missing"] == ["http://nowhere.example/"]
    assert json.loads(ran.out)["relevant"] == 2
    assert "http://nowhere.example/" in ran.err
    without = run("lab", "evaluate", crawl, "--judged", file)
    assert (without.code, without.out) == (2, "")
    assert "none of the pages judged relevant can be read" in without.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the file has no examples"),
        (["http://a.example/owl\tirrelevant"], "no page is judged relevant"),
        (["http://a.example/owl\t"], "expected a URL, a tab and 'relevant' or 'irrelevant'"),
        (["http://a.example/owl\trelevant", "http://a.example/owl\tirrelevant"], "judged relevant and irrelevant"),
    ],
)
def test_invalid_judgements_are_reported_in_one_line(
    run: Run, crawl: Path, tmp_path: Path, lines: list[str], said: str
) -> None:
    ran = run("lab", "evaluate", crawl, "--judged", judged(tmp_path, *lines))
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_directory_without_a_crawl_is_rejected(run: Run, tmp_path: Path) -> None:
    file = judged(tmp_path, "http://a.example/owl\trelevant")
    ran = run("lab", "evaluate", tmp_path, "--judged", file)
    assert ran.code == 3
    assert "holds no crawl" in ran.err


def test_a_sample_is_reproducible_and_overwrites_no_file(run: Run, crawl: Path, tmp_path: Path) -> None:
    first = run("lab", "sample", crawl, "--rejected", 1, "--accepted", 1)
    assert first == run("lab", "sample", crawl, "--rejected", 1, "--accepted", 1)
    urls = [line.split("\t")[0] for line in first.out.splitlines()]
    assert sorted(PAGES[url][0] >= 0.5 for url in urls) == [False, True]
    out = tmp_path / "to-judge.tsv"
    assert run("lab", "sample", crawl, "--out", out).code == 0
    assert len(out.read_text("utf-8").splitlines()) == 4
    again = run("lab", "sample", crawl, "--out", out)
    assert again.code == 2
    assert "exists" in again.err
    # The file has no judgements yet, so the message contains the line number.
    assert "to-judge.tsv:1" in run("lab", "evaluate", crawl, "--judged", out).err


def test_an_empty_sample_is_an_error(run: Run, crawl: Path) -> None:
    ran = run("lab", "sample", crawl, "--rejected", 0, "--accepted", 0)
    assert ran.code == 2
    assert "nothing to draw" in ran.err


def test_the_presets_are_the_six_topics_of_the_thesis(run: Run) -> None:
    out = run("lab", "presets").out
    names = ["linux", "asthma", "robotics", "dengue fever", "java programming", "first aid"]
    assert [item.name for item in PRESETS] == names
    assert all(line.startswith(name) for line, name in zip(out.splitlines(), names, strict=True))


def test_a_preset_is_written_as_a_topic_that_reads_back(run: Run, tmp_path: Path) -> None:
    assert run("lab", "presets", "Java-Programming", "--out", tmp_path / "topic.toml").code == 0
    assert dict(topics.load_topic(tmp_path / "topic.toml").words) == {"java": 1.0, "programming": 1.0}
    assert "Batsakis 2007" in (tmp_path / "topic.toml").read_text("utf-8")
    assert "[words]\nfirst" in run("lab", "presets", "first aid").out.replace('"', "")


def test_the_limits_of_the_thesis_are_a_settings_file(run: Run, tmp_path: Path) -> None:
    """Batsakis 2007, sections 3.1 and 4.3: 1,000 pages, text/html, at most 100 KB."""
    assert run("lab", "presets", "--limits", tmp_path / "thesis.toml").code == 0
    settings = load_settings_file(tmp_path / "thesis.toml")
    assert settings == {"pages": 1000, "max_bytes": 102_400, "documents": False, "sitemaps": False}
    ran = run("lab", "presets", "asthma", "--out", tmp_path / "topic.toml", "--limits", tmp_path / "thesis.toml")
    assert ran.code == 2
    assert "thesis.toml" in ran.err


def test_an_unknown_preset_gives_the_nearest_name(run: Run) -> None:
    ran = run("lab", "presets", "denge fever")
    assert ran.code == 2
    assert "did you mean 'dengue fever'?" in ran.err
    assert run("lab", "presets", "--out", "x.toml").code == 2
