"""Makes the picture of the web application that the README and the guide show: a crawl that is being watched.

    python tools/make_pictures.py [docs/pictures]

Serves a shelf, starts a crawl of the made-up web in a real headless browser as a visitor would, says of a few pages
whether they are relevant, and takes the picture while the crawl runs. Needs `apt-get install chromium-headless-shell`
and fonts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.web.browser import Tab, browser  # noqa: E402 - found from here on
from tests.web.served import served as shelf_served  # noqa: E402

from topicrawl.lab.sample import SampleWeb  # noqa: E402
from topicrawl.lab.serve import served as web_served  # noqa: E402

_WIDTH = 1280
_PAGES = 200  # that the crawl has when the picture is taken
_LARGEST = 150_000  # bytes


async def watched(tab: Tab, own: str, seeds: list[str]) -> None:
    """A crawl in the middle, to which readers have said something."""
    await tab.looks(_WIDTH)
    await tab.call("Emulation.setScrollbarsHidden", hidden=True)
    await tab.open(f"{own}/")
    lines = "\\n".join(seeds)
    await tab.run(f"""document.querySelector("[name=words]").value = "dengue fever";
        document.querySelector("[name=seeds]").value = "{lines}";
        document.querySelector("[name=pages]").value = 1000;
        document.querySelector("form[action='/crawls'] button").click()""")
    await tab.until("document.querySelector('.collections a')")
    await tab.open(f"{own}/c/dengue-fever")
    await tab.until("parseInt(document.querySelector('.figures dd').innerText) >= 60")
    await tab.open(f"{own}/c/dengue-fever/review")
    for key in "yyny":
        url = await tab.run("document.querySelector('[name=url]').value")
        await tab.key(key)
        await tab.until(f"document.readyState === 'complete' && document.querySelector('[name=url]').value !== '{url}'")
    await tab.open(f"{own}/c/dengue-fever")
    await tab.until(f"parseInt(document.querySelector('.figures dd').innerText) >= {_PAGES}")


async def main(folder: Path) -> None:
    # A browser that was ended may still write into its profile.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, web_served(SampleWeb()) as web:
        shelf, config = Path(name) / "shelf", Path(name) / "settings.toml"
        shelf.mkdir()
        resolve = ", ".join(f'"{host}=127.0.0.1"' for host in web.hosts)
        config.write_text(f'allow_net = ["127.0.0.0/8"]\nresolve = [{resolve}]\ndelay = 1.0\ntimeout = 3.0\n')
        with shelf_served([shelf], config=config) as client:
            async with browser(Path(name)) as tab:
                await watched(tab, client.own, list(web.seeds("dengue fever")))
                port = web.seeds("dengue fever")[0].split(":")[2].partition("/")[0]
                # All hosts of the made-up web are on one port, which says nothing to anyone.
                await tab.run(f"""for (const it of document.querySelectorAll("main *"))
                    for (const text of it.childNodes)
                        if (text.nodeType === 3) text.data = text.data.replaceAll(":{port}", "")""")
                end = await tab.run("document.querySelector('.next li:nth-child(2)').getBoundingClientRect().bottom")
                await tab.picture(folder / "watch.png", height=round(end))


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    place.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(place))
    size = (place / "watch.png").stat().st_size
    if size > _LARGEST:
        sys.exit(f"{place / 'watch.png'} has {size} bytes, {_LARGEST} are the most")
