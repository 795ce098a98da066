"""The summary of a page in `export`, `why` and `search`; the first two leave out hidden text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from tests.cli.conftest import Run
from tests.helpers.live_site import live_site

from topicrawl import Settings, Topic, open_crawl

MAIN = "Dengue fever is a disease that mosquitoes carry to people in warm countries."
HIDDEN = "Dengue fever can be cured with our pills today."
PAGE = f"""<title>Dengue fever in warm countries</title><body bgcolor=white>
<h1>Dengue fever in warm countries today</h1>
<p>{MAIN} It was rainy. The town has a bridge. The bridge is old and made of grey stone blocks.</p>
<p><font color=white>{HIDDEN}</font></p><p>All rights reserved, and nothing here may be copied without asking.</p>"""


def respond(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Return the page, and no robots.txt."""
    return (200, {}, PAGE.encode()) if path == "/" else (404, {}, b"")


def test_summaries_are_exported_explained_and_found(run: Run) -> None:
    directory = Path("crawl")

    async def crawl(address: str) -> None:
        settings = Settings(delay=0.0, allow_net=("127.0.0.0/8",), documents=False)
        async with open_crawl(directory, Topic.of("dengue fever"), [f"{address}/"], settings) as opened:
            async for _ in opened.visits():
                pass

    with live_site(respond) as (address, _):
        asyncio.run(crawl(address))
    exported = run("export", directory, "--to", "jsonl", "--out", "-", "--text", "summary", "--all")
    assert exported.code == 0, exported.err
    sentences = json.loads(exported.out)["text"].split("\n")
    assert MAIN in sentences
    assert HIDDEN not in sentences
    assert len(sentences) < 5
    explained = run("why", directory, f"{address}/", "--json")
    assert json.loads(explained.out)["summary"] == sentences
    assert MAIN in run("why", directory, f"{address}/").out
    found = run("search", "dengue", directory, "--summaries", "--json")
    (hit,) = json.loads(found.out)["hits"]
    assert MAIN in hit["summary"]
    assert MAIN in run("search", "dengue", directory, "--summaries").out
    assert json.loads(run("search", "dengue", directory, "--json").out)["hits"][0]["summary"] == []
