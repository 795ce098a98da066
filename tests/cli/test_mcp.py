"""Tests of the MCP server, with the client of the protocol library over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import pytest
from tests.cli.conftest import Run
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.markers import LONG

from topicrawl import Settings, Topic, open_crawl

# The library is imported by the tests: this takes half a second, which every test process would need to collect them.
pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed: make install")


async def crawl(directory: Path, address: str) -> None:
    settings = Settings(pages=4, delay=0.0, allow_net=("127.0.0.0/8",), documents=False, sitemaps=False)
    async with open_crawl(directory, Topic.of("dengue fever"), [f"{address}/0"], settings) as opened:
        async for _ in opened.visits():
            pass


def get_result(reply: Any) -> Any:
    """Return the structured result of a tool, or raise its error."""
    assert not reply.is_error, reply.content
    return reply.structured_content.get("result", reply.structured_content)


def wait_for_path(asked: list[str], path: str) -> None:
    until = time.monotonic() + 60
    while path not in asked:
        assert time.monotonic() < until
        time.sleep(0.1)


def run_session(steps: Any, *arguments: str) -> None:
    """Start `topicrawl mcp` and run the steps with a connected client."""

    async def run(errlog: TextIO) -> None:
        import mcp

        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "topicrawl", "mcp", *arguments], env={**os.environ}
        )
        async with mcp.Client(mcp.stdio_client(server, errlog=errlog)) as client:
            await steps(client)

    # The default for `errlog` is the standard error at the import of the library, which may be a captured one.
    with open(os.devnull, "w") as errlog:
        asyncio.run(asyncio.wait_for(run(errlog), 120))


@LONG
def test_an_assistant_searches_reads_and_starts_a_crawl(tmp_path: Path) -> None:
    with live_site(make_chain_site(9)) as (address, asked):
        asyncio.run(crawl(tmp_path / "dengue", address))

        async def steps(client: Any) -> None:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"list_collections", "search", "read_page", "why", "start_crawl", "stop_crawl"}
            (row,) = get_result(await client.call_tool("list_collections", {}))
            assert (row["name"], row["pages"]) == ("dengue", 4)
            hits = get_result(await client.call_tool("search", {"query": "mosquitoes", "count": 3}))
            assert hits[0]["url"].startswith(address)
            page = get_result(await client.call_tool("read_page", {"collection": "dengue", "url": hits[0]["url"]}))
            assert "mosquitoes" in page["text"]
            explained = get_result(await client.call_tool("why", {"collection": "dengue", "url": f"{address}/2"}))
            assert [step["url"] for step in explained["chain"]] == [f"{address}/{n}" for n in range(3)]
            for arguments, problem in (
                ({"words": "dengue", "seeds": [f"{address}/0"], "pages": 99}, "from 1 to 5"),
                ({"words": "dengue", "seeds": ["ftp://a/"], "pages": 2}, "not a web address"),
                ({"words": "dengue", "seeds": [], "pages": 2}, "seed URLs"),
            ):
                reply = await client.call_tool("start_crawl", arguments)
                assert reply.is_error
                assert problem in reply.content[0].text
            reply = await client.call_tool("read_page", {"collection": "../etc", "url": f"{address}/2"})
            assert reply.is_error
            started = await client.call_tool(
                "start_crawl", {"words": "fever wards", "seeds": [f"{address}/5"], "pages": 2}
            )
            assert get_result(started) == {"name": "fever-wards"}
            await asyncio.to_thread(wait_for_path, asked, "/6")

        run_session(steps, str(tmp_path), "--max-pages", "5", "--allow-net", "127.0.0.0/8", "--delay", "0")


def test_without_a_page_limit_an_assistant_cannot_start_crawls(tmp_path: Path) -> None:
    async def steps(client: Any) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"list_collections", "search", "read_page", "why"}
        assert (await client.call_tool("start_crawl", {"words": "a", "seeds": ["http://a.org/"]})).is_error

    run_session(steps, str(tmp_path))


def test_a_missing_directory_is_an_error(run: Run) -> None:
    ran = run("mcp", "missing")
    assert ran.code == 3
    assert "missing is not a directory" in ran.err
    assert json.dumps(ran.out) == '""'
