"""`topicrawl train hmm` on a small recorded web."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.review_site import crawl_review_site
from tests.helpers.sample_web import write_small_web

from topicrawl.topic import Topic


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("web")
    write_small_web(directory / "web")
    return directory / "web"


@pytest.fixture(scope="module")
def labelled(web: Path) -> tuple[list[str], list[str]]:
    """Return the URLs of pages on the topic and of other pages."""
    rows = [line.split("\t") for line in (web / "labels.tsv").read_text("utf-8").splitlines()]
    on = [url for url, labels in rows if "dengue fever" in labels.split(";")]
    return on[:12], [url for url, labels in rows if "dengue fever" not in labels.split(";")][:12]


def examples(labelled: tuple[list[str], list[str]]) -> Path:
    lines = [
        f"{url}\t{label}" for label, urls in zip(("relevant", "irrelevant"), labelled, strict=True) for url in urls
    ]
    path = Path("examples.tsv")
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_a_model_is_trained_and_used_by_crawls(run, web: Path, labelled: tuple[list[str], list[str]]) -> None:  # type: ignore[no-untyped-def]
    words = ("--words", "dengue fever mosquito")
    complete = ("--examples", examples(labelled), "--strategy", "hmm:judged=no")
    ran = run("train", "hmm", web, *words, *complete, "--out", "m.json", "--json")
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    assert summary["out"] == "m.json"
    assert summary["relevant"] == len(labelled[0])
    file = json.loads(Path("m.json").read_text("utf-8"))
    assert file["kind"] == "hmm"
    assert file["made_from"]["web"] == str(web)
    assert file["made_from"]["examples"]["relevant"] == labelled[0]
    seed = json.loads((web / "tasks.json").read_text("utf-8"))[0]["seeds"][0]
    for strategy in ("hmm", "hybrid", "hybrid_anchor"):
        crawl = run("lab", "run", web, *words, "--seed", seed, "--strategy", f"{strategy}:model=m.json", "--pages", 20)
        assert crawl.code == 0, crawl.err
        assert crawl.out.count("\n") == 20


def test_pages_of_a_browsing_history_are_fetched_politely(run: Any) -> None:
    """The pages of a session are not in any recording: `--fetch` fetches them once, as robots.txt allows."""
    with live_site(make_chain_site(6)) as (site, requested):
        paths = ["/0", "/1", "/2", "/secret", "/3", "/missing"]
        lines = [f"s\t{site}{path}\t{'relevant' if path == '/3' else ''}" for path in paths]
        Path("clicks.tsv").write_text("\n".join(lines), "utf-8")
        command = ("train", "hmm", "browsed", "--fetch", "--words", "mosquitoes", "--sessions", "clicks.tsv", "--json")
        command += ("--allow-net", "127.0.0.0/8", "--delay", 0, "--contact", "me@example.org", "--out", "m.json")
        ran = run(*command)
        assert ran.code == 0, ran.err
        summary = json.loads(ran.out)
        assert (summary["fetched"], summary["pages"]) == (4, 4)
        assert "/secret" not in requested
        assert json.loads(run(*command, "--force").out)["fetched"] == 0
        assert [requested.count(path) for path in ("/0", "/3")] == [1, 1]


def test_a_crawl_directory_is_no_folder_for_fetched_pages(run: Any) -> None:
    Path("old").mkdir()
    Path("old/topicrawl.sqlite").touch()
    Path("clicks.tsv").write_text("s\thttp://a.example/\n", "utf-8")
    ran = run("train", "hmm", "old", "--fetch", "--words", "owl", "--sessions", "clicks.tsv", "--out", "m.json")
    assert ran.code == 2
    assert "old is a crawl or a file: with --fetch, give a folder" in ran.err


def test_labels_in_sessions_are_examples(run, web: Path, labelled: tuple[list[str], list[str]]) -> None:  # type: ignore[no-untyped-def]
    on, off = labelled
    lines = [f"s{n}\t{off[n]}\tirrelevant\ns{n}\t{on[n]}\trelevant" for n in range(6)]
    Path("clicks.tsv").write_text("\n".join(lines), "utf-8")
    Path("t.toml").write_text(Topic.of("dengue fever").to_toml(), "utf-8")
    ran = run("train", "hmm", web, "--topic", "t.toml", "--sessions", "clicks.tsv", "--out", "m.json")
    assert ran.code == 0, ran.err
    assert "6 paths over 12 pages, 6 relevant" in ran.err
    assert json.loads(Path("m.json").read_text("utf-8"))["made_from"]["examples"]["relevant"] == on[:6]


def test_a_file_is_overwritten_only_with_force(run, web: Path, labelled: tuple[list[str], list[str]]) -> None:  # type: ignore[no-untyped-def]
    asked = ("train", "hmm", web, "--words", "dengue", "--examples", examples(labelled), "--out", "m.json")
    Path("m.json").write_text("precious")
    ran = run(*asked)
    assert (ran.code, Path("m.json").read_text()) == (2, "precious")
    assert "--force" in ran.err
    assert run(*asked, "--force").code == 0
    first = Path("m.json").read_bytes()
    assert run(*asked, "--force").code == 0
    assert Path("m.json").read_bytes() == first


def test_the_topic_of_a_crawl_is_the_default(run: Any, tmp_path: Path) -> None:
    address = crawl_review_site(tmp_path / "crawl")
    clicks = [f"s\t{address}/\n", f"s\t{address}/ponds/1\trelevant\n"]
    Path("clicks.tsv").write_text("".join(clicks), "utf-8")
    ran = run("train", "hmm", tmp_path / "crawl", "--sessions", "clicks.tsv", "--out", "m.json")
    assert ran.code == 0, ran.err
    words = json.loads(Path("m.json").read_text("utf-8"))["made_from"]["words"]
    assert words == dict(Topic.of("dengue fever mosquito larva").words)


MISTAKES = [
    (("--out", "m.json"), 2, "no topic given"),
    (("--out", "m.json", "--words", "a", "--topic", "t.toml"), 2, "not both"),
    (("--words", "dengue"), 2, "--out"),
    (("--words", "dengue", "--out", "no/where/m.json"), 2, "no directory no/where"),
    (("--words", "dengue", "--out", "m.json"), 2, "browsing sessions or examples, but there are none"),
    (("--words", "dengue", "--out", "m.json", "--sessions", "nowhere"), 2, "nowhere: cannot be read"),
    (("--words", "dengue", "--out", "m.json", "--examples", "nowhere"), 2, "nowhere: cannot be read"),
    (("--words", "dengue", "--out", "m.json", "--strategy", "best_first"), 2, "no hidden Markov model"),
    (("--words", "dengue", "--out", "m.json", "--strategy", "hmm:model=x"), 2, "uses an existing model"),
    (("--words", "dengue", "--out", "m.json", "--strategy", "hmm:levels=1"), 2, "levels is 1"),
]


@pytest.mark.parametrize(("options", "code", "words"), MISTAKES, ids=lambda value: str(value)[:60])
def test_invalid_arguments_are_reported_in_one_line_and_leave_no_file(
    run, web: Path, options: tuple[str, ...], code: int, words: str
) -> None:  # type: ignore[no-untyped-def]
    ran = run("train", "hmm", web, *options)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().iterdir())


def test_a_missing_web_is_rejected(run) -> None:  # type: ignore[no-untyped-def]
    Path("e.tsv").write_text("http://a/\trelevant\n")
    ran = run("train", "hmm", "nowhere", "--words", "dengue", "--examples", "e.tsv", "--out", "m.json")
    assert ran.code == 3
    assert "nowhere" in ran.err
    assert run("train", "hnm").code == 2
    assert "hmm" in run("train", "--help").out
