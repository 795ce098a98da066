"""Tests of options for scope, hosts, the settings file, dry runs and notices, with a live site."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import click
import pytest
from tests.cli.conftest import Run
from tests.helpers.crawl_files import read_files
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl import cli
from topicrawl.cli.setting_options import NETWORK_SETTINGS
from topicrawl.collection.store import CollectionStore
from topicrawl.settings import Settings

OPTIONS = ("--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5", "--no-sitemaps")
SECRET = "s3cr3t-of-the-wiki"


def build_site(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Return a front page with links to sections; /moved redirects into a section."""
    if path == "/moved":
        return 301, {"Location": "/private/2"}, b""
    if path == "/robots.txt":
        return 404, {}, b""
    links = "".join(
        f'<p><a href="/{name}">{name}</a></p>' for name in ("docs/1", "docs/2?print=1", "private/1", "moved")
    )
    word = path.replace("/", "x").replace("?", "x")
    return 200, {}, f"<title>{word}</title><p>dengue fever {word} {word}a {word}b {word}c</p>{links}".encode()


def list_pages(asked: list[str]) -> list[str]:
    return sorted(path for path in asked if path != "/robots.txt")


def test_patterns_limit_which_links_are_followed(run: Run) -> None:
    with live_site(build_site) as (address, asked):
        ran = run(
            "crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS, "--include", f"{address}/docs/*",
            "--include", r"re:/mo\w+$", "--exclude", "*print=1", "--exclude", "re:/private/",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    # The seed matches no pattern. The redirect to /private/2 is not followed.
    assert list_pages(asked) == ["/", "/docs/1", "/moved"]


def test_patterns_in_the_settings_file_of_the_current_directory(run: Run) -> None:
    Path("topicrawl.toml").write_text('exclude = ["*/private/*", "*print*", "*/moved"]\npages = 50\n')
    with live_site(build_site) as (address, asked):
        ran = run("crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS)
    assert ran.code == 0, ran.err
    assert "settings from topicrawl.toml" in ran.err
    assert list_pages(asked) == ["/", "/docs/1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--exclude", "re:("], "is not a regular expression"),
        (["--include", ""], "empty"),
        (["--exclude", "*example.org/*"], "matches a pattern of --exclude"),
        (["--user-agent", "my bot"], "MyBot/1.0"),
        (["--config", "hosts.toml"], "hosts.'a.org'"),
        (["--webhook", "nonsense"], "--webhook is not a web address"),
        (["--on-completion", "'"], "--on-completion is not a command"),
    ],
)
def test_invalid_options_are_usage_errors(run: Run, arguments: list[str], message: str) -> None:
    Path("hosts.toml").write_text("[hosts.'a.org']\ndelay = 'long'\n")
    ran = run("crawl", "dengue fever", "--seed", "http://example.org/", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert not Path("dengue-fever").exists()


def test_host_settings_limit_pages_and_are_stored(run: Run) -> None:
    with live_site(make_chain_site(9)) as (address, asked):
        host = address.removeprefix("http://")
        Path("topicrawl.toml").write_text(f"[hosts.'{host}']\npages = 3\ndelay = 0.01\n")
        arguments = ("--seed", f"{address}/0", *OPTIONS, "--host-pages", "0", "--user-agent", "MyBot/2.1")
        ran = run("crawl", "dengue fever", *arguments)
        Path("topicrawl.toml").unlink()
        again = run("crawl", "dengue fever", *arguments)
    assert (ran.code, again.code) == (0, 0), ran.err + again.err
    assert list_pages(asked) == ["/0", "/1", "/2"], "the limit of the first run is stored"
    store = CollectionStore(Path("dengue-fever/topicrawl.sqlite"), readonly=True)
    settings = store.get_fact("settings")
    store.close()
    assert isinstance(settings, dict)
    assert settings["hosts"] == {host: {"delay": 0.01, "pages": 3}}


@contextmanager
def protected_site() -> Iterator[tuple[str, list[str]]]:
    """Start a site that requires a password, an API key and a cookie. Yield its address and the accepted paths."""
    accepted: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_accepted = (
                self.headers["Authorization"] is not None
                and self.headers["X-Api-Key"] == SECRET
                and f"session={SECRET}" in (self.headers["Cookie"] or "")
            )
            body = b"<p>no"
            if is_accepted:
                accepted.append(self.path)
                body = make_chain_site(3)(self.path)[2]
            self.send_response(200 if is_accepted else 401)
            self.send_header("Content-Type", "text/html")
            self.send_header("Set-Cookie", f"session={SECRET}-renewed")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", accepted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_credentials_are_in_no_file_log_export_or_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_SECRET", SECRET)
    everything = ""
    with protected_site() as (address, accepted):
        host = address.removeprefix("http://")
        lines = [
            f"[hosts.'{host}']",
            "allow_http = true",
            'credentials = "me:${WIKI_SECRET}"',
            'headers = { X-Api-Key = "${WIKI_SECRET}" }',
            'cookies = { session = "${WIKI_SECRET}" }',
        ]
        Path("topicrawl.toml").write_text("\n".join(lines))
        for arguments in (
            ("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--json", "--no-robots"),
            ("refresh", "dengue-fever"),
            ("status", "dengue-fever", "--json"),
            ("why", "dengue-fever", f"{address}/1"),
            ("export", "dengue-fever", "--to", "jsonl", "--out", "pages.jsonl", "--relevance", "0"),
            ("export", "dengue-fever", "--to", "warc", "--out", "pages.warc.gz", "--relevance", "0"),
        ):
            ran = run(*arguments)
            assert ran.code == 0, ran.err
            everything += ran.out + ran.err
        monkeypatch.delenv("WIKI_SECRET")
        ran = run("crawl", "dengue fever", "--pages", "2000")
        assert ran.code == 2
        assert "WIKI_SECRET" in ran.err
    assert [path for path in accepted if path != "/robots.txt"][:3] == ["/0", "/1", "/2"]
    stored = read_files(Path())
    assert b"${WIKI_SECRET}" in stored
    encoded = "bWU6czNjcjN0"  # the beginning of "me:s3cr3t…" in base 64
    for secret in (SECRET, encoded):
        assert secret not in everything + ran.err
        assert secret.encode() not in stored


def test_a_dry_run_shows_the_first_urls_and_sends_no_request(run: Run) -> None:
    with live_site(make_chain_site(9)) as (address, asked):
        seeds = ("--seed", f"{address}/0", "--seed", f"{address}/5")
        ran = run("crawl", "dengue fever", *seeds, *OPTIONS, "--dry-run")
        assert (ran.code, asked) == (0, [])
        assert ran.out.splitlines() == [f"1.000  {address}/0", f"1.000  {address}/5"]
        assert not Path("dengue-fever").exists()
        assert run("crawl", "dengue fever", *seeds[:2], *OPTIONS, "--pages", "2").code == 0
        sent = len(asked)
        ran = run("crawl", "dengue fever", *OPTIONS, "--dry-run", "--json")
        assert (ran.code, len(asked)) == (0, sent)
    report = json.loads(ran.out)
    assert (report["event"], report["resumed"]) == ("dry_run", True)
    assert f"{address}/2" in [row["url"] for row in report["urls"]]
    assert run("crawl", "other topic", "--dry-run").code == 2


def test_a_command_and_a_webhook_get_the_summary(run: Run) -> None:
    posted: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *values: object) -> None:
            pass

    hook = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=hook.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    script = "import pathlib, sys; pathlib.Path('summary.json').write_text(sys.stdin.read())"
    try:
        with live_site(make_chain_site(3)) as (address, _):
            ran = run(
                "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS,
                "--webhook", f"http://127.0.0.1:{hook.server_port}/{SECRET}",
                "--on-completion", f'{sys.executable} -c "{script}"',
            )  # fmt: skip
    finally:
        hook.shutdown()
        hook.server_close()
    assert ran.code == 0, ran.err
    summary = json.loads(Path("summary.json").read_text())
    assert [json.loads(body) for body in posted] == [summary]
    assert (summary["exit_code"], summary["pages"], summary["reason"]) == (0, 3, "frontier empty")
    assert SECRET.encode() not in read_files(Path("dengue-fever")) + ran.err.encode()


def test_a_failing_notice_is_a_warning(run: Run) -> None:
    with live_site(make_chain_site(2)) as (address, _):
        ran = run(
            "crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--on-completion", "/missing/command",
            "--webhook", f"{address}/{SECRET}",
        )  # fmt: skip
    assert ran.code == 0
    assert "/missing/command" in ran.err
    assert "the webhook on 127.0.0.1" in ran.err
    assert SECRET not in ran.err


def test_a_refresh_sends_a_notice_also_after_an_error(run: Run) -> None:
    script = "import pathlib, sys; pathlib.Path('summary.json').open('a').write(sys.stdin.read())"
    refresh = (
        "refresh",
        "dengue-fever",
        "--allow-net",
        "127.0.0.0/8",
        "--on-completion",
        f'{sys.executable} -c "{script}"',
    )
    with live_site(make_chain_site(2)) as (address, _):
        assert run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS).code == 0
        assert run(*refresh).code == 0
    Path("dengue-fever/topic.toml").unlink()
    assert run(*refresh).code == 3
    done, failed = map(json.loads, Path("summary.json").read_text().splitlines())
    assert (done["exit_code"], done["outcomes"]) == (0, {"unchanged": 2})
    assert (failed["exit_code"], "topic.toml" in failed["error"]) == (3, True)


def test_every_command_that_fetches_has_the_network_options() -> None:
    for words in (["crawl"], ["worker"], ["seeds"], ["topic", "build"], ["refresh"], ["search"], ["serve"]):
        command: click.Command | None = cli.root_command
        for word in words:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word)
        assert command is not None
        names = {parameter.name for parameter in command.params}
        assert {*NETWORK_SETTINGS, "config"} <= names, words


def test_negative_options_have_hyphens() -> None:
    crawl = cli.root_command.get_command(click.Context(cli.root_command), "crawl")
    assert crawl is not None
    options = [name for parameter in crawl.params for name in (*parameter.opts, *parameter.secondary_opts)]
    assert "--no-main-text" in options
    assert not [name for name in options if "_" in name]


def test_shell_completion_lists_commands_options_and_values() -> None:
    from click.shell_completion import BashComplete

    completion = BashComplete(cli.root_command, {}, "topicrawl", "_TOPICRAWL_COMPLETE")
    assert "crawl" in [item.value for item in completion.get_completions([], "cr")]
    assert "--exclude" in [item.value for item in completion.get_completions(["crawl"], "--ex")]
    for option, start, value in (
        ("--strategy", "app", "apprentice"),
        ("--judge", "cos", "cosine"),
        ("--render", "", "off"),
    ):
        assert value in [item.value for item in completion.get_completions(["crawl", option], start)]


def test_a_shared_crawl_has_no_page_limits_of_hosts() -> None:
    from topicrawl.errors import SettingError
    from topicrawl.fetch.host_settings import HostSettings

    with pytest.raises(SettingError, match="shared crawl"):
        Settings(frontier="redis://127.0.0.1/0", hosts={"a.org": HostSettings(pages=3)})
