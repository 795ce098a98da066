"""Rendering of pages in a real browser."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER
from tests.helpers.live_site import live_site

from topicrawl.errors import SettingError
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.fetch.rendering import page_renderer
from topicrawl.fetch.rendering.browser import measure_session_memory
from topicrawl.fetch.rendering.page_renderer import PARTLY_RENDERED, RENDERED, PageRenderer, RenderLimits
from topicrawl.models import Failure, Link, Response

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell`")

#: Identifier of a user without privileges, who needs no account.
_ORDINARY_USER = 65534

Answers = Mapping[str, "tuple[int, Mapping[str, str], str] | str"]


async def with_renderer(
    work: Callable[[PageRenderer, Callable[[str], Awaitable[Response]]], Awaitable[None]],
    limits: RenderLimits,
    *,
    robots: bool = True,
) -> None:
    """Open a renderer with a polite fetcher for loopback addresses, and pass it to `work` with its fetch function."""
    settings = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]))
    async with HttpClient(settings) as http:
        polite = PoliteFetcher(http, delay=0.0, robots=robots)
        async with PageRenderer(limits, polite.fetch_resource, polite.seconds_until_free) as renderer:
            wrapped = renderer.wrap_fetch(polite)
            await work(renderer, lambda url: wrapped(Link(url)))


def render(answers: Answers, path: str = "/", limits: RenderLimits | None = None) -> tuple[Response, list[str]]:
    """Render a page of a site. Return the response and the requested paths."""
    found: list[Response] = []

    async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
        found.append(await fetch(f"{address}{path}"))

    with live_site(lambda path: build_answer(answers, path)) as (address, requested):
        asyncio.run(with_renderer(work, limits or RenderLimits(seconds=20.0)))
    return found[0], requested


def build_answer(answers: Answers, path: str) -> tuple[int, Mapping[str, str], bytes]:
    answer = answers.get(path, (404, {}, "no such page"))
    status, headers, body = (200, {}, answer) if isinstance(answer, str) else answer
    return status, headers, body.encode()


def get_html(response: Response) -> str:
    assert response.readable is not None, response
    return response.readable.body.decode()


def test_scripts_and_their_data_build_the_page() -> None:
    script = """
        customElements.define('x-note', class extends HTMLElement { constructor() { super();
            this.attachShadow({mode: 'open'}).innerHTML = '<p>Text of a component</p>'; } });
        fetch('/data.json', {headers: {'X-App': 'reader'}}).then(r => r.json()).then(data => {
            document.title = 'Built'; document.getElementById('root').innerHTML =
                `<p>${data.text}</p><a href="/next">Next page</a><x-note></x-note><img src="/picture.png">`; });"""
    response, requested = render(
        {
            "/": '<title>Empty</title><link rel="stylesheet" href="/style.css"><div id="root"></div>'
            '<iframe src="/frame"></iframe><script src="/app.js"></script>',
            "/app.js": (200, {"Content-Type": "text/javascript"}, script),
            "/data.json": (200, {"Content-Type": "application/json"}, json.dumps({"text": "Dengue is a fever äöü."})),
        }
    )
    html = get_html(response)
    assert "Dengue is a fever äöü." in html
    assert '<a href="/next">' in html
    assert "<div><p>Text of a component</p></div>" in html
    assert b"Empty" in response.body, "the original response is kept"
    assert response.detail == RENDERED
    assert requested == ["/robots.txt", "/", "/app.js", "/data.json"], "no style sheets, frames and pictures"


def test_an_empty_page_gets_time_for_its_timers() -> None:
    script = "setTimeout(() => { document.body.innerHTML = '<p>Dengue is a fever.</p>'; }, 1500)"
    response, _ = render({"/": f"<div id=root></div><script>{script}</script>"})
    assert "Dengue is a fever." in get_html(response)


def test_a_page_that_stays_empty_is_complete() -> None:
    response, _ = render({"/": "<div id=root></div><script>let a = 'nothing to show'</script>"})
    assert response.detail == RENDERED


def test_only_pages_without_text_are_rendered() -> None:
    text = "<p>A page with a sentence that needs no script.</p><script>document.body.textContent = ''</script>"
    response, _ = render({"/": text})
    assert response.readable is None
    response, _ = render({"/": text}, limits=RenderLimits(always=True, seconds=20.0))
    assert response.readable is not None
    assert "sentence" not in get_html(response).partition("<script>")[0]


def test_robots_txt_applies_to_scripts() -> None:
    response, requested = render(
        {
            "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private/\n"),
            "/": "<body><script src='/private/app.js'></script><script src='/app.js'></script>",
            "/private/app.js": "document.body.append('secret')",
            "/app.js": "document.body.append('public')",
        }
    )
    assert "public" in get_html(response)
    assert "/private/app.js" not in requested


def test_a_redirect_by_a_script_is_not_followed_but_returned() -> None:
    response, requested = render({"/": "<script src='/go.js'></script>", "/go.js": "location.href = '/app#/start'"})
    assert response.is_unfollowed_redirect
    assert response.final_url.endswith("/app")
    assert "/app" not in requested


@pytest.mark.long
def test_requests_that_change_something_are_not_sent() -> None:
    script = "<script>document.title='x';fetch('/buy', {method: 'POST', body: 'a=1'}); navigator.sendBeacon('/log');"
    submit = (
        "</script><form id=f method=post action=/send></form><script>document.getElementById('f').submit()</script>"
    )
    response, requested = render({"/": script + "/*" + "x" * 500 + "*/" + submit})
    assert requested == ["/robots.txt", "/"]
    assert response.failure is None


@pytest.mark.long
def test_a_script_that_never_ends_is_a_failure_and_the_next_page_is_rendered() -> None:
    failures: list[Response] = []
    answers = {
        "/": "<body><script src='/loop.js'></script>",
        "/loop.js": "document.body.append('started'); for (;;) {}",
        "/good": "<body><script src='/good.js'></script>",
        "/good.js": "document.body.append('works')",
        "/poll": "<body><script src='/poll.js'></script>",
        "/poll.js": "let n = 0; setInterval(() => { document.body.append('tick '); fetch('/' + n++) }, 50)",
    }

    async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
        failures.append(await fetch(f"{address}/"))
        assert "works" in get_html(await fetch(f"{address}/good"))
        polling = await fetch(f"{address}/poll")
        assert "tick" in get_html(polling)
        assert polling.detail == PARTLY_RENDERED

    with live_site(lambda path: build_answer(answers, path)) as (address, _), pytest.MonkeyPatch.context() as patch:
        patch.setattr("topicrawl.fetch.rendering.rendering_tab._READ_SECONDS", 2.0)
        asyncio.run(with_renderer(work, RenderLimits(seconds=1.5)))
    assert failures[0].failure is Failure.RENDERING
    assert "did not end" in failures[0].detail


@pytest.mark.long
def test_a_crash_of_the_browser_is_a_failure_and_the_next_page_is_rendered() -> None:
    answers = {
        "/": "<body><script src='/kill.js'></script>",
        "/good": "<body><script src='/good.js'></script>",
        "/good.js": "document.body.append('works')",
    }

    async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
        assert renderer._browser is not None
        pids.append(renderer._browser.pid)
        failed = await fetch(f"{address}/")
        assert (failed.failure, failed.detail) == (Failure.RENDERING, "the browser ended unexpectedly")
        assert "works" in get_html(await fetch(f"{address}/good"))

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/kill.js":
            os.killpg(pids[0], signal.SIGKILL)
        return build_answer(answers, path)

    pids: list[int] = []
    with live_site(answer) as (address, _):
        asyncio.run(with_renderer(work, RenderLimits(seconds=20.0)))


@pytest.mark.long
def test_a_page_that_takes_too_much_memory_is_a_failure() -> None:
    script = "const kept = []; for (;;) kept.push(new Array(1 << 20).fill(kept.length))"
    response, _ = render(
        {"/": "<body><script src='/big.js'></script>", "/big.js": script},
        limits=RenderLimits(seconds=20.0, max_memory=512 << 20),
    )
    assert response.failure is Failure.RENDERING
    assert "memory" in response.detail or "MB" in response.detail


@pytest.mark.long
def test_all_processes_of_the_browser_together_have_a_memory_limit() -> None:
    # Three pages, each in a process below its own limit.
    script = """const kept = []; let n = 0; setInterval(() => fetch(`/${n++}`), 99);
        for (let n = 0; n < 20; n++) { kept.push(new Uint8Array(10 << 20)); kept.at(-1).fill(7) }"""
    answers = {"/app.js": script, **dict.fromkeys(("/a", "/b", "/c"), "<body><script src='/app.js'></script>")}
    responses: list[Response] = []

    async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
        responses.extend(await asyncio.gather(*(fetch(f"{address}{path}") for path in ("/a", "/b", "/c"))))

    with live_site(lambda path: build_answer(answers, path)) as (address, _):
        asyncio.run(with_renderer(work, RenderLimits(seconds=20.0, max_memory=512 << 20)))
    assert {(each.failure, each.detail) for each in responses} == {
        (Failure.RENDERING, "the browser used more than 512 MB")
    }


@pytest.mark.long
def test_the_number_of_rendered_pages_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_renderer, "MAX_BROWSER_PAGES", 2)  # also replaces the browser
    answers = {"/app.js": "document.body.append('works')"}
    pages = {f"/{number}": "<body><script src='/app.js'></script>" for number in range(5)}
    pids = set()

    async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
        for number in range(4):
            assert "works" in get_html(await fetch(f"{address}/{number}"))
            pids.add(renderer._browser.pid if renderer._browser is not None else 0)
        assert (await fetch(f"{address}/4")).readable is None

    with live_site(lambda path: build_answer(answers | pages, path)) as (address, requested):
        asyncio.run(with_renderer(work, RenderLimits(seconds=20.0, pages=4)))
    assert len(pids) > 1
    assert requested.count("/app.js") == 1, "scripts are fetched once per run"


def test_nothing_is_left_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pids: list[int] = []

    async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
        assert renderer._browser is not None
        pids.append(renderer._browser.pid)
        assert measure_session_memory(pids[0]) > 0

    asyncio.run(with_renderer(work, RenderLimits()))
    assert measure_session_memory(pids[0]) == 0, "no process is left"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_browser_is_an_error_with_a_hint() -> None:
    async def fetch(url: str, page_url: str, headers: Mapping[str, str]) -> Response:
        raise AssertionError

    with pytest.raises(SettingError, match="apt install chromium-headless-shell"):
        PageRenderer(RenderLimits(), fetch, browser="no-such-browser")


def test_a_program_that_is_no_browser_is_an_error() -> None:
    async def open_renderer() -> None:
        async with PageRenderer(RenderLimits(), lambda *_: asyncio.Future(), browser="false"):
            pass

    with pytest.raises(SettingError, match="cannot start"):
        asyncio.run(open_renderer())


def read_command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")
def test_an_ordinary_user_renders_with_the_sandbox() -> None:
    page = f"<body><script>document.body.append('Text ' + 'of a script') /* {'x' * 2000} */</script>"
    response, _ = render({"/": page})  # loads all modules, which the other user may not be allowed to read
    assert "Text of a script" in get_html(response)

    def render_as_user() -> None:
        os.setgroups([])
        os.setresgid(_ORDINARY_USER, _ORDINARY_USER, _ORDINARY_USER)
        os.setresuid(_ORDINARY_USER, _ORDINARY_USER, _ORDINARY_USER)
        tempfile.tempdir = str(home)

        async def work(renderer: PageRenderer, fetch: Callable[[str], Awaitable[Response]]) -> None:
            html = get_html(await fetch(f"{address}/"))
            assert renderer._browser is not None
            found.append(f"{b'--no-sandbox' in read_command(renderer._browser.pid)} {html}")

        found: list[str] = []
        asyncio.run(with_renderer(work, RenderLimits(seconds=20.0)))
        result.write_text(found[0])

    with tempfile.TemporaryDirectory() as folder:  # unlike `tmp_path`, readable for the other user
        home, result = Path(folder), Path(folder, "result")
        os.chown(home, _ORDINARY_USER, _ORDINARY_USER)
        with live_site(lambda path: build_answer({"/": page}, path)) as (address, _):
            child = multiprocessing.get_context("fork").Process(target=render_as_user)
            child.start()
            child.join(60)
        assert child.exitcode == 0
        used_flag, _, html = result.read_text().partition(" ")
        assert used_flag == "False"
        assert "Text of a script" in html.replace("<script", "")
        assert list(home.iterdir()) == [result], "the profile is removed"
