"""Sends the HTTP interface whatever its description allows, and what it does not: no answer may be a server's error.

    python tools/check_api.py .venv-api/bin/schemathesis

Crawls a corner of the made-up web, serves the collection with `topicrawl serve`, reads /api/openapi.json and lets
schemathesis make requests from it, from a fixed seed: once with names of collections that it makes up, once with that
of the collection and the address of one of its pages, which lead further. Exit code 1: an answer was 5xx, or the server
is gone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.serve import served

_EXAMPLES = 25  # made for each operation, in each round
_NAME = "dengue"
_PAGES = 40


def crawled(directory: Path) -> None:
    """A small collection."""
    with served(SampleWeb(pages=1200)) as web:
        options = ["--pages", str(_PAGES), "--delay", "0", "--allow-net", "127.0.0.0/8", "--no-documents"]
        resolve = [f"--resolve={host}=127.0.0.1" for host in web.hosts]
        seeds = [f"--seed={url}" for url in web.seeds("dengue fever")]
        command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--out", str(directory)]
        subprocess.run([*command, *seeds, *options, *resolve], check=True, stderr=subprocess.DEVNULL)


def known(address: str) -> str:
    """Settings of schemathesis that name the collection and a page of it."""
    with urllib.request.urlopen(f"{address}api/collections/{_NAME}/pages?count=1") as answer:
        page = json.load(answer)["pages"][0]["url"]
    values = f'{{ "path.name" = "{_NAME}", "query.url" = "{page}" }}'
    return f'[[operations]]\ninclude-path-regex = "^/api/collections/"\nparameters = {values}\n'


def checked(command: str, address: str, folder: Path) -> int:
    """Both rounds; the code of the first that found something, else 0."""
    settings = folder / "schemathesis.toml"
    for text in ("", known(address)):
        settings.write_text(text)
        ran = subprocess.run(
            [command, "--config-file", settings, "run", f"{address}api/openapi.json", "--checks", "not_a_server_error",
             "--max-examples", str(_EXAMPLES), "--seed", "1", "--generation-database", "none",
             "--request-timeout", "30"],
            cwd=folder, check=False,
        )  # fmt: skip
        if ran.returncode:
            return ran.returncode
    return 0


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crawled(folder / _NAME)
        command = [sys.executable, "-m", "topicrawl", "serve", name, "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            address = server.stderr.readline().strip()
            try:
                code = checked(str(Path(sys.argv[1]).absolute()), address, folder)
                gone = server.poll() is not None
            finally:
                server.kill()
        if gone:
            print("the server has ended", file=sys.stderr)
        return 1 if gone else code


if __name__ == "__main__":
    sys.exit(main())
