"""The user trial on manuals: serving, target lists, measures, and a trial on a small web. Downloads nothing."""

from __future__ import annotations

import argparse
import doctest
import gzip
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from tests.helpers.markers import LONG

import trial
import trial_manuals
import trial_score
from trial_manuals import Manual, ManualSource, prepare_manuals
from trial_score import TOPICS, Fetch, TrialTopic, compute_score, find_unused_patterns, load_patterns, select_targets
from trial_server import ManualServer

MAPS = "<p>A geographic information system stores maps. Geographic information systems answer spatial questions.</p>"
MUSIC = "<p>Notes on five lines, with clefs, bars and accidentals, are engraved on paper by a program.</p>"


def write_manual(root: Path, name: str, pages: dict[str, str], *, description: str = "a manual") -> Manual:
    for path, body in pages.items():
        file = root / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        content = f"<html><head><title>{name} {path}</title></head><body>{body}</body></html>".encode()
        file.write_bytes(gzip.compress(content) if path.endswith(".gz") else content)
    return Manual(name, f"The {name} manual", description, root / name)


@pytest.fixture
def maps(tmp_path: Path) -> Manual:
    pages = {
        "index.html": '<a href="a.html">a</a> <a href="b.html#part">b</a> <a href="http://[bad/">bad</a>',
        "a.html": f"{MAPS} <a href='deep/'>deep</a>",
        "b.html.gz": f"{MAPS} maps as files",
        "deep/index.html": f"{MAPS} deep maps",
        "alone.html": "no page links here",
    }
    return write_manual(tmp_path / "web", "maps", pages, description='maps & "charts"')


@pytest.fixture
def server(maps: Manual, tmp_path: Path) -> Iterator[ManualServer]:
    music = write_manual(tmp_path / "web", "music", {"index.html": MUSIC})
    with ManualServer([music, maps], port=0) as running:
        yield running


def get(server: ManualServer, host: str, path: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": f"{host}:{server.port}"})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_the_landing_page_links_to_every_manual_with_its_description(server: ManualServer) -> None:
    response, body = get(server, "portal.manuals.test", "/")
    assert response.status == 200
    assert body.decode().count("<li>") == 2
    assert (
        f'<a href="http://maps.manuals.test:{server.port}/">The maps manual</a>: maps &amp; &quot;charts&quot;'
    ) in body.decode()


@pytest.mark.parametrize("path", ["/b.html", "/b.html.gz", "/b.html?query"])
def test_a_compressed_page_is_served_as_html(server: ManualServer, path: str) -> None:
    response, body = get(server, "maps.manuals.test", path)
    assert (response.status, response.headers["Content-Type"]) == (200, "text/html")
    assert b"maps as files" in body
    assert "Content-Encoding" not in response.headers


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("maps.manuals.test", "/", 200),
        ("maps.manuals.test", "/deep/", 200),
        ("maps.manuals.test", "/deep", 301),
        ("maps.manuals.test", "/robots.txt", 404),
        ("maps.manuals.test", "/../music/index.html", 404),
        ("maps.manuals.test", "/%2e%2e/music/index.html", 404),
        ("maps.manuals.test", "/outside.html", 404),
        ("other.manuals.test", "/", 404),
        ("portal.manuals.test", "/index.html", 404),
    ],
)
def test_hosts_serve_only_their_own_files(
    server: ManualServer, maps: Manual, host: str, path: str, status: int
) -> None:
    (maps.root / "outside.html").symlink_to(maps.root.parent / "music" / "index.html")
    response, _ = get(server, host, path)
    assert response.status == status
    assert response.headers["Location"] == (f"{path}/" if status == 301 else None)


def test_only_pages_that_links_reach_are_reachable(maps: Manual) -> None:
    assert maps.list_pages() - maps.list_reachable_pages() == {"alone.html"}


def test_all_urls_of_a_page_have_one_name(server: ManualServer) -> None:
    urls = [server.make_url("maps", path) for path in ("deep/", "deep/index.html", "deep/index.html.gz")]
    assert {server.get_page_name(f"{url}?a#b") for url in urls} == {"maps/deep/index.html"}
    assert server.list_page_urls("maps/deep/index.html") == urls[:2]
    assert [server.get_page_name(url) for url in server.list_page_urls("maps/a b.html")] == ["maps/a b.html"]


def test_a_package_that_cannot_be_downloaded_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [
        ManualSource("maps", "Maps", "maps-doc", "doc"),
        ManualSource("music", "Music", "music-doc", "doc"),
        ManualSource("empty", "Empty", "empty-doc", "doc"),
    ]
    for package in ("maps-doc", "empty-doc"):
        (tmp_path / package / "files" / "doc").mkdir(parents=True)
        (tmp_path / package / "description").write_text("all about maps\n")
    (tmp_path / "maps-doc" / "files" / "doc" / "index.html").write_text("maps")
    monkeypatch.setenv("PATH", str(tmp_path))
    manuals, skipped = prepare_manuals(sources, tmp_path)
    assert [(manual.name, manual.description) for manual in manuals] == [("maps", "all about maps")]
    assert skipped.keys() == {"music-doc", "empty-doc"}
    assert "apt-get is not installed" in skipped["music-doc"]
    assert "doc/index.html" in skipped["empty-doc"]


def test_the_target_list_selects_pages_about_full_text_search() -> None:
    topic = TOPICS["full-text-search"]
    patterns = load_patterns(trial.FOLDER / topic.pattern_file)
    assert {pattern.removeprefix("!").partition("/")[0] for pattern in patterns} == set(topic.manuals)
    targets = {
        "postgresql/textsearch.html",
        "postgresql/textsearch-controls.html",
        "postgresql/sql-createtsdictionary.html",
        "sqlite/fts5.html",
        "xapian/index.html",
        "xapian/apidoc/html/classXapian_1_1BM25Weight.html",
    }
    others = {
        "postgresql/release-15.html",
        "postgresql/sql-createtable.html",
        "sqlite/index.html",
        "xapian/install.html",
        "xapian/apidoc/html/classXapian_1_1BM25Weight-members.html",
        "xapian/apidoc/html/index.html",
        "geos/textsearch.html",
    }
    assert select_targets(targets | others, patterns) == targets


def test_patterns_without_a_page_are_found() -> None:
    patterns = ["maps/*.html", "maps/gone.html", "!maps/old-*.html", "!maps/a.html"]
    assert find_unused_patterns(["maps/a.html", "maps/deep/b.html"], patterns) == ["maps/gone.html", "!maps/old-*.html"]


def make_fetch(page: str, relevance: float | None, *, relevant: bool = False, duplicate_of: str = "") -> Fetch:
    failure = "duplicate" if duplicate_of else None
    return Fetch(page, f"http://{page}", 0.5, relevance, relevant, failure, duplicate_of)


def test_the_measures_of_a_crawl() -> None:
    fetches = [
        make_fetch("portal/index.html", 0.1),
        make_fetch("maps/found.html", 0.8, relevant=True),
        make_fetch("maps/copy.html", None, duplicate_of="maps/found.html"),
        make_fetch("maps/copy-of-rejected.html", None, duplicate_of="maps/rejected.html"),
        make_fetch("maps/rejected.html", 0.2),
        make_fetch("music/wrong.html", 0.4, relevant=True),
        make_fetch("music/worse.html", 0.6, relevant=True),
        make_fetch("music/other.html", 0.1),
    ]
    names = ("found", "copy", "copy-of-rejected", "rejected", "waiting")
    score = compute_score(fetches, {f"maps/{name}.html" for name in names}, ("maps", "charts"))
    assert (score.fetched, score.relevant, score.targets) == (8, 3, 5)
    assert score.precision == pytest.approx(1 / 3)
    assert score.fetch_share == pytest.approx(4 / 8)
    assert score.recall == pytest.approx(2 / 5)
    assert score.targets_fetched == pytest.approx(4 / 5)
    assert score.check_goals() == {"precision": False, "fetch_share": True, "recall": False}
    assert score.by_manual["music"] == {"fetched": 3, "relevant": 2}
    assert [fetch.page for fetch in score.false_positives] == ["music/worse.html", "music/wrong.html"]
    assert [fetch.page for fetch in score.missed_fetched] == ["maps/rejected.html", "maps/copy-of-rejected.html"]
    assert score.missed_unfetched == ["maps/waiting.html"]


def test_a_crawl_without_relevant_pages_misses_its_goals() -> None:
    score = compute_score([], {"maps/a.html"}, ("maps",))
    assert set(score.check_goals().values()) == {False}


@LONG
@pytest.mark.parametrize("keep", [False, True])
def test_a_trial_on_a_small_web(server: ManualServer, tmp_path: Path, keep: bool) -> None:
    topic = TrialTopic("maps", "geographic information systems", ("maps",))
    options = argparse.Namespace(phrase="", strategy="breadth_first", keep=keep)
    result = trial.run_trial(topic, server, options, crawls=tmp_path / "crawls")
    # Eight pages are allowed, so the crawl fetches the whole web.
    assert (result.budget, result.score.targets, result.score.targets_fetched) == (8, 4, 1.0)
    assert result.score.by_manual["maps"]["fetched"] == 4
    assert result.score.by_manual["music"] == {"fetched": 1, "relevant": 0}
    assert result.score.relevant >= 1
    assert result.score.precision == 1.0
    assert result.to_dict()["measures"]["missed_unfetched"] == 0  # type: ignore[index]
    assert "fetches in its manuals     0.67   goal 0.50  pass" in trial.format_result(result)
    assert [path.name for path in (tmp_path / "crawls").iterdir()] == ([Path(result.directory).name] if keep else [])


@LONG
def test_missed_targets_show_the_score_of_their_links(server: ManualServer, tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    trial.run_crawl(trial.build_crawl_command("maps", server, directory=directory, pages=1, strategy="breadth_first"))
    fetches = trial.read_fetches(directory, server)
    assert [fetch.page for fetch in fetches] == ["portal/index.html"]
    score = compute_score(fetches, {"maps/index.html", "maps/a.html"}, ("maps",))
    unseen, waiting = trial.describe_missed(score, server, directory)
    assert unseen.startswith("not fetched: unseen  http://maps.manuals.test")
    assert waiting.startswith("not fetched: waiting, link score ")


def test_a_failing_crawl_is_an_error(server: ManualServer, tmp_path: Path) -> None:
    command = trial.build_crawl_command("maps", server, directory=tmp_path / "crawl", pages=1, strategy="no_such")
    with pytest.raises(trial.TrialError, match="exit code 2"):
        trial.run_crawl(command)


def test_another_phrase_needs_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        trial.parse_options(["--phrase", "maps"])
    assert "--phrase needs --topic" in capsys.readouterr().err


@pytest.mark.parametrize("module", [trial_manuals, trial_score])
def test_the_examples_in_docstrings(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
