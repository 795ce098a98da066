"""A real browser for tests: headless Chromium, driven by its own protocol."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
_KEYS = {"Enter": 13}


@dataclass
class Tab:
    """One page of the browser."""

    line: aiohttp.ClientWebSocketResponse
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def ask(self, method: str, **values: object) -> dict[str, Any]:
        number = next(self._numbers)
        await self.line.send_json({"id": number, "method": method, "params": values})
        while True:
            told: dict[str, Any] = await self.line.receive_json(timeout=300)
            if told.get("id") == number:
                return told

    async def call(self, method: str, **values: object) -> dict[str, Any]:
        told = await self.ask(method, **values)
        assert "error" not in told, told
        result: dict[str, Any] = told["result"]
        return result

    async def run(self, script: str) -> Any:
        """The value of an expression on the page, waited for if it is a promise."""
        told = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until an expression is true; another page may be loaded meanwhile."""
        # Looked at by the browser itself, every few frames; a page that goes away takes its look with it.
        look = f"""new Promise(done => {{ setTimeout(() => done(false), 2000); const look = async () => {{
            let told = false; try {{ told = Boolean(await ({script})); }} catch {{}}
            told ? done(true) : setTimeout(look, 30); }}; look(); }})"""
        for _ in range(60):
            told = await self.ask("Runtime.evaluate", expression=look, awaitPromise=True, returnByValue=True)
            if told.get("result", {}).get("result", {}).get("value") is True:
                return
        raise AssertionError(f"never true: {script}; the page says {await self.run('document.body.innerText')}")

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        await self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    async def key(self, key: str) -> None:
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def looks(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        size: dict[str, object] = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def picture(self, path: Path, *, height: int = 2600) -> None:
        """The page from its top, as far as it goes, and no further than `height`."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(height, size["height"]), "scale": 1}
        told = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(told["data"]))  # noqa: ASYNC240 - nothing else is to be done meanwhile


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Tab]:
    """A browser with one tab."""
    assert BROWSER is not None
    # As root a browser refuses its sandbox; the pages are our own.
    process = subprocess.Popen(  # noqa: ASYNC220 - nor here
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
         f"--user-data-dir={folder / 'profile'}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        address = next(line for line in process.stderr if "DevTools listening on" in line).split()[-1]
        async with aiohttp.ClientSession() as session:
            host = address.split("/")[2]
            async with session.get(f"http://{host}/json/list") as answer:
                tab = next(one for one in json.loads(await answer.text()) if one["type"] == "page")
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=1 << 26) as line:
                yield Tab(line)
    finally:
        # What is called is often a script that starts the browser: all of them must end, or they poll for ever.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
