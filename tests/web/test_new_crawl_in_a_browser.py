"""Start a crawl from the form in a browser: it leads to the new crawl, and the text of the form is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER, BrowserTab, open_browser
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.markers import LONG
from tests.helpers.web_client import WebClient, serve_collections

from topicrawl.builder.stored_settings import load_topic_and_settings

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"),
]
PAGES = 8


async def fill_form(tab: BrowserTab, **values: str) -> None:
    """Enter texts into the form for a new crawl, as a user does."""
    for name, value in values.items():
        await tab.evaluate(
            f"(() => {{ const field = document.querySelector('form[action=\"/crawls\"] [name={name}]');"
            f" field.value = {value!r}; field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
        )


async def run_story(tab: BrowserTab, client: WebClient, site: str) -> None:
    read = "document.querySelector('form[action=\"/crawls\"] [name={}]').value"
    start = "document.querySelector('form[action=\"/crawls\"] button.main').click()"
    await tab.open(f"{client.origin}/")
    # A seed that is no URL: the form is shown again with its text.
    await fill_form(tab, words="dengue fever", seeds="nonsense://x", pages="5", only="127.0.0.1", depth="9")
    await tab.evaluate(start)
    await tab.wait_until("document.querySelector('[role=alert]:not([hidden])')")
    assert await tab.evaluate(read.format("words")) == "dengue fever"
    assert await tab.evaluate(read.format("only")) == "127.0.0.1"
    await fill_form(tab, seeds=f"{site}/0")
    await tab.evaluate(start)
    # The crawl leads to its page, at first while it starts.
    await tab.wait_until("location.pathname === '/c/dengue-fever' && document.querySelector('.figures')")
    await tab.wait_until("document.querySelector('.state').innerText === 'finished'")
    await tab.wait_until("document.querySelector('.figures dd').innerText === '5 of 5'")
    await tab.open(f"{client.origin}/")
    assert await tab.evaluate(read.format("seeds")) == f"{site}/0"
    assert await tab.evaluate(read.format("depth")) == "9"
    # The table of collections shows another crawl, without a new request of the page.
    await tab.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
    assert await tab.evaluate("document.querySelectorAll('.collections td.url').length") == 1
    fields = f"words: 'mosquitoes', pages: 3, seeds: '{site}/0'"
    await tab.evaluate(
        f"fetch('/crawls', {{ method: 'POST', body: new URLSearchParams({{ {fields} }}) }}).then(it => it.ok)"
    )
    await tab.wait_until("document.querySelectorAll('.collections td.url').length === 2")
    assert await tab.evaluate("document.querySelector('h1').dataset.kept") == "yes"
    await tab.evaluate("document.querySelector('[data-clear]').click()")
    await tab.open(f"{client.origin}/")
    assert await tab.evaluate(read.format("seeds")) == ""


def test_crawl_started_from_the_form_is_shown_and_the_text_is_kept(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    config = tmp_path / "settings.toml"
    config.write_text('allow_net = ["127.0.0.0/8"]\ndelay = 0.0\ntimeout = 5.0\ndocuments = false\ndistinct = false\n')

    async def run(client: WebClient, site: str) -> None:
        async with open_browser(tmp_path) as tab:
            await run_story(tab, client, site)

    with (
        live_site(make_chain_site(PAGES)) as (site, _),
        serve_collections([tmp_path / "shelf"], config=config) as client,
    ):
        asyncio.run(run(client, site))
    _, settings = load_topic_and_settings(tmp_path / "shelf" / "dengue-fever", {})
    assert (settings.pages, settings.only, settings.depth) == (5, ("127.0.0.1",), 9)


def test_crawl_that_cannot_start_shows_its_error_and_the_form(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    config = tmp_path / "settings.toml"
    config.write_text("delay = 'long'\n")

    async def run(client: WebClient) -> None:
        async with open_browser(tmp_path) as tab:
            await tab.open(f"{client.origin}/")
            await fill_form(tab, words="dengue", seeds="http://127.0.0.1/")
            await tab.evaluate("document.querySelector('form[action=\"/crawls\"] button.main').click()")
            await tab.wait_until("location.pathname === '/c/dengue' && document.body.innerText.includes('not start')")
            assert "delay" in await tab.evaluate("document.querySelector('[role=alert] pre').innerText")
            assert await tab.evaluate("document.querySelector('[name=seeds]').value") == "http://127.0.0.1/"

    with serve_collections([tmp_path / "shelf"], config=config) as client:
        asyncio.run(run(client))
