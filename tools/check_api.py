"""Test the HTTP API with valid and invalid requests generated from its OpenAPI description. No response may be 5xx.

    python tools/check_api.py .venv-api/bin/schemathesis

The script crawls a part of the sample web, serves the collection with `topicrawl serve` and runs schemathesis on
/api/openapi.json with a fixed seed. The first round uses random names of collections. The second round uses the name of
the collection and the URL of one of its pages, which reaches more code. The output is one line per round; the output of
schemathesis is printed if a round fails. The exit code is 1 if a response was 5xx, if no request was generated, or if
the server has exited.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from topicrawl.sample_web.server import serve_in_subprocess
from topicrawl.sample_web.web import SampleWeb

_EXAMPLES = 25  # requests per operation and round
_NAME = "dengue"
_PAGES = 40


def crawl_sample_web(directory: Path) -> None:
    """Crawl a part of the sample web into a directory."""
    with serve_in_subprocess(SampleWeb(pages=1200)) as web:
        options = ["--pages", str(_PAGES), "--delay", "0", "--allow-net", "127.0.0.0/8", "--no-documents"]
        resolve = [f"--resolve={host}=127.0.0.1" for host in web.hosts]
        seeds = [f"--seed={url}" for url in web.get_seeds("dengue fever")]
        command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--out", str(directory)]
        subprocess.run([*command, *seeds, *options, *resolve], check=True, stderr=subprocess.DEVNULL)


def build_settings(address: str) -> str:
    """Return settings of schemathesis with the name of the collection and the URL of one of its pages."""
    with urllib.request.urlopen(f"{address}api/collections/{_NAME}/pages?count=1") as answer:
        page = json.load(answer)["pages"][0]["url"]
    values = f'{{ "path.name" = "{_NAME}", "query.url" = "{page}" }}'
    return f'[[operations]]\ninclude-path-regex = "^/api/collections/"\nparameters = {values}\n'


def run_schemathesis(command: str, address: str, folder: Path) -> bool:
    """Run both rounds and print a line about each. Print the output of a round that failed, and return False."""
    settings = folder / "schemathesis.toml"
    options = ["--checks", "not_a_server_error", "--max-examples", str(_EXAMPLES), "--request-timeout", "30"]
    options += ["--seed", "1", "--generation-database", "none"]
    rounds = {"random names of collections": "", "an existing collection and page": build_settings(address)}
    for number, (values, text) in enumerate(rounds.items(), 1):
        settings.write_text(text)
        arguments = [command, "--config-file", settings, "run", f"{address}api/openapi.json", *options]
        result = subprocess.run(
            arguments, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
        )
        counts = re.search(r"^  (\d+) generated, (\d+) passed", result.stdout, re.MULTILINE)
        if result.returncode or counts is None:
            print(result.stdout, f"api-check: round {number} failed, exit code {result.returncode}", sep="\n")
            return False
        print(f"api-check: round {number}, {values}: {counts[1]} requests generated, {counts[2]} passed", flush=True)
    return True


def main() -> int:
    """Run the test and return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crawl_sample_web(folder / _NAME)
        # Crawls that the requests start must not reach the network: nothing listens at the address of the proxy.
        proxy = ["--proxy", "http://127.0.0.1:9", "--timeout", "1"]
        command = [sys.executable, "-m", "topicrawl", "serve", name, "--port", "0", *proxy]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            address = server.stderr.readline().strip()
            try:
                has_passed = run_schemathesis(str(Path(sys.argv[1]).absolute()), address, folder)
                has_exited = server.poll() is not None
            finally:
                # The server interrupts the crawls that it has started.
                server.terminate()
        if has_exited:
            print("the server has exited", file=sys.stderr)
        return 1 if has_exited or not has_passed else 0


if __name__ == "__main__":
    sys.exit(main())
