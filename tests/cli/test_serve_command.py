"""`topicrawl serve` as a process: what it says, whom it lets in, and that a kill loses nothing that was confirmed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.web.served import Client, collected

from topicrawl.collection import verdicts
from topicrawl.collection.store import Store


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and the address that it prints."""
    command = [sys.executable, "-m", "topicrawl", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process, process.stderr.readline().strip()
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def client_of(address: str, **headers: str) -> Client:
    found = re.search(r":(\d+)/", address)
    assert found, address
    return Client(int(found[1]), None, headers)  # type: ignore[arg-type]


def test_every_verdict_that_was_confirmed_survives_a_kill(tmp_path: Path) -> None:
    site = collected(tmp_path / "owls")
    with serving(tmp_path) as (process, address):
        client = client_of(address)
        pages = json.loads(client.get("/api/collections/owls/pages").text)["pages"]
        confirmed = 0
        for turn in range(30):
            if turn == 25:
                process.kill()
            try:
                answer = client.post(
                    "/c/owls/verdict", url=pages[turn % len(pages)]["url"], verdict=("relevant", "irrelevant")[turn % 2]
                )
            except OSError:
                break
            assert answer.status == 303
            confirmed += 1
    store = Store(tmp_path / "owls" / "topicrawl.sqlite", readonly=True)
    assert len(verdicts.since(store, 0)) >= confirmed >= 25
    store.close()
    assert site


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
