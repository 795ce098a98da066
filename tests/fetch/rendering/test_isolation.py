"""A rendered page reaches no server except through the crawler's HTTP client and its address guard."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER
from tests.helpers.site.server import Reply, Request, Site

from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.fetch.rendering import browser
from topicrawl.fetch.rendering.page_renderer import PageRenderer, RenderLimits
from topicrawl.models import Link, Response

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell`")

#: Attempts to reach `HOST:TCP` and `HOST:UDP`. The script reports each attempt in the document.
ATTACK = """
const create = (tag, set, parent) => (parent ?? document.body).append(Object.assign(document.createElement(tag), set));
const report = text => create('p', {textContent: text});
const attempt = (name, run) => { try { run(); report('tried ' + name) } catch (e) { report(name + ': ' + e) } };
const http = 'http://HOST:TCP', url = path => http + path;
for (const scheme of ['http', 'https']) for (const mode of ['cors', 'no-cors'])
    attempt('fetch', () => fetch(`${scheme}://HOST:TCP/fetch`, {mode}).then(() => report('reached'), () => {}));
attempt('post', () => fetch(url('/post'), {method: 'POST', body: 'x', mode: 'no-cors'}).catch(() => {}));
attempt('preflight', () => fetch(url('/put'), {method: 'PUT', headers: {'X-A': 'b'}}).catch(() => {}));
attempt('xhr', () => { const x = new XMLHttpRequest(); x.open('GET', url('/xhr')); x.send() });
for (const scheme of ['ws', 'wss'])
    attempt('WebSocket', () => { new WebSocket(`${scheme}://HOST:TCP/`).onopen = () => report('reached') });
attempt('EventSource', () => new EventSource(url('/events')));
attempt('beacon', () => navigator.sendBeacon(url('/beacon'), 'x'));
attempt('WebRTC', () => {
    const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:HOST:UDP'}, ...['udp', 'tcp'].map(transport => ({
        urls: `turn:HOST:${transport === 'udp' ? UDP : TCP}?transport=${transport}`,
        username: 'a', credential: 'b'}))]});
    peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer)) });
attempt('WebTransport', () => new WebTransport('https://HOST:UDP/').ready.catch(() => {}));
const inner = `fetch('${http}/worker').catch(() => {}); try { new WebSocket('ws://HOST:TCP/worker') } catch (e) {}
    try { importScripts('${http}/import') } catch (e) {}`;
attempt('Worker', () => new Worker(URL.createObjectURL(new Blob([inner]))));
attempt('SharedWorker', () => new SharedWorker(URL.createObjectURL(new Blob([inner]))));
attempt('ServiceWorker', () => navigator.serviceWorker.register('/worker.js').then(() => report('reached'), () => {}));
for (const tag of ['img', 'iframe', 'script', 'video', 'embed', 'audio'])
    attempt(tag, () => create(tag, {src: url('/' + tag)}));
attempt('object', () => create('object', {data: url('/object')}));
for (const rel of 'prefetch preconnect dns-prefetch preload modulepreload stylesheet manifest icon'.split(' '))
    attempt(rel, () => create('link', {rel, href: url('/' + rel), as: 'script'}, document.head));
const rules = {prefetch: [{urls: [url('/rule')]}], prerender: [{urls: [url('/rule')]}]};
attempt('rules', () => create('script', {type: 'speculationrules', textContent: JSON.stringify(rules)}));
attempt('font', () => { new FontFace('f', `url(${url('/font')})`).load().catch(() => {}) });
attempt('window', () => window.open(url('/window')));
attempt('ping', () => { const it = document.createElement('a'); it.href = '#x'; it.ping = url('/ping'); it.click() });
attempt('form', () => { const it = document.createElement('form'); it.action = url('/form'); it.method = 'post';
    it.target = 'frame'; document.body.append(it); it.submit() });
fetch('/data').then(answer => answer.text()).then(report);
"""


class ConnectionLog:
    """TCP and UDP servers that record each connection and packet."""

    def __init__(self, address: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.records: list[bytes] = []
        self._tcp = socket.create_server((address, 0), family=family)
        self._udp = socket.socket(family, socket.SOCK_DGRAM)
        self._udp.bind((address, 0))
        self.tcp_port: int = self._tcp.getsockname()[1]
        self.udp_port: int = self._udp.getsockname()[1]
        for run in (self._accept, self._receive):
            threading.Thread(target=run, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._tcp.accept()[0].close()
                self.records.append(b"TCP")

    def _receive(self) -> None:
        with contextlib.suppress(OSError):
            while packet := self._udp.recv(100):  # empty after `close`
                self.records.append(b"UDP " + packet)

    def close(self) -> None:
        """Close both servers."""
        for each in (self._tcp, self._udp):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextlib.contextmanager
def log_connections(address: str) -> Iterator[ConnectionLog]:
    log = ConnectionLog(address)
    try:
        yield log
    finally:
        log.close()


def render_attack(script: str) -> tuple[Response, list[str]]:
    """Render a page with a script. Return the response and the paths that its host received."""

    def answer(request: Request) -> Reply:
        requested.append(request.path)
        pages = {
            "/": ("text/html", "<body><script src='/attack.js'></script>"),
            "/attack.js": ("text/javascript", script),
            "/data": ("text/plain", "allowed data"),
        }
        if request.path not in pages:
            return Reply(b"no such page", status=404)
        kind, body = pages[request.path]
        return Reply(body.encode(), headers={"Content-Type": kind})

    async def run() -> Response:
        async with Site(answer) as site:
            # Only this name may have a private address, as with --resolve.
            settings = HttpSettings(host_overrides={"site.example": "127.0.0.1"})
            url = site.make_url("/").replace("127.0.0.1", "site.example")
            async with HttpClient(settings) as http:
                polite = PoliteFetcher(http, delay=0.0)
                async with PageRenderer(RenderLimits(seconds=20.0), polite.fetch_resource) as renderer:
                    response = await renderer.wrap_fetch(polite)(Link(url))
                    await asyncio.sleep(1.5)  # a packet that was sent late would still arrive
                    return response

    requested: list[str] = []
    return asyncio.run(run()), requested


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "host"), [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("::1", "[::1]")]
)
def test_a_script_reaches_no_other_server(address: str, host: str) -> None:
    with log_connections(address) as log:
        script = ATTACK.replace("HOST", host).replace("TCP", str(log.tcp_port)).replace("UDP", str(log.udp_port))
        response, requested = render_attack(script)
    assert response.readable is not None, response
    text = response.readable.body.decode()
    assert text.count("tried") > 30, "the script ran"
    assert "allowed data" in text
    assert "reached" not in text
    assert log.records == []
    assert set(requested) == {"/robots.txt", "/", "/attack.js", "/data"}


@pytest.mark.long
def test_the_attack_reaches_the_server_in_a_browser_without_isolation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page of the test above connects to the servers as soon as it may."""
    assert BROWSER is not None
    with log_connections("127.0.0.1") as log:
        script = ATTACK.replace("HOST", "127.0.0.1").replace("TCP", str(log.tcp_port)).replace("UDP", str(log.udp_port))
        page = tmp_path / "page.html"
        page.write_text(f"<body><script>{script}</script>")
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        subprocess.run([*command, "--timeout=3000", "--dump-dom", page.as_uri()], capture_output=True, check=True)
    kinds = {record[:3] for record in log.records}
    assert kinds == {b"TCP", b"UDP"}


@pytest.mark.long
def test_the_browser_flags_alone_block_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is passed on to the browser's own network fails too: the second line of defence."""
    from topicrawl.fetch.rendering.rendering_tab import RenderingTab

    async def pass_on(tab: RenderingTab, number: str, request: object) -> None:
        await tab._command("Fetch.continueRequest", requestId=number)

    async def pass_on_refused(tab: RenderingTab, number: str, reason: str = "") -> None:
        await tab._command("Fetch.continueRequest", requestId=number)

    assert "--dns-prefetch-disable" in browser._NETWORK_FLAGS
    with log_connections("127.0.0.1") as log:
        script = ATTACK.replace("HOST", "127.0.0.1").replace("TCP", str(log.tcp_port)).replace("UDP", str(log.udp_port))
        original = RenderingTab._send_request

        async def send_own_scripts(tab: RenderingTab, number: str, request: dict[str, str]) -> None:
            await (original if request["url"].endswith("/attack.js") else pass_on)(tab, number, request)  # type: ignore[arg-type]

        monkeypatch.setattr(RenderingTab, "_send_request", send_own_scripts)
        monkeypatch.setattr(RenderingTab, "_refuse", pass_on_refused)
        response, _ = render_attack(script)
    assert response.readable is not None, response
    assert b"tried" in response.readable.body
    assert log.records == []
