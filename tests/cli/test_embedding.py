"""`--embedding` of crawls, workers, `topic try`, `topic show`, `why`, `doctor` and `lab`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import Ran, Run
from tests.helpers.embeddings import PLUGIN, make_vectors, write_model2vec
from tests.helpers.live_site import live_site
from tests.helpers.redis_server import running
from tests.helpers.sample_web import write_small_web

pytest.importorskip("tokenizers", reason="tokenizers is not installed: make install")

MODEL, PLUGIN_SPEC = "model2vec:model", "made_vectors:Vectors:scale=2"
PAGES = {
    "/": '<title>Start</title><p>owls</p><p><a href="/1">Sparrow</a></p><p><a href="/2">Locomotive</a></p>',
    "/2": "<title>Locomotive</title><p>The locomotive stops at the station.</p>",
    "/1": "<title>Sparrow</title><p>Sparrows and other birds build nests in the garden.</p>",
}


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    return (200, {}, PAGES[path].encode()) if path in PAGES else (404, {}, b"")


@pytest.fixture(autouse=True)
def _embeddings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # after `run`, which changes the directory
    Path("made_vectors.py").write_text(PLUGIN, "utf-8")
    monkeypatch.delitem(sys.modules, "made_vectors", raising=False)
    monkeypatch.syspath_prepend(Path.cwd())
    write_model2vec(Path("model"))


def crawl(run: Run, site: str, *options: object) -> Ran:
    local = ("--allow-net", "127.0.0.0/8", "--delay", 0, "--min-free", 0, "--concurrency", 1, "--out", "crawl")
    return run("crawl", "owls", "--seed", f"{site}/", *local, *options)


@pytest.mark.parametrize("embedding", [MODEL, PLUGIN_SPEC])
def test_crawl_follows_links_that_are_close_in_meaning(run: Run, embedding: str) -> None:
    with live_site(answer) as (site, asked):
        assert crawl(run, site, "--embedding", embedding).code == 0
        assert [path for path in asked if path != "/robots.txt"] == ["/", "/1", "/2"]
        parts = json.loads(run("why", "crawl", f"{site}/1", "--json").out)["chain"][-1]["parts"]
        assert parts["anchor meaning"] > 0.1
    assert run("doctor", "crawl", "--offline").code == 0
    shown = json.loads(run("topic", "show", "crawl", "--json").out)
    assert shown["vector_trust"] > 0.5
    assert "bird" in shown["similar_terms"]


def test_crawl_without_vectors_compares_words_only(run: Run) -> None:
    Path("settings.toml").write_text('embedding = "none"\n')
    with live_site(answer) as (site, _):
        assert crawl(run, site, "--config", "settings.toml").code == 0
        parts = json.loads(run("why", "crawl", f"{site}/1", "--json").out)["chain"][-1]["parts"]
        assert "anchor meaning" not in parts
    assert json.loads(run("topic", "show", "crawl", "--json").out)["vector_trust"] == 0.0


def test_resumed_crawl_keeps_its_embedding(run: Run) -> None:
    with live_site(answer) as (site, asked):
        assert crawl(run, site, "--embedding", MODEL, "--pages", 1).code == 0
        waiting = json.loads(run("why", "crawl", f"{site}/1", "--json").out)["waiting"]["parts"]
        assert waiting["anchor meaning"] > 0.1
        refused = crawl(run, site, "--embedding", "built-in")
        assert refused.code == 2
        assert f"contains a crawl with another embedding: {MODEL}, not built-in" in refused.err
        assert crawl(run, site, "--pages", 9).code == 0
        assert [path for path in asked if path != "/robots.txt"] == ["/", "/1", "/2"]


def test_replaced_model_with_other_dimensions_is_reported(run: Run) -> None:
    with live_site(answer) as (site, _):
        assert crawl(run, site, "--embedding", MODEL, "--pages", 2).code == 0
        write_model2vec(Path("model"), {word: vector[:7] for word, vector in make_vectors().items()})
        shown = run("topic", "show", "crawl")
        assert (shown.code, shown.err.count("\n")) == (3, 1)
        resumed = crawl(run, site, "--pages", 9)
        assert resumed.code == 3
        assert "the embedding has 7 dimensions, but stored vectors have 24" in resumed.err
        assert run("doctor", "crawl", "--offline", "--repair").code == 0
        assert crawl(run, site, "--pages", 9).code == 0


def replace_plugin(text: str) -> None:
    """Replace the module of the plugin, or remove it if the text is empty."""
    sys.modules.pop("made_vectors", None)
    Path("made_vectors.py").write_text(text, "utf-8")
    if not text:
        Path("made_vectors.py").unlink()
    importlib.invalidate_caches()


def test_doctor_reports_an_embedding_that_cannot_be_used_and_keeps_the_state(run: Run) -> None:
    with live_site(answer) as (site, _):
        assert crawl(run, site, "--embedding", "made_vectors:Vectors", "--pages", 1).code == 0
    replace_plugin(PLUGIN.replace("rows = [", "raise OSError('no GPU')\n        rows = ["))
    found = run("doctor", "crawl", "--offline", "--repair")
    assert "the learned state cannot be checked: made_vectors:Vectors failed: no GPU" in found.out
    replace_plugin("")
    found = run("doctor", "crawl", "--offline", "--repair")
    assert "the settings of the last run are invalid: cannot load the embedding made_vectors" in found.out
    replace_plugin(PLUGIN)
    found = run("doctor", "crawl", "--offline")
    assert (found.code, "can resume from its state after visit 1" in found.out) == (0, True)


def test_missing_model_is_reported_in_one_line(run: Run) -> None:
    with live_site(answer) as (site, _):
        failed = crawl(run, site, "--embedding", "model2vec:nowhere")
        assert (failed.code, Path("crawl").exists()) == (2, False)
        assert failed.err == "topicrawl: the embedding nowhere is not a directory on this machine\n"
        for spec, message in (
            ("made_vectors:Failing", "made_vectors:Failing failed: RuntimeError: no GPU found"),
            ("word2vec", "unknown embedding 'word2vec'"),
        ):
            failed = crawl(run, site, "--embedding", spec)
            assert failed.code == 2
            assert message in failed.err.splitlines()[-1]
            assert "Traceback" not in failed.err


def test_worker_needs_the_embedding_of_the_shared_crawl(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="redis is not installed: make install")
    with running(tmp_path / "redis") as redis, live_site(answer) as (site, _):
        shared = ("--frontier", f"{redis.address}#owls")
        assert crawl(run, site, "--embedding", MODEL, "--pages", 1, *shared).code == 0
        Path("model").rename("elsewhere")
        worker = run("worker", redis.address, "owls", "--out", "second")
        assert worker.code == 2
        assert worker.err == "topicrawl: the embedding model is not a directory on this machine\n"
        Path("elsewhere").rename("model")
        assert run("worker", redis.address, "owls", "--out", "second").code == 0
        other = run("crawl", "owls", "--seed", f"{site}/", "--out", "third", "--min-free", 0, *shared)
        assert (other.code, "with another topic, strategy or embedding" in other.err) == (2, True)


def test_topic_try_compares_embeddings(run: Run) -> None:
    for name, page in PAGES.items():
        Path(f"page{name[1:]}.html").write_text(page)
    files = ("page1.html", "page2.html", "--json")
    meanings = {}
    for spec in ("built-in", "none", MODEL, PLUGIN_SPEC):
        tried = run("topic", "try", "owls", *files, "--embedding", spec)
        assert tried.code == 0
        report = json.loads(tried.out)
        meanings[spec] = {page["name"]: page["parts"]["meaning"] for page in report["pages"]}
    assert set(meanings["none"].values()) == {0.0}
    for spec in (MODEL, PLUGIN_SPEC):
        assert meanings[spec]["page1.html"] > 0.2 > 0.1 > meanings[spec]["page2.html"]
    failed = run("topic", "try", "owls", *files, "--embedding", "model2vec:nowhere")
    assert (failed.code, failed.err.count("\n")) == (2, 1)


def test_lab_runs_with_an_embedding(run: Run) -> None:
    write_small_web(Path("web"))
    task = json.loads(Path("web/tasks.json").read_text("utf-8"))[0]
    asked = ("lab", "run", "web", "--words", task["words"], "--seed", task["seeds"][0], "--pages", 30, "--no-cache")
    orders = {}
    for spec in ("none", PLUGIN_SPEC):
        assert run(*asked, "--embedding", spec, "--out", "visits.jsonl").code == 0
        orders[spec] = Path("visits.jsonl").read_text("utf-8")
    assert orders["none"] != orders[PLUGIN_SPEC]
    assert run(*asked, "--embedding", "word2vec").code == 2
    compared = ("lab", "compare", "web", "--strategies", "apprentice", "--budget", 20, "--jobs", 1, "--no-cache")
    assert run(*compared, "--embedding", "nowhere:Vectors").code == 2
