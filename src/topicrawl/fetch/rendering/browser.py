"""Start and stop a headless Chromium that has no network access of its own, with limits on its memory."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

from topicrawl.errors import SettingError
from topicrawl.fetch.rendering.devtools import DevToolsConnection, DevToolsError

#: Names of the browser, tried in this order. The headless shell is the smallest.
BROWSER_NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
#: All connections of the browser itself go to a proxy whose name does not exist. Names are never resolved, WebRTC sends
#: no UDP packets, and QUIC is disabled. `rendering_tab` answers the requests of pages.
_NETWORK_FLAGS = (
    "--proxy-server=http://blocked.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--dns-prefetch-disable",
    "--no-pings",
)
_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--block-new-web-contents",
    "--mute-audio",
    "--blink-settings=imagesEnabled=false",
    *_NETWORK_FLAGS,
)
# The shell limits the data of each process in KB, and gives the browser its pipes as descriptors 3 and 4.
_LAUNCH_SCRIPT = 'ulimit -d "$0" 2>/dev/null; exec "$@" 3<&0 4>&1 </dev/null >/dev/null'
_START_SECONDS = 20.0
_MIN_PROCESS_MEMORY = 400 << 20  # with less, the main process of the browser may crash with several tabs
_CHECK_SECONDS = 0.5  # seconds between two checks of the memory
_MAX_LOG_BYTES = 2000


def find_browser(name: str = "") -> str:
    """Return the path of the browser with this name or path, or of the first that is installed.

    Raise `SettingError` if there is none.
    """
    for candidate in (name,) if name else BROWSER_NAMES:
        if path := shutil.which(candidate):
            return path
    wanted = f"{name!r} is not a program" if name else "Chromium is not installed"
    raise SettingError(
        f"--render cannot find a browser: {wanted}; install it (Debian: apt install chromium-headless-shell), or name "
        "its program with --browser"
    )


class BrowserProcess:
    """A running browser with an empty profile. Create it with `start_browser`."""

    def __init__(self, process: asyncio.subprocess.Process, profile: Path, *, max_memory: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._profile, self._max_memory = process, profile, max_memory
        self.connection = DevToolsConnection(process.stdout, process.stdin)
        self.page_count = 0  # pages rendered so far
        self.active_pages = 0
        self.end_reason = ""  # why this process was killed
        self._log = b""
        self._tasks = [
            asyncio.create_task(self.connection.read_messages()),
            asyncio.create_task(self._read_log(process.stderr)),
            asyncio.create_task(self._watch_memory()),
        ]

    @property
    def pid(self) -> int:
        """Process id, which is the session id of all processes of the browser."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the browser accepts commands."""
        return not self.connection.is_closed

    def kill(self, reason: str) -> None:
        """Kill the processes of the browser. Pages that it renders fail with the reason."""
        self.end_reason = self.end_reason or reason
        if self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Kill the browser, and delete its profile."""
        self.kill("the crawl closed the browser")
        await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        await asyncio.to_thread(shutil.rmtree, self._profile, ignore_errors=True)

    def read_log(self) -> str:
        """Return the last line that the browser has written to its log."""
        lines = self._log.decode("utf-8", "replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    async def _read_log(self, stream: asyncio.StreamReader) -> None:
        """Read the log of the browser, and keep its end. Pages can write to it without limit."""
        while chunk := await stream.read(1 << 16):
            self._log = (self._log + chunk)[-_MAX_LOG_BYTES:]

    async def _watch_memory(self) -> None:
        """Kill the browser when all of its processes together exceed the limit. Only on Linux."""
        while self.is_running:
            if measure_session_memory(self._process.pid) > self._max_memory:
                self.kill(f"the browser used more than {self._max_memory >> 20} MB")
            await asyncio.sleep(_CHECK_SECONDS)


async def start_browser(path: str, *, max_memory: int, max_message: int) -> BrowserProcess:
    """Start a browser. Raise `SettingError` if it does not answer."""
    profile = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="topicrawl-browser-"))
    flags = [*_FLAGS, f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium refuses to run as root with its sandbox
    # One process may use half of the memory, so that the failure of a page hits only this page.
    arguments = [
        "-c",
        _LAUNCH_SCRIPT,
        str(max(max_memory // 2, _MIN_PROCESS_MEMORY) >> 10),
        path,
        *flags,
        "about:blank",
    ]
    # Passwords and keys in the environment of the crawler are not passed on.
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "TMPDIR") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environment, "HOME": str(profile)},
        cwd="/",
        limit=max_message,
        start_new_session=True,
    )
    browser = BrowserProcess(process, profile, max_memory=max_memory)
    try:
        async with asyncio.timeout(_START_SECONDS):
            await browser.connection.run_command("Browser.getVersion")
            await browser.connection.run_command("Browser.setDownloadBehavior", behavior="deny")
    except (TimeoutError, DevToolsError) as error:
        await asyncio.sleep(0)
        log = browser.end_reason or browser.read_log() or f"no answer within {_START_SECONDS:g} s"
        await browser.close()
        raise SettingError(f"the browser {path} cannot start: {log}") from error
    except BaseException:
        await browser.close()
        raise
    return browser


def measure_session_memory(session: int, proc: Path = Path("/proc")) -> int:
    """Return the bytes of memory of all processes of a session, without files; 0 if the system does not tell."""
    total = 0
    for entry in proc.glob("[0-9]*"):
        try:
            # The fields after the name: state, parent, process group, session. The name may contain spaces.
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[3]) != session:
                continue
            status = (entry / "status").read_bytes()
        except (OSError, IndexError, ValueError):
            continue  # the process has ended
        for line in status.splitlines():
            if line.startswith((b"RssAnon:", b"RssShmem:")):
                total += int(line.split()[1]) << 10
    return total
