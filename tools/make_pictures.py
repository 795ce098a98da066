"""Take the screenshot of the web application for the README and the guide: the page of a running crawl.

    python tools/make_pictures.py [docs/pictures]

The script serves a collection directory, starts a crawl of the sample web in a headless browser, annotates a few pages
as relevant or irrelevant, and takes the screenshot while the crawl runs. It needs
`apt-get install chromium-headless-shell` and fonts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.helpers.browser import BrowserTab, open_browser  # noqa: E402 - found from here on
from tests.helpers.web_client import serve_collections as shelf_served  # noqa: E402

from topicrawl.sample_web.server import serve_in_subprocess as web_served  # noqa: E402
from topicrawl.sample_web.web import SampleWeb  # noqa: E402

_WIDTH = 1280
_PAGES = 200  # pages of the crawl when the screenshot is taken
_LARGEST = 150_000  # maximum size of the screenshot in bytes


async def start_crawl(tab: BrowserTab, own: str, seeds: list[str]) -> None:
    """Start a crawl, annotate four pages and wait until the crawl has `_PAGES` pages."""
    await tab.set_viewport(_WIDTH)
    await tab.run_command("Emulation.setScrollbarsHidden", hidden=True)
    await tab.open(f"{own}/")
    lines = "\\n".join(seeds)
    await tab.evaluate(f"""document.querySelector("[name=words]").value = "dengue fever";
        document.querySelector("[name=seeds]").value = "{lines}";
        document.querySelector("[name=pages]").value = 1000;
        document.querySelector("form[action='/crawls'] button").click()""")
    await tab.wait_until("document.querySelector('.collections a')")
    await tab.open(f"{own}/c/dengue-fever")
    await tab.wait_until("parseInt(document.querySelector('.figures dd').innerText) >= 60")
    await tab.open(f"{own}/c/dengue-fever/review")
    for key in "yyny":
        url = await tab.evaluate("document.querySelector('[name=url]').value")
        await tab.press_key(key)
        await tab.wait_until(
            f"document.readyState === 'complete' && document.querySelector('[name=url]').value !== '{url}'"
        )
    await tab.open(f"{own}/c/dengue-fever")
    await tab.wait_until(f"parseInt(document.querySelector('.figures dd').innerText) >= {_PAGES}")


async def main(folder: Path) -> None:
    """Write the screenshot to a folder."""
    # The browser may still write to its profile after it was terminated.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, web_served(SampleWeb()) as web:
        shelf, config = Path(name) / "shelf", Path(name) / "settings.toml"
        shelf.mkdir()
        resolve = ", ".join(f'"{host}=127.0.0.1"' for host in web.hosts)
        config.write_text(f'allow_net = ["127.0.0.0/8"]\nresolve = [{resolve}]\ndelay = 1.0\ntimeout = 3.0\n')
        with shelf_served([shelf], config=config) as client:
            async with open_browser(Path(name)) as tab:
                await start_crawl(tab, client.origin, list(web.get_seeds("dengue fever")))
                port = web.get_seeds("dengue fever")[0].split(":")[2].partition("/")[0]
                # All hosts of the sample web share one port, which is removed from the screenshot.
                await tab.evaluate(f"""for (const it of document.querySelectorAll("main *"))
                    for (const text of it.childNodes)
                        if (text.nodeType === 3) text.data = text.data.replaceAll(":{port}", "")""")
                end = await tab.evaluate(
                    "document.querySelector('.next li:nth-child(2)').getBoundingClientRect().bottom"
                )
                await tab.save_screenshot(folder / "watch.png", height=round(end))


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    place.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(place))
    size = (place / "watch.png").stat().st_size
    if size > _LARGEST:
        sys.exit(f"{place / 'watch.png'} has {size} bytes; the limit is {_LARGEST}")
