"""Passwords come from outside and are never shown; TLS is checked; a user with few rights is enough."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.redis_server import MISSING, REASON, running

from topicrawl.errors import SettingError, TopicrawlError
from topicrawl.frontier.redis_address import PASSWORD, PASSWORD_FILE, checked, password, without_password
from topicrawl.frontier.redis_server import connected

needs_redis = pytest.mark.skipif(MISSING, reason=REASON)
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed: make test-system")
_SECRETS = st.text("abcXYZ019-_.~!$", min_size=4).map(lambda text: f"PW{text}")


@given(_SECRETS, st.sampled_from(["redis://u:{}@h:1/0", "rediss://:{}@h/0#c", "redis://u@h/0?password={}&db=1"]))
def test_what_is_shown_of_an_address_never_has_the_password(secret: str, address: str) -> None:
    assert secret not in without_password(address.format(secret))


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("http://h/", "redis://host:6379/0"),
        ("redis://h/0?password=hush", "REDISCLI_AUTH"),
        ("rediss://h/0?ssl_cert_reqs=none", "unknown option 'ssl_cert_reqs'"),
        ("redis://h/0?ssl_ca_certs=/ca.pem", "rediss://"),
        ("rediss://h/0?ssl_ca_certs=/no/such.pem", "cannot be read: /no/such.pem"),
    ],
    ids=["scheme", "password as an option", "unknown option", "TLS without TLS", "no such file"],
)
def test_an_address_that_would_not_do_is_refused_before_anybody_is_asked(address: str, line: str) -> None:
    with pytest.raises(SettingError) as refused:
        checked(address)
    assert line in str(refused.value)
    assert "hush" not in str(refused.value)


def test_the_password_of_a_file_wins_over_the_environment_and_that_of_the_address_over_both(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("of the file\n")
    environment = {PASSWORD: "of the environment", PASSWORD_FILE: str(path)}
    assert password("redis://me@h/0", environment) == "of the file"
    assert password("redis://h/0", {PASSWORD: "of the environment"}) == "of the environment"
    assert password("redis://me:here@h/0", environment) is None
    assert password("redis://h/0", {}) is None
    with pytest.raises(SettingError, match="cannot be read"):
        password("redis://h/0", {PASSWORD_FILE: str(tmp_path / "none")})


async def answer(address: str) -> str:
    """What came of connecting: "" if the server will do, else the line of the error."""
    try:
        await (await connected(address)).close()
    except TopicrawlError as error:
        return str(error)
    return ""


@needs_redis
def test_a_user_in_the_address_gets_its_password_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "users.acl"
    users.write_text(
        "user default off\nuser crawler on >hush ~{topicrawl}* +@all -@admin -@dangerous +info +keys +bgrewriteaof\n"
    )
    (tmp_path / "password").write_text("hush\n")
    (tmp_path / "wrong").write_text("other\n")
    with running(tmp_path / "redis", "--aclfile", str(users)) as server:
        address = server.address.replace("redis://", "redis://crawler@")
        assert "ACL SETUSER" in asyncio.run(answer(address))
        monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "wrong"))
        assert "invalid username-password pair" in asyncio.run(answer(address))
        monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "password"))
        assert asyncio.run(answer(address)) == ""


@dataclass(frozen=True)
class Tls:
    """A server that speaks TLS on one port and plainly on another, and where its certificates are."""

    folder: Path
    port: int
    plain: str

    def address(self, *options: str, host: str = "localhost") -> str:
        return f"rediss://{host}:{self.port}/0?{'&'.join(option.format(self.folder) for option in options)}"


def certified(folder: Path) -> None:
    """An authority, and a certificate of its for a server on this machine, as strict as Python 3.13 wants them."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = "subjectAltName=DNS:localhost"
    for words in (
        ("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority",
         "-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        ("req", "-x509", *key, "-keyout", "own.key", "-out", "own.pem", "-subj", "/CN=localhost", "-addext", names,
         "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "ca.pem", "-CAkey", "ca.key"),
    ):  # fmt: skip
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tls]:
    folder = tmp_path_factory.mktemp("tls")
    certified(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--tls-port", str(port), "--tls-cert-file", "own.pem", "--tls-key-file", "own.key",
               "--tls-ca-cert-file", "ca.pem", "--tls-auth-clients", "yes")  # fmt: skip
    with running(folder, *options) as server:
        yield Tls(folder, port, server.address)


CA, CERTIFICATE, KEY = "ssl_ca_certs={0}/ca.pem", "ssl_certfile={0}/own.pem", "ssl_keyfile={0}/own.key"


@needs_redis
@needs_openssl
def test_tls_with_an_authority_and_a_certificate_of_ones_own_works(tls: Tls) -> None:
    assert asyncio.run(answer(tls.address(CA, CERTIFICATE, KEY))) == ""


@needs_redis
@needs_openssl
@pytest.mark.parametrize(
    ("host", "options", "line"),
    [
        ("localhost", (), "ssl_ca_certs="),
        ("localhost", (CA,), "ssl_certfile="),
        ("127.0.0.1", (CA, CERTIFICATE, KEY), "its certificate is for another name"),
    ],
    ids=["unknown authority", "no certificate of ours", "another name"],
)
def test_tls_that_would_not_be_safe_is_refused_with_what_mends_it(
    tls: Tls, host: str, options: tuple[str, ...], line: str
) -> None:
    assert line in asyncio.run(answer(tls.address(*options, host=host)))


@needs_redis
@needs_openssl
def test_taking_the_port_for_tls_for_the_plain_one_is_told(tls: Tls) -> None:
    assert "write rediss://" in asyncio.run(answer(f"redis://localhost:{tls.port}/0"))
