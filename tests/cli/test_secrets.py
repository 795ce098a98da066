"""Passwords, keys and tokens appear neither in the files nor in the output of a crawl."""

from __future__ import annotations

import socket
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers.crawl_files import read_files
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl.cluster.worker_session import export_settings
from topicrawl.settings import Settings

SECRET = "s3cr3t-of-the-proxy"
KEY = "k3y-of-the-engine"


@pytest.mark.parametrize("where", ["address", "environment"])
def test_the_password_of_a_proxy_is_not_stored(run, where: str, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    pages = make_chain_site(3)
    user = f"me:{SECRET}" if where == "address" else "me"
    monkeypatch.setenv("TOPICRAWL_PROXY_PASSWORD", SECRET)

    def proxy(path: str) -> tuple[int, Mapping[str, str], bytes]:
        return pages(path.removeprefix("http://site.example"))

    with live_site(proxy) as (address, asked):
        ran = run(
            "crawl",
            "dengue fever",
            "--seed",
            "http://site.example/0",
            "--proxy",
            address.replace("//", f"//{user}@"),
            "--delay",
            "0",
            "--min-free",
            "0",
            "--patience",
            "0.5",
        )
    assert ran.code == 0, ran.err
    assert "http://site.example/2" in asked, "the crawl used the proxy"
    everything = (
        read_files(Path("dengue-fever")) + run("status", "dengue-fever", "--json").out.encode() + ran.err.encode()
    )
    assert b"site.example" in everything
    for secret in (SECRET.encode(), b64encode(f"me:{SECRET}".encode())):
        assert secret not in everything


@pytest.mark.parametrize("proxy", [f"nonsense:{SECRET}", f"ftp://me:{SECRET}@proxy.example/"])
def test_an_invalid_proxy_is_rejected_without_printing_it(run, proxy: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue fever", "--seed", "http://site.example/0", "--proxy", proxy)
    assert ran.code == 2
    assert "proxy" in ran.err
    assert SECRET not in ran.err


def test_the_key_of_an_engine_is_in_no_message(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    with live_site(lambda path: (401, {}, b"no")) as (address, asked):
        # The proxy answers all requests to the engine with an error.
        ran = run("seeds", "dengue fever", "--engine", "brave", "--proxy", address)
    assert ran.code != 0
    assert KEY not in ran.out + ran.err
    assert all(KEY not in path for path in asked)


def test_the_password_in_a_seed_url_is_not_stored(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(make_chain_site(2)) as (address, _):
        seed = address.replace("//", f"//me:{SECRET}@")
        ran = run(
            "crawl",
            "dengue fever",
            "--seed",
            f"{seed}/0",
            "--allow-net",
            "127.0.0.0/8",
            "--delay",
            "0",
            "--min-free",
            "0",
            "--patience",
            "0.5",
        )
    assert ran.code == 0, ran.err
    assert SECRET.encode() not in read_files(Path("dengue-fever")) + ran.err.encode()


def test_neither_the_log_nor_the_metrics_contain_secrets_of_urls_and_cookies(run) -> None:  # type: ignore[no-untyped-def]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        watched = f"127.0.0.1:{free.getsockname()[1]}"
    links = f'<p>dengue fever <a href="/gone?page=1&amp;token={SECRET}">x</a> <a href="/last">y</a></p>'.encode()
    figures: list[str] = []

    def site(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/last":
            with urllib.request.urlopen(f"http://{watched}/metrics", timeout=10) as got:
                figures.append(got.read().decode())
        return (404 if "gone" in path else 200), {"Set-Cookie": f"session={SECRET}"}, links

    with live_site(site) as (address, asked):
        ran = run(
            "crawl",
            "dengue fever",
            "--seed",
            f"{address.replace('//', f'//me:{SECRET}@')}/0",
            "--log-format",
            "json",
            "--metrics",
            watched,
            "--concurrency",
            "1",
            "--allow-net",
            "127.0.0.0/8",
            "--delay",
            "0",
            "--min-free",
            "0",
        )
    assert ran.code == 0, ran.err
    assert f"/gone?page=1&token={SECRET}" in asked
    log = Path("dengue-fever/crawl.log").read_text("utf-8")
    assert f"{address}/gone?page=1&token=***" in log
    assert "topicrawl_pages_total" in figures[0]
    assert SECRET not in log + ran.err + ran.out + figures[0]


def test_the_settings_for_workers_contain_no_password() -> None:
    address = f"http://me:{SECRET}@10.0.0.1:8888/"
    settings = Settings(frontier=f"redis://:{SECRET}@10.0.0.5/0", proxy=address, searxng=address)
    published = str(export_settings(settings))
    assert SECRET not in published
    assert "10.0.0.1:8888" in published
