"""`topicrawl topic build` with words, files, pages of the live web and recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers import documents
from tests.helpers.live_site import live_site
from tests.helpers.sample_web import write_small_web

from topicrawl.cli import seed_search
from topicrawl.topic import load_topic

PAGE = "<title>Dengue</title><p>Dengue fever is spread by mosquitoes. Dengue fever is a fever.</p>"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(directory)
    return directory


def labelled(web: Path, topic: str) -> tuple[list[str], list[str]]:
    """Return the URLs of the pages on a topic and of the other pages."""
    rows = [line.split("\t") for line in (web / "labels.tsv").read_text("utf-8").splitlines()]
    on = [url for url, labels in rows if topic in labels.split(";")]
    return on, [url for url, labels in rows if topic not in labels.split(";")]


def test_words_make_a_topic(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("topic", "build", "Dengue fever")
    assert (ran.code, ran.out) == (0, "")
    assert "topic.toml: 2 words" in ran.err
    assert dict(load_topic(Path("topic.toml")).words) == {"dengue": 1.0, "fever": 1.0}


def test_files_make_a_topic(run) -> None:  # type: ignore[no-untyped-def]
    Path("a.html").write_text(PAGE)
    Path("b").write_text("Notes\n\nDengue fever and mosquitoes, dengue fever.")
    ran = run("topic", "build", "--page", "a.html", "--page", "b", "--out", "t.toml", "--k", 3)
    assert ran.code == 0
    topic = load_topic(Path("t.toml"))
    assert list(topic.words) == ["dengue", "fever", "mosquitoes"]
    assert "dengue fever" in topic.filter.pairs
    assert topic.relevant == ()


def test_documents_and_archives_make_a_topic(run) -> None:  # type: ignore[no-untyped-def]
    """The core of Kluev 2000 contains PostScript, PDF, gz and zip files."""
    lines = ["Dengue fever is spread by the mosquito.", "The dengue mosquito breeds in water.", "Dengue fever returns."]
    members = {
        f"{city}.html": f"<p>Dengue fever in {city}. The mosquito bites.</p>".encode() for city in ("Rio", "Lima")
    }
    Path("core.pdf").write_bytes(documents.pdf([lines]))
    page = b"<p>Dengue fever and the aedes mosquito. Dengue fever again.</p>"
    Path("core.html.gz").write_bytes(documents.gzipped(page))
    Path("core.zip").write_bytes(documents.zipped(members))
    pages = [part for name in ("core.pdf", "core.html.gz", "core.zip") for part in ("--page", name)]
    ran = run("topic", "build", "dengue", *pages, "--out", "t.toml", "--candidates", "candidates.tsv")
    assert ran.code == 0, ran.err
    assert "built from 4 example pages" in ran.err
    header, *rows = [line.split("\t") for line in Path("candidates.tsv").read_text("utf-8").splitlines()]
    assert header == ["class", "element", "pages", "occurrences", "irrelevant_pages", "chosen"]
    counts = {row[1].lower(): row for row in rows}
    assert (counts["dengue"][2], counts["dengue"][4]) == ("4", "0")
    assert int(counts["dengue"][3]) >= 7
    assert counts["dengue fever"][0] == "pairs"
    assert {"yes", "no"} >= {row[5] for row in rows}


def test_pages_are_fetched_politely(run) -> None:  # type: ignore[no-untyped-def]
    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /secret\n"
        return 200, {}, PAGE.encode()

    with live_site(answer) as (site, asked):
        options = ("--allow-net", "127.0.0.0/8", "--delay", 0)
        ran = run("topic", "build", "--page", f"{site}/open", "--page", f"{site}/secret", *options)
    assert ran.code == 0
    assert asked == ["/robots.txt", "/open"]
    assert f"skipped: {site}/secret: robots" in ran.err
    assert load_topic(Path("topic.toml")).relevant == (f"{site}/open",)


def test_examples_are_read_from_a_recorded_web(run, web: Path) -> None:  # type: ignore[no-untyped-def]
    on, off = labelled(web, "dengue fever")
    lines = [*(f"{url}\trelevant" for url in on[:12]), *(f"{url}\tirrelevant" for url in off[:12])]
    Path("e.tsv").write_text("\n".join([*lines, "http://nowhere.example/\trelevant"]))
    ran = run("topic", "build", "dengue fever", "--examples", "e.tsv", "--from", web, "--json")
    assert ran.code == 0
    assert "skipped: http://nowhere.example/: not_recorded" in ran.err
    topic, printed = load_topic(Path("topic.toml")), json.loads(ran.out)
    assert printed["words"] == dict(topic.words)
    assert printed["thresholds"] == topic.thresholds.get_defined()
    assert len(topic.relevant) == 12
    assert topic.filter.terms
    assert 0 < topic.threshold < 1
    crawled = run(
        "lab", "run", web, "--topic", "topic.toml", "--seed", on[0], "--pages", 20, "--strategy", "multi_metric"
    )
    assert crawled.code == 0
    assert len(crawled.out.splitlines()) == 20


def test_the_topic_goes_to_standard_output_too(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("topic", "build", "dengue fever", "--out", "-")
    assert "[words]\ndengue = 1.0\nfever = 1.0\n" in ran.out
    assert not list(Path().iterdir())


def test_nothing_is_overwritten_without_force(run) -> None:  # type: ignore[no-untyped-def]
    Path("topic.toml").write_text("three years of work")
    ran = run("topic", "build", "dengue fever")
    assert ran.code == 2
    assert "--force" in ran.err
    assert Path("topic.toml").read_text() == "three years of work"
    assert run("topic", "build", "dengue fever", "--force").code == 0
    assert load_topic(Path("topic.toml")).name == "dengue fever"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "no topic given"),
        (["  "], 2, "no topic given"),
        (["?!"], 2, "no words"),
        (["--page", "nowhere.html"], 2, "nowhere.html: cannot be read"),
        (["--page", "."], 2, "cannot be read"),
        (["--page", "http://"], 2, "not a valid http or https URL"),
        (["--examples", "nowhere.tsv"], 2, "nowhere.tsv"),
        (["dengue", "--from", "."], 2, "--examples or --page"),
        (["dengue", "--language", "xx"], 2, "unknown language 'xx'"),
        (["dengue", "--weighting", "idf"], 2, "tf_idf"),
        (["dengue", "--k", "0"], 2, "--k"),
        (["dengue", "--out", "no/such/t.toml"], 2, "no directory"),
        (["--page", "http://127.0.0.1:9/", "--contact", "x"], 2, "none of the 1 pages"),
        (["--page", "http://a.example/", "--from", "nowhere"], 3, "nowhere"),
        (["--page", "http://a.example/", "--allow-net", "all"], 2, "all"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(run, arguments: list[str], code: int, sentence: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("topic", "build", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert sentence in ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("body", [b"", b"<p></p>", b"%PDF-1.4 \x00\x01", b"\x00\xff\xfe\x00"])
def test_a_file_without_text_is_named(run, body: bytes) -> None:  # type: ignore[no-untyped-def]
    Path("a.html").write_bytes(body)
    ran = run("topic", "build", "--page", "a.html")
    assert ran.code == 2
    assert "a.html: contains no text" in ran.err


def test_words_and_topic_exclude_each_other_in_the_lab(run, web: Path) -> None:  # type: ignore[no-untyped-def]
    run("topic", "build", "dengue fever")
    seed = labelled(web, "dengue fever")[0][0]
    for given, sentence in ((["--words", "x", "--topic", "topic.toml"], "not both"), ([], "no topic given")):
        ran = run("lab", "run", web, *given, "--seed", seed)
        assert ran.code == 2
        assert sentence in ran.err


def test_results_of_search_engines_make_a_topic(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Hati, Kumar and Mishra, section 4.2: the topic table is built from the first results of the topic's name."""
    monkeypatch.setattr(seed_search, "_PAUSE", 0.0)

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/robots.txt":
            return 404, {}, b""
        return 200, {}, (PAGE if path.startswith("/fever") else "<p>Steam trains on old rails.</p>").encode()

    with live_site(answer) as (site, asked):
        found = {
            "dengue fever": {"google": ("/fever/1", "/fever/2"), "msn": ("/fever/2", "/fever/1", "/shop")},
            "trains": {"google": ("/rail",), "msn": ("/rail", "/fever/1")},
        }
        rows = [
            {"query": query, "engine": engine, "hits": [{"url": site + path} for path in paths]}
            for query, engines in found.items()
            for engine, paths in engines.items()
        ]
        Path("found.json").write_text(json.dumps({"answers": rows}))
        options = ("--engine", "recorded:found.json", "--allow-net", "127.0.0.0/8", "--delay", 0)
        ran = run("topic", "build", "dengue fever", *options, "--negative", "trains")
    assert ran.code == 0, ran.err
    assert sorted(asked) == ["/fever/1", "/fever/2", "/rail", "/robots.txt"]
    topic = load_topic(Path("topic.toml"))
    assert (sorted(topic.relevant), topic.irrelevant) == ([f"{site}/fever/1", f"{site}/fever/2"], (f"{site}/rail",))
    assert "mosquitoes" in topic.words
    assert run("topic", "build", "--engine", "recorded:found.json", "--page", "a.html").code == 2
    assert run("topic", "build", "owls", "--negative", "trains").code == 2
