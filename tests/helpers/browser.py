"""Headless Chromium for tests, controlled with the Chrome DevTools Protocol."""

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
class BrowserTab:
    """A tab of the browser."""

    socket: aiohttp.ClientWebSocketResponse
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def send_command(self, method: str, **values: object) -> dict[str, Any]:
        """Send a command and return the reply, which may be an error."""
        number = next(self._numbers)
        await self.socket.send_json({"id": number, "method": method, "params": values})
        while True:
            reply: dict[str, Any] = await self.socket.receive_json(timeout=300)
            if reply.get("id") == number:
                return reply

    async def run_command(self, method: str, **values: object) -> dict[str, Any]:
        """Send a command and return its result."""
        reply = await self.send_command(method, **values)
        assert "error" not in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; a promise is awaited."""
        reply = await self.run_command("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    async def wait_until(self, script: str) -> None:
        """Wait until a JavaScript expression is true; the tab may load another page meanwhile."""
        # The browser itself polls the expression. A page that is unloaded takes its poll with it, hence the loop.
        poll = f"""new Promise(done => {{ setTimeout(() => done(false), 2000); const poll = async () => {{
            let value = false; try {{ value = Boolean(await ({script})); }} catch {{}}
            value ? done(true) : setTimeout(poll, 30); }}; poll(); }})"""
        for _ in range(60):
            reply = await self.send_command("Runtime.evaluate", expression=poll, awaitPromise=True, returnByValue=True)
            if reply.get("result", {}).get("result", {}).get("value") is True:
                return
        raise AssertionError(f"never true: {script}; the page says {await self.evaluate('document.body.innerText')}")

    async def open(self, url: str) -> None:
        """Open a URL and wait until it is loaded."""
        await self.run_command("Page.navigate", url=url)
        await self.wait_until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    async def press_key(self, key: str) -> None:
        """Press a key."""
        await self.run_command("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        await self.run_command("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def set_viewport(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Set the size of the window and the colour scheme."""
        size: dict[str, object] = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.run_command("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.run_command("Emulation.setEmulatedMedia", features=features)

    async def save_screenshot(self, path: Path, *, height: int = 2600) -> None:
        """Save a screenshot of the page from its top, at most `height` pixels high."""
        size = (await self.run_command("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(height, size["height"]), "scale": 1}
        result = await self.run_command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(result["data"]))  # noqa: ASYNC240 - no other task runs meanwhile


@asynccontextmanager
async def open_browser(folder: Path) -> AsyncIterator[BrowserTab]:
    """Start a browser and yield its tab."""
    assert BROWSER is not None
    # Chromium refuses to run as root with its sandbox; the tests open only our own pages.
    process = subprocess.Popen(  # noqa: ASYNC220 - no other task runs meanwhile
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder / 'profile'}",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        address = next(line for line in process.stderr if "DevTools listening on" in line).split()[-1]
        async with aiohttp.ClientSession() as session:
            host = address.split("/")[2]
            async with session.get(f"http://{host}/json/list") as response:
                tab = next(target for target in json.loads(await response.text()) if target["type"] == "page")
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=1 << 26) as line:
                yield BrowserTab(line)
    finally:
        # The executable is often a script that starts the browser, so kill the whole process group.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
