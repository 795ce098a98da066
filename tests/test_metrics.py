"""Prometheus metrics: addresses and the HTTP server."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from topicrawl.errors import SettingError
from topicrawl.metrics import parse_address, serve_metrics


class Figures:
    """Collector of one counter and one gauge."""

    def __init__(self, value: float = 1) -> None:
        self.value = value

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily("figures_total", "Figures.", self.value)
        yield GaugeMetricFamily("level", "Level.", self.value)


class BrokenCollector:
    """Collector that raises an error."""

    def collect(self) -> Iterator[Metric]:
        raise OSError("the disk is gone")


def make_registry(*collectors: Figures | BrokenCollector) -> CollectorRegistry:
    registry = CollectorRegistry()
    for collector in collectors or (Figures(),):
        registry.register(collector)
    return registry


@pytest.mark.parametrize("address", ["9400", "host", "host:http", "::1:9400", "host:70000"])
def test_an_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(SettingError, match=r"127\.0\.0\.1:9400"):
        parse_address(address)


def get_port(url: str) -> int:
    return int(url.removeprefix("http://").partition("/")[0].rpartition(":")[2])


def send_request(port: int, method: str, path: str, host: str = "127.0.0.1") -> tuple[int, str, bytes]:
    """Return status, content type and body."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.headers.get("Content-Type", ""), response.read()
    finally:
        connection.close()


def test_the_server_answers_metrics_and_health() -> None:
    with serve_metrics("127.0.0.1:0", make_registry()) as url:
        port = get_port(url)
        assert url == f"http://127.0.0.1:{port}/metrics"
        for path in ("/metrics", "/metrics?x=1"):
            status, content_type, body = send_request(port, "GET", path)
            assert (status, content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
            assert b"\nfigures_total 1.0\n" in body
        assert send_request(port, "GET", "/health")[::2] == (200, b"ok\n")
        assert send_request(port, "HEAD", "/metrics")[::2] == (200, b"")
        assert send_request(port, "HEAD", "/health")[::2] == (200, b"")
        assert send_request(port, "HEAD", "/")[0] == 404
        status, _, body = send_request(port, "GET", "/")
        assert (status, b"use /metrics or /health" in body) == (404, True)
        assert send_request(port, "POST", "/metrics")[0] >= 400


def test_the_server_shows_current_values_and_ends_with_the_block() -> None:
    figures = Figures()
    before = set(threading.enumerate())
    with serve_metrics("127.0.0.1:0", make_registry(figures)) as url:
        figures.value = 7
        assert b"\nfigures_total 7.0\n" in send_request(get_port(url), "GET", "/metrics")[2]
    assert not any(thread.name == "metrics" for thread in set(threading.enumerate()) - before)
    with pytest.raises(ConnectionRefusedError):
        send_request(get_port(url), "GET", "/metrics")


@pytest.mark.parametrize("request_", [b"", b"GET /metrics", b"x" * 100_000, b"\r\n\r\n", b"\0\xff\r\n\r\n"])
def test_clients_that_do_not_send_http_do_no_harm(request_: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with serve_metrics("127.0.0.1:0", make_registry()) as url:
        port = get_port(url)
        with (
            socket.create_connection(("127.0.0.1", port)) as slow,
            socket.create_connection(("127.0.0.1", port)) as odd,
        ):
            slow.sendall(b"GET /met")
            odd.sendall(request_)
            assert send_request(port, "GET", "/health")[::2] == (200, b"ok\n")
    assert capfd.readouterr().err == ""


def test_an_error_in_a_collector_is_logged_and_the_server_continues(capfd: pytest.CaptureFixture[str]) -> None:
    with serve_metrics("127.0.0.1:0", make_registry(BrokenCollector())) as url:
        with pytest.raises(http.client.HTTPException):
            send_request(get_port(url), "GET", "/metrics")
        assert send_request(get_port(url), "GET", "/health")[0] == 200
    assert capfd.readouterr().err == ""


def test_two_crawls_in_one_process_have_their_own_metrics() -> None:
    first, second = make_registry(Figures(1)), make_registry(Figures(2))
    with serve_metrics("127.0.0.1:0", first) as one, serve_metrics("127.0.0.1:0", second) as two:
        assert b"\nlevel 1.0\n" in send_request(get_port(one), "GET", "/metrics")[2]
        assert b"\nlevel 2.0\n" in send_request(get_port(two), "GET", "/metrics")[2]


def test_an_empty_host_means_all_addresses() -> None:
    with serve_metrics(":0", make_registry()) as url:
        assert url.startswith("http://0.0.0.0:")
        assert send_request(get_port(url), "GET", "/health")[0] == 200
        if socket.has_dualstack_ipv6():
            assert send_request(get_port(url), "GET", "/health", "::1")[0] == 200


def test_a_port_in_use_is_reported_in_one_line() -> None:
    with serve_metrics("127.0.0.1:0", make_registry()) as url:
        address = f"127.0.0.1:{get_port(url)}"
        with (
            pytest.raises(SettingError, match="Address already in use") as caught,
            serve_metrics(address, make_registry()),
        ):
            pass
    assert str(caught.value).startswith(f"metrics cannot be served at {address}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["no-such-host.invalid:9400", "a..b:9400", "192.0.2.1:9400"])
def test_an_unusable_host_is_reported_in_one_line(address: str) -> None:
    message = f"^metrics cannot be served at {address}: "
    with pytest.raises(SettingError, match=message), serve_metrics(address, make_registry()):
        pass


def test_a_crawl_without_metrics_does_not_load_the_library() -> None:
    code = """if True:
        import asyncio, sys
        from topicrawl.cli import crawl, worker
        from topicrawl.cli.observability import check_metrics_address, expose_crawl_metrics
        import topicrawl.builder
        async def run():
            check_metrics_address("")
            async with expose_crawl_metrics("", None, None, directory=None) as url:
                assert url == ""
        asyncio.run(run())
        sys.exit("prometheus_client" in sys.modules)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
