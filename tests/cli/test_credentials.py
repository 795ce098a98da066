"""Credentials of every kind appear in no file, log, export, API answer or error message, also after failures."""

from __future__ import annotations

import json
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.conftest import Run
from tests.helpers.crawl_files import read_files
from tests.helpers.site.server import Answer, Reply, Request, Site, make_redirect
from tests.helpers.site.threaded import run_site
from tests.helpers.web_client import serve_collections

KINDS = ("seed", "netrc", "env", "header", "cookie", "proxy", "webhook", "locked", "nowhere", "dead")
#: Each secret has characters that change in URLs and in base64.
SECRETS = {kind: f"{kind}Pass7+/~x" for kind in KINDS}
TEXT = "<p>Dengue fever is spread by mosquitoes; patients with dengue fever need rest. On"
HOSTS = ("seed", "netrc", "env", "header", "cookie", "proxied", "refused", "locked", "dead")


def encode_basic(secret: str) -> str:
    """Return the value of the header Authorization for a password."""
    return "Basic " + b64encode(f"me:{secret}".encode()).decode()


def find_secrets(content: str | bytes) -> list[str]:
    """Return the kinds of secrets that the content contains, as they are, percent-encoded or in base64."""
    raw = content.encode() if isinstance(content, str) else content
    found = []
    for kind, secret in SECRETS.items():
        # The first part is the same in URLs. In base64, the text depends on the position modulo three.
        forms = [
            secret[: len(kind) + 5],
            *(b64encode(b"x" * skip + secret.encode())[4:-4].decode() for skip in range(3)),
        ]
        found += [f"{kind}: {form}" for form in forms if form.encode() in raw]
    return found


def answer_request(request: Request) -> Answer:
    """Answer as the host in the request. Most hosts want one kind of credentials."""
    kind = request.host.partition(".")[0]
    given = request.headers
    if request.path == "/robots.txt":
        return Reply(status=404)
    authorization = given.get("authorization")
    is_allowed = {
        "netrc": authorization == encode_basic(SECRETS["netrc"]),
        "env": authorization == encode_basic(SECRETS["env"]),
        "header": given.get("x-api-key") == SECRETS["header"],
        "cookie": f"session={SECRETS['cookie']}" in given.get("cookie", ""),
        "locked": False,
    }.get(kind, authorization is None)
    if not is_allowed:
        return Reply(b"no", status=401, headers={"WWW-Authenticate": 'Basic realm="x"', "Set-Cookie": "a=b"})
    if request.path == "/moved":
        return make_redirect(f"http://seed.test:{request.host.rpartition(':')[2]}/from-{kind}", 302)
    links = "".join(f'<p><a href="{path}">dengue fever {path}</a>' for path in ("/next", "/moved", "/missing"))
    if request.path == "/missing":
        return Reply(b"no such page", status=404)
    own = f"{kind}{request.path.strip('/')}"
    return Reply(f"<title>{own}</title>{TEXT} {own} {own[::-1]} {own}um {own}ibus.{links}".encode())


def answer_as_proxy(request: Request) -> Answer:
    """Forward a request to the host `proxied`. Refuse all others."""
    if "refused" in request.path or request.headers.get("proxy-authorization") != encode_basic(SECRETS["proxy"]):
        return Reply(b"no", status=407, headers={"Proxy-Authenticate": 'Basic realm="x"'})
    path = "/" + request.path.split("/", 3)[3]
    return answer_request(Request(request.at, request.host, path, request.headers))


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def write_settings(path: Path, port: int, proxy_port: int) -> None:
    proxy = f"http://me:${{PROXY_PASSWORD}}@127.0.0.1:{proxy_port}"
    dead = f"http://me:${{DEAD_PASSWORD}}@127.0.0.1:{find_free_port()}"
    hosts = {
        "netrc": 'credentials = "netrc"',
        "env": 'credentials = "me:${ENV_PASSWORD}"',
        "header": 'headers = { X-Api-Key = "${HEADER_KEY}" }',
        "cookie": 'cookies = { session = "${COOKIE_VALUE}" }',
        "locked": 'credentials = "me:${LOCKED_PASSWORD}"',
        "proxied": f'proxy = "{proxy}"',
        "refused": f'proxy = "{proxy}"',
        "dead": f'proxy = "{dead}"',
        "nowhere": 'credentials = "me:${NOWHERE_PASSWORD}"',
    }
    lines = [
        'allow_net = ["127.0.0.0/8"]',
        "delay = 0.0\nmin_free = 0\npatience = 0.3\nattempts = 2\ndistinct = false",
        f"resolve = {json.dumps([f'{host}.test=127.0.0.1' for host in HOSTS])}",
        *(f'[hosts."{host}.test:{port}"]\nallow_http = true\n{setting}' for host, setting in hosts.items()),
    ]
    path.write_text("\n".join(lines) + "\n")


@contextmanager
def run_servers(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Run the site and its proxies, and set the files and variables of the crawl. Yield the site."""
    with run_site(answer_request) as site, run_site(answer_as_proxy) as proxy:
        write_settings(Path("topicrawl.toml"), site.port, proxy.port)
        netrc = Path("netrc")
        netrc.write_text(f"machine netrc.test login me password {SECRETS['netrc']}\n")
        netrc.chmod(0o600)
        monkeypatch.setenv("NETRC", str(netrc))
        names = {"env": "ENV_PASSWORD", "header": "HEADER_KEY", "cookie": "COOKIE_VALUE"}
        for kind in ("proxy", "locked", "nowhere", "dead", *names):
            value = quote(SECRETS[kind], safe="") if kind in ("proxy", "dead") else SECRETS[kind]
            monkeypatch.setenv(names.get(kind, f"{kind.upper()}_PASSWORD"), value)
        monkeypatch.setenv("TOPICRAWL_WEBHOOK", f"http://127.0.0.1:{find_free_port()}/{SECRETS['webhook']}")
        yield site


def list_seeds(site: Site) -> list[str]:
    user = f"me:{quote(SECRETS['seed'], safe='')}"
    hosts = [f"{user}@seed", "netrc", "env", "header", "cookie", "proxied", "refused", "locked", "dead", "nowhere"]
    return [word for host in hosts for word in ("--seed", f"http://{host}.test:{site.port}/")]


EXPORTS = (("jsonl",), ("csv",), ("parquet",), ("warc",), ("markdown",), ("jsonl", "--text", "none"))


def find_secrets_in_files(*folders: str) -> list[str]:
    """Return the files that contain secrets, also compressed ones."""
    paths = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    leaks = [f"{path}: {kind}" for path in paths for kind in find_secrets(path.read_bytes())]
    return leaks + [f"{folder}: {kind}" for folder in folders for kind in find_secrets(read_files(Path(folder)))]


def test_a_crawl_with_credentials_stores_and_prints_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = ["crawl", "dengue fever"]
    with run_servers(run, monkeypatch) as site:
        outputs = [run(*crawl, *list_seeds(site), "--dry-run", "--json")]
        crawled = run(*crawl, *list_seeds(site), "--log-format", "json", "--json")
        refreshed = run("refresh", "dengue-fever", "--pages", "20")
        assert (crawled.code, refreshed.code) == (0, 0), crawled.err + refreshed.err
        Path("exports").mkdir()
        for number, options in enumerate(EXPORTS):
            exported = run("export", "dengue-fever", "--all", "--out", f"exports/{number}", "--to", *options)
            assert exported.code == 0, exported.err
            outputs.append(exported)
        urls = [f"http://{host}.test:{site.port}/" for host in (*HOSTS, "nowhere")]
        outputs += [crawled, refreshed, *(run("why", "dengue-fever", url) for url in urls)]
        requested = {(request.host.partition(".")[0], request.path) for request in site.log}
    outputs += [run(command, "dengue-fever", "--json") for command in ("status", "doctor")]
    pages = run("export", "dengue-fever", "--to", "jsonl", "--all", "--out", "-").out
    for host in ("seed", "netrc", "env", "header", "cookie", "proxied"):
        assert f"http://{host}.test:{site.port}/next" in pages, f"{host} accepted the credentials"
    assert ("seed", "/from-env") in requested, "a host with credentials redirects to one without"
    log = Path("dengue-fever/crawl.log").read_text("utf-8")
    for failure in ("status 407", "status 401", "dns", "Connect call failed"):
        assert failure in log
    assert not [secret for ran in outputs for secret in find_secrets(ran.out + ran.err)]
    assert not find_secrets_in_files("dengue-fever", "exports")


def test_the_server_answers_and_stores_no_credentials(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_servers(run, monkeypatch) as site:
        Path("crawls").mkdir()
        with serve_collections([Path("crawls")], config=Path("topicrawl.toml")) as client:
            fields = {"words": "dengue fever", "seeds": [word for word in list_seeds(site) if word != "--seed"]}
            headers = {"content_type": "application/json", "origin": client.origin}
            answers = [client.send_request("POST", "/api/crawls", json.dumps(fields).encode(), **headers)]
            assert answers[0].status in (200, 201, 202), answers[0].text
            path = "/api/collections/dengue-fever"
            until = time.monotonic() + 60
            while (
                json.loads(client.get(path).text).get("pages", 0) < 12 or json.loads(client.get(path).text)["crawling"]
            ):
                assert time.monotonic() < until, client.get(path).text
                time.sleep(0.2)
            answers += [client.get(f"{path}{name}") for name in ("", "/pages", "/hosts", "/export?format=jsonl&all=1")]
            answers += [client.get(name) for name in ("/", "/c/dengue-fever", "/api/search?q=dengue")]
            answers += [client.get(f"{path}/page", url=f"http://{host}.test:{site.port}/") for host in HOSTS]
            bad = {"words": "owls", "seeds": [f"ftp://me:{quote(SECRETS['seed'], safe='')}@seed.test/"]}
            answers.append(client.send_request("POST", "/api/crawls", json.dumps(bad).encode(), **headers))
    assert answers[-1].status == 400
    assert not [secret for answer in answers for secret in find_secrets(f"{answer.headers} {answer.text}")]
    assert not find_secrets_in_files("crawls")


SEED = quote(SECRETS["seed"], safe="")
USER = f"me:{SEED}"
CRAWL = ("crawl", "dengue fever", "--min-free", "0", "--patience", "0.2", "--attempts", "1")
#: Command lines that fail. All contain a password, a token or a webhook.
FAILING = {
    "port of a seed": (*CRAWL, "--seed", f"http://{USER}@127.0.0.1:99999/"),
    "scheme of a seed": (*CRAWL, "--seed", f"ftp://{USER}@a.test/"),
    "host of a seed": (*CRAWL, "--seed", f"http://{USER}@/"),
    "private seed": (*CRAWL, "--seed", f"http://{USER}@127.0.0.1:1/"),
    "excluded seed": (*CRAWL, "--seed", f"http://{USER}@a.test/", "--exclude", "*a.test*"),
    "line of a file of seeds": (*CRAWL, "--seeds", "seeds.txt"),
    "missing file of seeds": (*CRAWL, "--seeds", f"http://{USER}@a.test/"),
    "scheme of a webhook": (*CRAWL, "--seed", "http://a.test/", "--webhook", f"ftp://a.test/{SEED}"),
    "private webhook": (*CRAWL, "--seed", "http://127.0.0.1:1/", "--webhook", f"http://127.0.0.1:1/{SEED}"),
    "webhook that does not answer": (
        *(*CRAWL, "--allow-net", "127.0.0.0/8", "--seed", "http://127.0.0.1:1/"),
        *("--webhook", f"http://me:{SEED}@127.0.0.1:1/{SEED}"),
    ),
    "proxy that does not answer": (*CRAWL, "--seed", "http://a.test/", "--proxy", f"http://{USER}@127.0.0.1:1"),
    "port of a proxy": (*CRAWL, "--seed", "http://a.test/", "--proxy", f"http://{USER}@127.0.0.1:99999"),
    "proxy that is not encoded": (*CRAWL, "--seed", "http://a.test/", "--proxy", f"http://me:{SECRETS['seed']}@a"),
    "search engine": (*CRAWL, "--engine", "searxng", "--searxng", f"http://{USER}@127.0.0.1:1/"),
    "address of a search engine": (*CRAWL, "--engine", "searxng", "--searxng", f"http://{USER}@[/"),
    "seeds of a search engine": ("seeds", "owls", "--engine", "searxng", "--searxng", f"http://{USER}@127.0.0.1:1/"),
    "shared crawl": (*CRAWL, "--seed", "http://a.test/", "--frontier", f"redis://{USER}@127.0.0.1:1/0"),
    "address of a shared crawl": (*CRAWL, "--seed", "http://a.test/", "--frontier", f"redis://{USER}@127.0.0.1:x/0"),
    "worker": ("worker", f"redis://{USER}@127.0.0.1:1/0", "dengue"),
    "reviewer": (*CRAWL, "--seed", "http://a.test/", "--reviewer", f"http://{USER}@a.test/v1"),
    "reviewer with a query": (*CRAWL, "--seed", "http://a.test/", "--reviewer", f"http://a.test/v1?key={SEED}"),
    "crawl of another server": (*CRAWL, "--seed", "http://a.test/", "--share-with", f"http://{USER}@127.0.0.1:1/api/x"),
    "search server": ("search", "owls", f"http://{USER}@127.0.0.1:1"),
    "example": ("topic", "build", "owls", "--page", f"http://{USER}@127.0.0.1:1/"),
    "seed without a scheme": (*CRAWL, "--seed", f"{USER}@a.test/"),
    "number": (*CRAWL, "--seed", "http://a.test/", "--delay", f"http://{USER}@a.test/"),
    "page to explain": ("why", "missing", f"http://{USER}@a.test/"),
    "network": (*CRAWL, "--seed", "http://a.test/", "--allow-net", f"http://{USER}@a.test/"),
    "pattern": (*CRAWL, "--seed", "http://a.test/", "--include", f"re:http://{USER}@a.test/("),
    "user agent": (*CRAWL, "--seed", "http://a.test/", "--user-agent", f"http://{USER}@a.test/\n"),
    "settings file": (*CRAWL, "--seed", "http://a.test/", "--config", "settings.toml"),
    "value of a setting": (*CRAWL, "--seed", "http://a.test/", "--config", "values.toml"),
    "name of a setting": (*CRAWL, "--seed", "http://a.test/", "--config", "names.toml"),
    "resolve": (*CRAWL, "--seed", "http://a.test/", "--resolve", f"http://{USER}@a.test"),
    "object store": (*CRAWL, "--seed", "http://a.test/", "--store", f"ftp://{USER}@127.0.0.1:1/x"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failing_command_prints_no_credentials(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICRAWL_REVIEWER_KEY", SECRETS["header"])
    Path("seeds.txt").write_text(f"http://a.test/\nhttp://{USER}@a.test:port/\n")
    Path("settings.toml").write_text(f'proxy = "http://{USER}@a.test\n')
    Path("values.toml").write_text(f'proxy = ["http://{USER}@a.test"]\n')
    Path("names.toml").write_text(f'[hosts."{USER}@a.test"]\ndelay = 1.0\n')
    ran = run(*FAILING[name])
    assert ran.code in (0, 2, 3, 5), ran.out + ran.err
    assert ran.err
    assert not find_secrets(ran.out + ran.err)
    if Path("dengue-fever").exists():
        assert not find_secrets_in_files("dengue-fever")
