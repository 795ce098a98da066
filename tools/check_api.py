"""Sends the HTTP interface whatever its description allows, and what it does not: no answer may be a server's error.

    python tools/check_api.py .venv-api/bin/schemathesis

Crawls a corner of the made-up web, serves the collection with `topicrawl serve`, reads /api/openapi.json and lets
schemathesis make requests from it, from a fixed seed. Exit code 1: an answer was 5xx, or the server is gone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.serve import served

_EXAMPLES = 25  # made for each operation
_PAGES = 40


def crawled(directory: Path) -> None:
    """A small collection."""
    with served(SampleWeb(pages=1200)) as web:
        options = ["--pages", str(_PAGES), "--delay", "0", "--allow-net", "127.0.0.0/8", "--no-documents"]
        resolve = [f"--resolve={host}=127.0.0.1" for host in web.hosts]
        seeds = [f"--seed={url}" for url in web.seeds("dengue fever")]
        command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--out", str(directory)]
        subprocess.run([*command, *seeds, *options, *resolve], check=True, stderr=subprocess.DEVNULL)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        crawled(Path(folder) / "dengue")
        command = [sys.executable, "-m", "topicrawl", "serve", folder, "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            address = server.stderr.readline().strip()
            try:
                ran = subprocess.run(
                    [sys.argv[1], "run", f"{address}api/openapi.json", "--checks", "not_a_server_error",
                     "--max-examples", str(_EXAMPLES), "--seed", "1", "--generation-database", "none",
                     "--request-timeout", "30"],
                    cwd=folder, check=False,
                )  # fmt: skip
                gone = server.poll() is not None
            finally:
                server.kill()
        if gone:
            print("the server has ended", file=sys.stderr)
        return 1 if gone else ran.returncode


if __name__ == "__main__":
    sys.exit(main())
