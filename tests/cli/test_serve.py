"""`topicrawl serve` as a process: signals, tokens and error messages."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.server_process import create_client, run_server_process


def test_sigterm_stops_the_server_cleanly(tmp_path: Path) -> None:
    with run_server_process(tmp_path) as (process, address):
        assert create_client(address).get("/").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    with run_server_process(tmp_path, "--host", "0.0.0.0", "--name", "127.0.0.1") as (_, address):
        token = re.search(r"\?token=([\w-]{20,})$", address)
        assert token, address
        assert create_client(address).get("/").status == 401
        assert create_client(address, authorization=f"Bearer {token[1]}").get("/").status == 200


def test_the_token_may_come_from_the_environment(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "0123456789-abcdef"
    monkeypatch.setenv("TOPICRAWL_SERVE_TOKEN", token)
    with run_server_process(tmp_path) as (_, address):
        assert token not in address
        assert create_client(address).get("/").status == 401
        assert create_client(address, authorization=f"Bearer {token}").get("/").status == 200
    for weak in ("short", "0123456789 abcdef;"):
        monkeypatch.setenv("TOPICRAWL_SERVE_TOKEN", weak)
        ran = run("serve", tmp_path)
        assert (ran.code, "at least 16" in ran.err, weak in ran.err) == (2, True, False)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nowhere",), 3, "is not a directory"),
        ((".", "--config", "nothing.toml"), 2, "cannot be read"),
        ((".", "--host", "256.1.1.1"), 2, "cannot listen on"),
        ((".", "--peer", "not a server"), 2, "is not the address of a server"),
    ],
    ids=["directory", "config", "host", "peer"],
)
def test_invalid_arguments_are_reported_in_one_line(
    run: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ran = run("serve", *arguments)
    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert words in ran.err


def test_a_missing_library_is_reported_with_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run("serve", ".")
    assert ran.code == 2
    assert "pip install 'topicrawl[web]'" in ran.err
