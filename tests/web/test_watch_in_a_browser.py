"""Watch a collection in a browser: live updates keep the page as it is, and a killed server is reported."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER, open_browser
from tests.helpers.markers import LONG
from tests.helpers.search_collections import create_collection, make_page
from tests.helpers.server_process import create_client, run_server_process

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"
)


@LONG
def test_watched_page_updates_in_place_and_reports_a_killed_server(tmp_path: Path) -> None:
    create_collection(tmp_path / "owls", [make_page(number, "owls") for number in range(20)])

    async def watch() -> None:
        with run_server_process(tmp_path) as (process, address):
            client = create_client(address)
            async with open_browser(tmp_path) as tab:
                await tab.open(f"{client.origin}/c/owls")
                await tab.wait_until("document.querySelector('#curve canvas') && document.title.startsWith('■ 20')")
                assert await tab.evaluate("document.querySelector('#curve').innerText.includes('Relevant pages')")
                # A text that the user is writing, and its focus, survive an update.
                await tab.evaluate("""document.querySelector('[name=target]').focus();
                    document.querySelector('[name=target]').value = 'https://draft.example/';
                    document.querySelector('.figures').dataset.kept = 'yes'""")
                create_collection(tmp_path / "owls", [make_page(number, "owls") for number in range(20, 25)], first=21)
                await tab.wait_until("document.querySelector('.figures dd').innerText.startsWith('25')")
                assert await tab.evaluate("document.activeElement.name + document.activeElement.value") == (
                    "targethttps://draft.example/"
                )
                assert await tab.evaluate("document.getElementById('offline').hidden")
                process.kill()
                process.wait()
                await tab.wait_until("!document.getElementById('offline').hidden")
                assert "not reachable" in await tab.evaluate("document.title")

    asyncio.run(watch())
