"""`topicrawl lab web` and `topicrawl lab serve`: the synthetic web on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from topicrawl.lab.tasks import read_tasks
from topicrawl.settings import load_settings_file

SMALL = ("--pages", "400", "--hosts", "20")


def test_the_web_is_written_with_its_tasks_and_overwrites_no_directory(run: Run) -> None:
    ran = run("lab", "web", "small", *SMALL)
    assert (ran.code, ran.out) == (0, "")
    assert "400 pages and 10 topics" in ran.err
    assert len(read_tasks(Path("small/tasks.json"))) == 10
    again = run("lab", "web", "small", *SMALL)
    assert again.code == 2
    assert "exists" in again.err


@pytest.mark.parametrize("options", [("--pages", "400"), ("--hosts", "1")], ids=" ".join)
def test_an_impossible_web_is_rejected(run: Run, options: tuple[str, ...]) -> None:
    ran = run("lab", "web", "small", *options)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert not Path("small").exists()


def test_the_web_is_served_with_settings_until_ctrl_c(tmp_path: Path) -> None:
    serve = [sys.executable, "-m", "topicrawl", "lab", "serve", *SMALL, "--port", "0", "--settings", "local.toml"]
    with subprocess.Popen(serve, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline(), process.stdout.readline()]
            port = lines[0].partition("on port ")[2].partition(".")[0]
            assert f".example:{port}/" in lines[1]
            settings = load_settings_file(tmp_path / "local.toml")
            assert settings["allow_net"] == ("127.0.0.0/8",)
            name = str(settings["resolve"][0]).partition("=")[0]
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": name})
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert answer.status == 200
        finally:
            os.kill(process.pid, signal.SIGINT)
    assert process.returncode == 0


def test_a_settings_file_with_other_content_is_not_overwritten(run: Run) -> None:
    Path("mine.toml").write_text("delay = 2.0\n")
    ran = run("lab", "serve", *SMALL, "--settings", "mine.toml")
    assert ran.code == 2
    assert Path("mine.toml").read_text() == "delay = 2.0\n"
