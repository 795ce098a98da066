"""`topicrawl refresh` on a site that changes, with a simulated clock."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Run
from tests.helpers import documents as made
from tests.helpers.browser import BROWSER
from tests.helpers.collection import create_collection as made_collection
from tests.helpers.markers import LONG
from tests.helpers.site.server import Answer, Reply, Request, Site, make_redirect
from warcio.archiveiterator import ArchiveIterator

from topicrawl import Settings, Topic, open_crawl
from topicrawl.cli.refresh import RefreshOptions, run_refresh
from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.collection.store import CollectionStore
from topicrawl.fetch.rendering.page_renderer import RENDERED
from topicrawl.frontier.sqlite.reader import open_reader

DAY = 86_400.0
SETTINGS = Settings(allow_net=("127.0.0.0/8",), delay=0.0, min_free=0, patience=0.5)
TOPIC = Topic.of("dengue fever")


@dataclass
class Web:
    """Site whose pages the tests set, the directory of its crawl, and a simulated clock."""

    directory: Path
    pages: dict[str, Answer | Callable[[Request], Answer]] = field(default_factory=dict)
    now: float = field(default_factory=time.time)

    def __call__(self, request: Request) -> Answer:
        answer = self.pages.get(request.path, Reply(status=404))
        return answer(request) if callable(answer) else answer

    async def crawled(self, site: Site, settings: Settings = SETTINGS) -> None:
        """Crawl from /0, or resume the crawl."""
        async with open_crawl(self.directory, TOPIC, [site.make_url("/0")], settings) as crawl:
            async for _ in crawl.visits():
                pass

    async def refreshed(self, **options: object) -> None:
        assert await run_refresh(RefreshOptions(self.directory, **options), lambda: self.now) == 0  # type: ignore[arg-type]

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with self.store() as store:
            return store.query_rows(sql)

    @contextmanager
    def store(self) -> Iterator[CollectionStore]:
        store = CollectionStore(self.directory / "topicrawl.sqlite", readonly=True)
        try:
            yield store
        finally:
            store.close()


def page(text: str, *links: str, others: str = "", **headers: str) -> Reply:
    body = f"<title>{text}</title><p>dengue fever {text}</p>{others}" + "".join(
        f'<a href="{link}">dengue</a> ' for link in links
    )
    return Reply(body.encode(), headers={name.replace("_", "-"): value for name, value in headers.items()})


def list_revisits(directory: Path) -> list[dict[str, str]]:
    """Return the fields of the revisit records in the archive of a crawl."""
    with (directory / "warc/00001.warc.gz").open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        return [dict(record.rec_headers.headers) for record in records if record.rec_type == "revisit"]


@pytest.fixture
def web(tmp_path: Path) -> Web:
    return Web(tmp_path / "crawl", {"/0": page("zero", "/1"), "/1": page("one")})


def on_site(web: Web, scenario: Callable[[Site], Awaitable[None]]) -> None:
    """Serve the web and run a scenario with the site."""

    async def main() -> None:
        async with Site(web) as site:
            await scenario(site)

    asyncio.run(main())


def test_requests_are_conditional(web: Web) -> None:
    def answer(request: Request) -> Answer:
        if request.headers.get("if-none-match") == '"a"':
            return Reply(status=304)
        return page("zero", ETag='"a"', Last_Modified="Mon, 01 Jan 2024 00:00:00 GMT")

    async def scenario(site: Site) -> None:
        web.pages["/0"] = answer
        await web.crawled(site)
        web.now += DAY
        await web.refreshed()
        assert site.log[-1].headers["if-modified-since"] == "Mon, 01 Jan 2024 00:00:00 GMT"
        assert web.rows("SELECT outcome, status, at FROM revisits") == [("unchanged", 304, web.now)]
        (revisit,) = list_revisits(web.directory)
        assert revisit["WARC-Profile"].endswith("/server-not-modified")
        assert revisit["WARC-Refers-To-Target-URI"] == revisit["WARC-Target-URI"] == site.make_url("/0")

    on_site(web, scenario)


def test_a_page_with_the_same_text_is_unchanged_if_its_html_differs(web: Web) -> None:
    async def scenario(site: Site) -> None:
        await web.crawled(site)
        web.pages["/0"] = page("zero<!-- made in 0.01 s -->", "/1")
        web.now += DAY
        await web.refreshed()
        assert web.rows("SELECT outcome, status FROM revisits") == [("unchanged", 200)] * 2

    on_site(web, scenario)


def test_pages_without_any_relevance_are_revisited_for_their_links(web: Web) -> None:
    async def scenario(site: Site) -> None:
        web.pages["/0"] = Reply(b'<title>Links</title><p>A list</p><a href="/1">one</a>')
        await web.crawled(site, replace(SETTINGS, judge="cosine"))
        step, relevance = web.rows("SELECT step, relevance FROM visits WHERE failure IS NULL ORDER BY step")[0]
        assert (step, relevance) == (1, 0.0)
        web.pages |= {
            "/0": Reply(b'<title>Links</title><p>A longer list</p><a href="/1">one</a> <a href="/2">two</a>'),
            "/2": page("two"),
        }
        web.now += DAY
        await web.refreshed()
        assert sorted(web.rows("SELECT outcome FROM revisits")) == [("changed",), ("unchanged",)]

    on_site(web, scenario)


def test_the_old_content_of_a_changed_page_is_kept_as_a_version(web: Web) -> None:
    async def scenario(site: Site) -> None:
        await web.crawled(site)
        web.pages |= {"/0": page("nought", "/1", "/2"), "/2": page("two")}
        web.now += DAY
        await web.refreshed()
        assert sorted(web.rows("SELECT outcome FROM revisits")) == [("changed",), ("unchanged",)]
        assert web.rows("SELECT title FROM pages ORDER BY step") == [("nought",), ("one",)]
        assert web.rows("SELECT at FROM visits WHERE step = 1") == [(web.now,)]
        ((title, *spot),) = web.rows("SELECT title, segment, start, length FROM versions")
        assert title == "zero"
        old = WarcArchive(web.directory).read_response(RecordLocation(*map(int, map(str, spot))))
        assert b"dengue fever zero" in old.body
        frontier = open_reader(web.directory / "frontier.sqlite")
        assert [entry.link.url for entry in await frontier.get_best_entries(9)] == [site.make_url("/2")]
        await frontier.close()
        await web.crawled(site)
        assert web.rows("SELECT title FROM pages ORDER BY step") == [("nought",), ("one",), ("two",)]

    on_site(web, scenario)


@pytest.mark.parametrize(
    ("answer", "outcome", "kept"),
    [
        (Reply(status=410), "gone", True),
        (Reply(status=403), "forbidden", True),
        (make_redirect("/elsewhere"), "moved", True),
        (Reply(b"<meta http-equiv=refresh content='0; url=/elsewhere'><p>dengue"), "moved", True),
        (Reply(b'<meta name="robots" content="noindex"><p>dengue fever'), "noindex", False),
    ],
    ids=["gone", "forbidden", "moved", "meta refresh", "noindex"],
)
def test_outcomes_of_a_revisit_have_names(web: Web, answer: Reply, outcome: str, kept: bool) -> None:
    async def scenario(site: Site) -> None:
        web.pages |= {"/elsewhere": page("elsewhere")}
        await web.crawled(site)
        web.pages["/1"] = answer
        web.now += DAY
        await web.refreshed()
        assert sorted(web.rows("SELECT outcome FROM revisits")) == sorted([(outcome,), ("unchanged",)])
        assert (("one",) in web.rows("SELECT title FROM pages")) is kept

    on_site(web, scenario)


def test_pages_that_were_gone_twice_are_not_revisited(web: Web) -> None:
    async def scenario(site: Site) -> None:
        await web.crawled(site)
        web.pages["/1"] = Reply(status=404)
        for _ in range(4):
            web.now += DAY
            await web.refreshed()
        assert site.list_paths().count("/0") == 5
        assert site.list_paths().count("/1") == 3

    on_site(web, scenario)


def test_failed_and_irrelevant_links_are_added_again_after_some_time(web: Web) -> None:
    async def scenario(site: Site) -> None:
        web.pages |= {"/0": page("zero", "/1", "/dull", "/dead"), "/dull": Reply(b"<title>dull</title><p>football")}
        await web.crawled(site)
        for text, asked in (("early", 1), ("late", 2)):
            web.now += 60 * DAY
            web.pages |= {
                "/0": page(text, "/1", "/dull", "/dead"),
                "/dull": Reply(b"<title>bright</title><p>dengue fever"),
            }
            await web.refreshed(pages=1)
            await web.crawled(site)
            assert (site.list_paths().count("/dull"), site.list_paths().count("/dead")) == (asked, asked), text
        assert ("bright",) in web.rows("SELECT title FROM pages")
        assert ("dull",) in web.rows("SELECT title FROM versions")

    on_site(web, scenario)


def test_a_killed_refresh_resumes(web: Web) -> None:
    async def scenario(site: Site) -> None:
        web.pages |= {f"/{n}": page(f"page {n}", f"/{n + 1}") for n in range(6)}
        await web.crawled(site)
        begun, web.now = len(site.log), web.now + DAY
        running = asyncio.create_task(web.refreshed(pages=5))

        def killer(request: Request) -> Answer:
            if len(site.log) - begun >= 4:
                running.cancel()
            return page(f"page {request.path[1:]}")

        web.pages |= {f"/{n}": killer for n in range(1, 6)}
        await asyncio.gather(running, return_exceptions=True)
        seen = {path for (path,) in web.rows("SELECT page FROM revisits")}
        web.now += 1
        await web.refreshed(pages=5)
        after = [path for (path,) in web.rows("SELECT page FROM revisits")]
        assert seen <= set(after)
        assert len(after) == len(set(after)) == 5
        asked = [path for path in site.list_paths()[begun:] if path != "/robots.txt"]
        assert len(asked) <= 6  # one may have been in flight
        web.now += 1
        await web.refreshed(pages=5)
        assert len(web.rows("SELECT 1 FROM revisits")) == 10

    on_site(web, scenario)


def test_links_are_stored_before_a_revisit_is_recorded(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(site: Site) -> None:
        await web.crawled(site)
        web.pages |= {"/0": page("nought", "/1", "/2"), "/1": page("first", "/2")}
        web.now += DAY

        def killed(self: CollectionStore, rows: object, *, statements_before: object = ()) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(CollectionStore, "add_visits", killed)
            with pytest.raises(KeyboardInterrupt):
                await web.refreshed(pages=1)
        assert web.rows("SELECT * FROM revisits") == []
        frontier = open_reader(web.directory / "frontier.sqlite")
        assert (await frontier.get_counts()).waiting == 1
        await frontier.close()

    on_site(web, scenario)


def test_members_of_an_archive_are_not_revisited(web: Web) -> None:
    async def scenario(site: Site) -> None:
        texts = {f"{n}.txt": f"dengue fever dengue fever, note {n}".encode() for n in range(3)}
        web.pages["/0"] = page("zero", "/1", "/notes.zip", others="and some more text")
        web.pages["/notes.zip"] = Reply(made.zipped(texts), headers={"Content-Type": "application/zip"})
        await web.crawled(site)
        assert web.rows("SELECT count(*) FROM pages WHERE url LIKE '%.txt'") == [(3,)]
        for _ in range(2):
            web.now += DAY
            await web.refreshed(pages=1)
        assert [site.list_paths().count(path) for path in ("/0", "/1", "/notes.zip")] == [2, 2, 1]

    on_site(web, scenario)


def test_the_crawl_delay_is_kept_before_and_after_a_refresh(web: Web) -> None:
    async def scenario(site: Site) -> None:
        web.pages |= {"/0": page("zero", "/1", "/2"), "/2": page("two")}
        await web.crawled(site, Settings(**{**vars(SETTINGS), "delay": 0.2}))
        web.now = time.time() + DAY
        await run_refresh(RefreshOptions(web.directory), lambda: time.time() + DAY)
        assert len(site.log) == 8
        assert site.list_early_requests(0.2) == []

    on_site(web, scenario)


def test_a_refresh_does_not_change_the_stop_reason_of_the_crawl(web: Web) -> None:
    async def scenario(site: Site) -> None:
        await web.crawled(site)
        await web.refreshed()
        assert web.rows("SELECT value FROM facts WHERE name = 'stopped'") == [('"frontier empty"',)]

    on_site(web, scenario)


def test_new_and_changed_pages_are_listed_as_text_json_and_feed(web: Web, run: Run) -> None:
    async def scenario(site: Site) -> None:
        await web.crawled(site)
        web.pages["/0"] = page("nought & <co>", "/1")
        web.now += 9 * DAY
        await web.refreshed()

    on_site(web, scenario)
    lately = datetime.fromtimestamp(web.now - DAY, UTC).isoformat()
    assert [line.split()[2] for line in run("refresh", web.directory, "--since", "1d").out.splitlines()] == ["new"] * 2
    (found,) = map(json.loads, run("refresh", web.directory, "--since", lately, "--json").out.splitlines())
    assert (found["kind"], found["title"], found["at"]) == ("changed", "nought & <co>", web.now)
    assert found["before"] < web.now - 8 * DAY
    feed = ElementTree.fromstring(run("refresh", web.directory, "--since", lately, "--atom").out)
    (entry,) = feed.findall("{http://www.w3.org/2005/Atom}entry")
    assert entry.findtext("{http://www.w3.org/2005/Atom}title") == "nought & <co>"
    none = run("refresh", web.directory, "--since", lately, "--relevance", "1")
    assert (none.code, none.out, "no new or changed pages since" in none.err) == (0, "", True)


def test_control_characters_in_titles_are_not_printed(web: Web, run: Run) -> None:
    web.pages = {"/0": page("\x1b[2Jdengue")}
    on_site(web, web.crawled)
    assert "\x1b" not in run("refresh", web.directory, "--since", "1d").out


def test_a_closed_pipe_is_not_an_error(web: Web) -> None:
    on_site(web, web.crawled)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "topicrawl", "refresh", str(web.directory), "--since", "1d"]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert ran.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere"], 3, "no crawl in nowhere"),
        (["nowhere", "--since", "soon"], 2, "7d"),
        (["nowhere", "--policy", "often"], 2, "often"),
        (["crawl", "--since", "1d", "--atom", "--json"], 2, "not both"),
        (["crawl", "--since", "999999w"], 2, "7d"),
        (["crawl", "--atom"], 2, "used with --since"),
        (["crawl", "--forget", "nan"], 2, "--forget"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(
    run: Run, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    made_collection(tmp_path / "crawl")
    ran = run("refresh", *arguments)
    assert (ran.code, words in ran.err, "Traceback" in ran.err) == (code, True, False)


# Comparison of the policies over HTTP


class Changing:
    """Site of pages that change at known rates, by the simulated clock; every other page is barely about the topic."""

    def __init__(self, web: Web, rates: list[float], days: int, seed: int) -> None:
        random = Random(seed)
        self.web, self.begun = web, web.now
        self.changes: list[list[float]] = []
        for rate in rates:
            at, times = 0.0, []
            while (at := at + random.expovariate(rate)) < days:
                times.append(at)
            self.changes.append(times)

    def version(self, number: int) -> int:
        day = (self.web.now - self.begun) / DAY
        return sum(at <= day for at in self.changes[number])

    def __call__(self, request: Request) -> Answer:
        number = int(request.path[1:]) if request.path[1:].isdecimal() else -1
        if not 0 <= number < len(self.changes):
            return Reply(status=404)
        links = [f"/{other}" for other in range(len(self.changes))] if number == 0 else []
        others = "" if number % 2 else "".join(f" w{word}{number}" for word in range(400))
        return page(f"version {self.version(number)}", *links, others=others)

    def fresh(self) -> float:
        """Return the share of stored pages that are up to date, weighted by relevance."""
        rows = self.web.rows("SELECT visits.url, title, relevance FROM pages JOIN visits USING (step)")
        fresh = total = 0.0
        for url, title, relevance in rows:
            is_fresh = title == f"version {self.version(int(str(url).rpartition('/')[2]))}"
            fresh, total = fresh + is_fresh * float(str(relevance)), total + float(str(relevance))
        return fresh / total


async def reached(changing: Changing, policy: str, start: Path) -> float:
    """Run refreshes on a copy of a directory; return the mean freshness half a day after each of the later ones."""
    web, begun = changing.web, changing.web.now
    web.directory = start.parent / policy
    shutil.copytree(start, web.directory)
    found = []
    for day in range(8):
        web.now = begun + (day + 1) * DAY
        await web.refreshed(pages=8, policy=policy)
        web.now += DAY / 2
        found.append(changing.fresh())
    web.now = begun
    return sum(found[2:]) / len(found[2:])


@LONG
def test_the_balanced_policy_keeps_more_pages_fresh_than_uniform_and_proportional(web: Web) -> None:
    """Test the whole process over HTTP: revisits are recorded, change rates are estimated, pages are chosen by both.

    Half of the pages have a low relevance, and a third of them change faster than they can be revisited, so the policy
    has a large effect. With each of eight seeds, `balanced` was better than the better of the other two, by .046 to
    .123 (mean .090). `bench/freshness.py` measures the gain on many other webs.
    """

    async def main() -> dict[str, float]:
        changing = Changing(web, [0.2, 0.2, 0.2, 0.2, 6.0, 6.0] * 7, 13, seed=0)
        async with Site(changing) as site:
            await web.crawled(site, Settings(**{**vars(SETTINGS), "distinct": False}))
            for _ in range(3):
                # Revisit all pages on some days, so that the change rates can be estimated.
                web.now += DAY
                await web.refreshed(pages=0)
            start, policies = web.directory, ("balanced", "uniform", "proportional")
            return {policy: await reached(changing, policy, start) for policy in policies}

    found = asyncio.run(main())
    assert found["balanced"] > max(found["uniform"], found["proportional"]), found


@pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell`")
@LONG
def test_rendered_pages_are_rendered_again(web: Web) -> None:
    data = ["mosquitoes"]
    script = f"fetch('/data').then(r => r.text()).then(text => document.body.append(text)) /* {'x' * 2000} */"

    async def scenario(site: Site) -> None:
        app = Reply(f"<body><script>{script}</script>".encode(), headers={"ETag": '"a"'})
        web.pages["/1"] = lambda request: Reply(status=304) if "if-none-match" in request.headers else app
        web.pages["/data"] = lambda request: Reply(f"Dengue fever and {data[0]}.".encode(), type="text/plain")
        await web.crawled(site, replace(SETTINGS, render="auto"))
        count = "SELECT outcome FROM revisits WHERE page = (SELECT id FROM pages WHERE url LIKE '%/1')"
        for text, settings in (("mosquitoes", {}), ("mosquitoes", {"render": "off"}), ("nets", {"render": "auto"})):
            data[0] = text
            web.now += DAY
            await web.refreshed(settings=settings)
        assert [outcome for (outcome,) in web.rows(f"{count} ORDER BY at")] == ["unchanged", "rendering", "changed"]
        (row,) = web.rows("SELECT detail FROM visits WHERE step = (SELECT step FROM pages WHERE url LIKE '%/1')")
        assert row == (RENDERED,)

    on_site(web, scenario)
