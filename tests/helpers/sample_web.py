"""A small sample web, written once per test process, and the digest of another for tests of subprocesses."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from topicrawl.sample_web.web import SampleWeb


@cache
def _render_small_web() -> dict[str, bytes]:
    """Return the files of a sample web of 400 pages by name. Writing them takes half a second of CPU time."""
    with TemporaryDirectory() as folder:
        SampleWeb(pages=400, hosts=20).write(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def write_small_web(directory: Path | str) -> None:
    """Write a sample web of 400 pages on 20 hosts as a recorded web."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    for name, content in _render_small_web().items():
        (Path(directory) / name).write_bytes(content)


def print_digest() -> None:
    """Write a digest of the hosts, labels, topics, seeds and some pages of a sample web."""
    web = SampleWeb(seed=5, pages=1000, hosts=40)
    digest = hashlib.sha256(repr((web.hosts, web.get_labels(), web.topics, web.get_seeds("chess"))).encode())
    for number in range(0, 1000, 7):
        digest.update(repr(web.get_response(web.page_url(number))).encode())
    sys.stdout.write(f"{digest.hexdigest()}\n")
