"""`topicrawl serve` as a process: what it says, and whom it lets in."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.web.process import client_of, serving


def test_it_ends_cleanly_when_it_is_told(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, address):
        assert client_of(address).get("/").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)


def test_from_other_machines_it_is_reached_with_a_token_only(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", "--name", "127.0.0.1") as (_, address):
        token = re.search(r"\?token=([\w-]{20,})$", address)
        assert token, address
        assert client_of(address).get("/").status == 401
        assert client_of(address, authorization=f"Bearer {token[1]}").get("/").status == 200


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nowhere",), 3, "is not a directory"),
        ((".", "--config", "nothing.toml"), 2, "cannot be read"),
        ((".", "--host", "256.1.1.1"), 2, "cannot listen on"),
        ((".", "--peer", "not a server"), 2, "is no address of a server"),
    ],
    ids=["directory", "config", "host", "peer"],
)
def test_a_mistake_is_one_line(run: Run, arguments: tuple[str, ...], code: int, words: str) -> None:
    ran = run("serve", *arguments)
    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert words in ran.err


def test_a_missing_library_is_named_with_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run("serve", ".")
    assert ran.code == 2
    assert "pip install 'topicrawl[web]'" in ran.err
