"""`topicrawl gather` of two crawls with frontier files: the crawl continues in the merged directory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from tests.helpers.live_site import live_site

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5"]


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Two chains of pages, /a/0 … /a/5 and /b/0 … /b/5."""
    branch, _, number = path.strip("/").partition("/")
    if not number.isdecimal() or int(number) > 5:
        return 404, {}, b"no such page"
    words = " ".join(f"{branch * 3}{number}word{index}" for index in range(9))
    link = f'<a href="/{branch}/{int(number) + 1}">dengue fever {int(number) + 1}</a>'
    return 200, {}, f"<title>{path}</title><p>Dengue fever in {branch}{number}: {words}</p>{link}".encode()


def test_a_crawl_continues_from_the_merged_directory(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, requested):
        for branch in "ab":
            seed = f"{address}/{branch}/0"
            ran = run("crawl", "dengue fever", "--seed", seed, "--out", branch, "--pages", 2, *OPTIONS)
            assert ran.code == 0, ran.err
        gathered = run("gather", "all", "a", "b")
        assert gathered.code == 0, gathered.err
        assert "4 pages in all" in gathered.err
        assert "2 waiting links" in gathered.err
        counted = {"pages": 4, "failed": 0, "repeated": 0, "duplicates": 0, "waiting": 2}
        result = json.loads(run("gather", "again", "a", "b", "--json").out)
        assert result == {"event": "gather", "directory": "again", **counted}
        before = len(requested)
        ran = run("crawl", "dengue fever", "--out", "all", "--pages", 100, *OPTIONS)
        assert ran.code == 0, ran.err
    fetched = [path for path in requested[before:] if path != "/robots.txt"]
    assert sorted(fetched) == sorted(f"/{branch}/{number}" for branch in "ab" for number in range(2, 7))
    database = sqlite3.connect("all/topicrawl.sqlite")
    stored = {str(url).removeprefix(address) for (url,) in database.execute("SELECT url FROM pages")}
    database.close()
    assert stored == {f"/{branch}/{number}" for branch in "ab" for number in range(6)}
