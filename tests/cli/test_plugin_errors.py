"""An error in a user's strategy or judge is reported in one line with the name of the plugin."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.sample_web import write_small_web

PLUGINS = """
from dataclasses import dataclass
from topicrawl import Priority, Strategy

class Base(Strategy):
    name, family, paper = "mine", "mine", "mine"
    def score_links(self, links, visit):
        return [Priority(0.5) for _ in links]

class Learning(Base):
    def learn(self, visit):
        open("/nowhere/model.bin")

class Scoring(Base):
    def score_links(self, links, visit):
        raise ConnectionRefusedError("two\\nlines")

class Rescoring(Base):
    def rescore(self):
        raise OSError

@dataclass
class Creating(Base):
    path: str = "/nowhere/hosts.txt"
    def __post_init__(self):
        open(self.path)

class Failing(Base):
    def learn(self, visit):
        {}["weight"]

class Judge:
    def __init__(self, topic):
        pass
    def score(self, page):
        raise BrokenPipeError(32, "Broken pipe")
    def learn(self, page, relevant):
        pass

class CreatingJudge(Judge):
    def __init__(self, topic):
        open("/nowhere/judge.bin")
"""
NOT_FOUND = "[Errno 2] No such file or directory"
CASES = [
    (("--strategy", "failing_plugins:Learning"), f"failing_plugins:Learning failed: {NOT_FOUND}: '/nowhere/model.bin'"),
    (("--strategy", "failing_plugins:Scoring"), "failing_plugins:Scoring failed: two lines"),
    (("--strategy", "failing_plugins:Rescoring"), "failing_plugins:Rescoring failed: OSError"),
    (
        ("--strategy", "failing_plugins:Failing"),
        "failing_plugins:Failing failed: KeyError: 'weight' (failing_plugins.py, line 30)",
    ),
    (("--strategy", "failing_plugins:Creating"), f"failing_plugins:Creating failed: {NOT_FOUND}: '/nowhere/hosts.txt'"),
    (("--judge", "failing_plugins:Judge"), "failing_plugins:Judge failed: [Errno 32] Broken pipe"),
    (
        ("--judge", "failing_plugins:CreatingJudge"),
        f"failing_plugins:CreatingJudge failed: {NOT_FOUND}: '/nowhere/judge.bin'",
    ),
]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "sample"
    write_small_web(folder)
    return folder


@pytest.fixture(autouse=True)
def _plugins(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # after `run`, which changes the directory
    Path("failing_plugins.py").write_text(PLUGINS, "utf-8")
    monkeypatch.delitem(sys.modules, "failing_plugins", raising=False)
    monkeypatch.syspath_prepend(Path.cwd())


@pytest.mark.parametrize(("options", "message"), CASES)
def test_simulated_crawl_reports_the_plugin(run: Run, sample: Path, options: tuple[str, ...], message: str) -> None:
    task = json.loads((sample / "tasks.json").read_text("utf-8"))[0]
    asked = ("lab", "run", sample, "--words", task["words"], "--seed", task["seeds"][0], "--pages", 5)
    ran = run(*asked, "--no-cache", "--out", "visits.jsonl", *options)
    assert (ran.code, ran.err) == (2, f"topicrawl: {message}\n")


@pytest.mark.parametrize(("options", "message"), CASES)
def test_live_crawl_reports_the_plugin(run: Run, options: tuple[str, ...], message: str) -> None:
    with live_site(make_chain_site(3)) as (address, _):
        site = ("--seed", f"{address}/0", "--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0")
        ran = run("crawl", "dengue fever", "--out", "crawl", *site, *options)
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == f"topicrawl: {message}"
    assert "Traceback" not in ran.err
