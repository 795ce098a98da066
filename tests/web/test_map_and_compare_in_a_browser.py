"""The link map, the comparison and the training in a browser: click, search, zoom, hover values and warnings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER, BrowserTab, open_browser
from tests.helpers.search_collections import create_collection
from tests.helpers.web_client import serve_collections

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"
)
HOSTS = ("barn.example", "tawny.example", "www.snowy-owl-research-station.example")


def use_collection(tmp_path: Path, path: str, use: Callable[[BrowserTab], Awaitable[None]]) -> None:
    """Create a collection of pages on several hosts, and open a page of the application in a browser."""
    pages = [(f"http://{host}/{number}", f"Page {number}", "owls") for host in HOSTS for number in range(4)]
    directory = create_collection(tmp_path / "owls", pages)
    (directory / "tries").mkdir()
    for name, step in (("best_first", 1), ("breadth_first", 2)):
        rows = [
            {"url": url if number % step == 0 else "http://other.example/"} for number, (url, *_) in enumerate(pages)
        ]
        (directory / "tries" / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    async def run(origin: str) -> None:
        async with open_browser(tmp_path / "profile") as tab:
            await tab.set_viewport(1000)
            await tab.open(f"{origin}{path}")
            await use(tab)

    with serve_collections([tmp_path]) as client:
        asyncio.run(run(client.origin))


def test_hosts_of_the_map_are_chosen_found_and_zoomed(tmp_path: Path) -> None:
    async def use(tab: BrowserTab) -> None:
        panel = "document.getElementById('chosen').innerText"
        await tab.wait_until("!document.getElementById('map-tools').hidden")
        box = await tab.evaluate(
            "(() => { const node = document.querySelector('[data-host=\"tawny.example\"] circle');"
            " const box = node.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await tab.run_command(
                "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
            )
        assert (await tab.evaluate(panel)).startswith("tawny.example\n\n4 pages")
        link = await tab.evaluate("document.querySelector('#chosen a').getAttribute('href')")
        assert link == "/c/owls/host?name=tawny.example"
        await tab.evaluate("""(() => { const field = document.getElementById('find-host');
            field.value = 'snowy'; field.dispatchEvent(new Event('input')); })()""")
        assert (await tab.evaluate(panel)).startswith(HOSTS[2])
        assert await tab.evaluate("document.querySelectorAll('.node.dim').length") == 2
        width = "document.querySelector('#map svg').getBoundingClientRect().width"
        before = await tab.evaluate(width)
        await tab.evaluate("document.getElementById('zoom-in').click()")
        await tab.wait_until(f"{width} > {before} * 1.2")
        await tab.evaluate("document.getElementById('zoom-reset').click()")
        await tab.wait_until(f"Math.abs({width} - {before}) < 1")
        # A narrow window shows the beginnings of the names in a readable size.
        await tab.set_viewport(390)
        label = "document.querySelector('[data-host=\"barn.example\"] text')"
        scale = "document.querySelector('#map svg').getBoundingClientRect().width / 760"
        assert await tab.evaluate(f"parseFloat(getComputedStyle({label}).fontSize) * {scale}") >= 11
        assert await tab.evaluate("getComputedStyle(document.querySelector('.node .rest')).display") == "none"

    use_collection(tmp_path, "/c/owls/map", use)


def test_comparison_shows_hover_values_and_limits_the_choice(tmp_path: Path) -> None:
    async def use(tab: BrowserTab) -> None:
        await tab.wait_until("document.querySelector('#comparison canvas')")
        legend = "document.querySelector('#comparison .u-legend').innerText"
        box = await tab.evaluate(
            "(() => { const box = document.querySelector('#comparison .u-over').getBoundingClientRect();"
            " return [box.right - 2, box.y + 40]; })()"
        )
        await tab.run_command("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        await tab.wait_until(f"{legend}.includes('12 = 100 % (76–100)') && {legend}.includes('6 = 50 % (25–75)')")
        assert await tab.evaluate("document.querySelector('td[data-label=\"95 % interval\"]').innerText") == "76–100 %"
        # The seventh strategy is reported before the form is sent.
        await tab.evaluate(
            "[...document.querySelectorAll('[name=strategy]:not(:disabled)')].slice(0, 7).forEach(box => box.click())"
        )
        note = await tab.evaluate("document.getElementById('chosen-count').innerText")
        assert note.startswith("7 strategies are chosen: clear 1 of them")
        assert await tab.evaluate("document.querySelector('#choice button.main').disabled")
        await tab.evaluate("document.querySelector('[name=strategy]:checked').click()")
        assert not await tab.evaluate("document.querySelector('#choice button.main').disabled")

    use_collection(tmp_path, "/compare?name=owls", use)


def test_training_warns_about_little_data(tmp_path: Path) -> None:
    async def use(tab: BrowserTab) -> None:
        text = await tab.evaluate("document.getElementById('little-data').innerText")
        assert text.startswith("There is little data: 0 clicks and 0 relevant pages.")

    use_collection(tmp_path, "/c/owls/teach", use)
