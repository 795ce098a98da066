"""Redis addresses: passwords are never displayed, TLS is verified, and a restricted user is sufficient."""

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
from tests.helpers.redis_server import MISSING, REASON, running

from topicrawl.errors import SettingError, TopicrawlError
from topicrawl.frontier.redis.address import (
    PASSWORD_FILE_VARIABLE,
    PASSWORD_VARIABLE,
    check_address,
    find_password,
    strip_password,
)
from topicrawl.frontier.redis.server import connect_redis

needs_redis = pytest.mark.skipif(MISSING, reason=REASON)
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed: make test-system")
_SECRETS = st.text("abcXYZ019-_.~!$", min_size=4).map(lambda text: f"PW{text}")


@given(_SECRETS, st.sampled_from(["redis://u:{}@h:1/0", "rediss://:{}@h/0#c", "redis://u@h/0?password={}&db=1"]))
def test_a_displayed_address_never_contains_the_password(secret: str, address: str) -> None:
    assert secret not in strip_password(address.format(secret))


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("http://h/", "redis://host:6379/0"),
        ("redis://h/0?password=secret", "REDISCLI_AUTH"),
        ("rediss://h/0?ssl_cert_reqs=none", "unknown option 'ssl_cert_reqs'"),
        ("redis://h/0?ssl_ca_certs=/ca.pem", "rediss://"),
        ("rediss://h/0?ssl_ca_certs=/no/such.pem", "cannot be read: /no/such.pem"),
    ],
    ids=["scheme", "password as an option", "unknown option", "TLS without TLS", "no such file"],
)
def test_an_invalid_address_is_refused_before_connecting(address: str, line: str) -> None:
    with pytest.raises(SettingError) as refused:
        check_address(address)
    assert line in str(refused.value)
    assert "secret" not in str(refused.value)


def test_precedence_of_password_sources(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("of the file\n")
    environment = {PASSWORD_VARIABLE: "of the environment", PASSWORD_FILE_VARIABLE: str(path)}
    assert find_password("redis://me@h/0", environment) == "of the file"
    assert find_password("redis://h/0", {PASSWORD_VARIABLE: "of the environment"}) == "of the environment"
    assert find_password("redis://me:here@h/0", environment) is None
    assert find_password("redis://h/0", {}) is None
    with pytest.raises(SettingError, match="cannot be read"):
        find_password("redis://h/0", {PASSWORD_FILE_VARIABLE: str(tmp_path / "none")})


async def connection_error(address: str) -> str:
    """Connect and return the error message, or an empty string on success."""
    try:
        await (await connect_redis(address)).close()
    except TopicrawlError as error:
        return str(error)
    return ""


@needs_redis
def test_a_user_in_the_address_gets_its_password_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "users.acl"
    users.write_text(
        "user default off\nuser crawler on >secret ~{topicrawl}* +@all -@admin -@dangerous +info +keys +bgrewriteaof\n"
    )
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "wrong").write_text("other\n")
    with running(tmp_path / "redis", "--aclfile", str(users)) as server:
        address = server.address.replace("redis://", "redis://crawler@")
        assert "ACL SETUSER" in asyncio.run(connection_error(address))
        monkeypatch.setenv(PASSWORD_FILE_VARIABLE, str(tmp_path / "wrong"))
        assert "invalid username-password pair" in asyncio.run(connection_error(address))
        monkeypatch.setenv(PASSWORD_FILE_VARIABLE, str(tmp_path / "password"))
        assert asyncio.run(connection_error(address)) == ""


@dataclass(frozen=True)
class Tls:
    """Server with a TLS port and a plain port, and the folder of its certificates."""

    folder: Path
    port: int
    plain: str

    def address(self, *options: str, host: str = "localhost") -> str:
        return f"rediss://{host}:{self.port}/0?{'&'.join(option.format(self.folder) for option in options)}"


def create_certificates(folder: Path) -> None:
    """Create a certificate authority and a certificate for localhost that Python 3.13 accepts."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = "subjectAltName=DNS:localhost"
    for words in (
        (
            "req",
            "-x509",
            *key,
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=authority",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        ),
        (
            "req",
            "-x509",
            *key,
            "-keyout",
            "own.key",
            "-out",
            "own.pem",
            "-subj",
            "/CN=localhost",
            "-addext",
            names,
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
        ),
    ):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tls]:
    folder = tmp_path_factory.mktemp("tls")
    create_certificates(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        "--tls-port",
        str(port),
        "--tls-cert-file",
        "own.pem",
        "--tls-key-file",
        "own.key",
        "--tls-ca-cert-file",
        "ca.pem",
        "--tls-auth-clients",
        "yes",
    )
    with running(folder, *options) as server:
        yield Tls(folder, port, server.address)


CA, CERTIFICATE, KEY = "ssl_ca_certs={0}/ca.pem", "ssl_certfile={0}/own.pem", "ssl_keyfile={0}/own.key"


@needs_redis
@needs_openssl
def test_tls_with_a_private_authority_and_a_client_certificate_works(tls: Tls) -> None:
    assert asyncio.run(connection_error(tls.address(CA, CERTIFICATE, KEY))) == ""


@needs_redis
@needs_openssl
@pytest.mark.parametrize(
    ("host", "options", "line"),
    [
        ("localhost", (), "ssl_ca_certs="),
        ("localhost", (CA,), "ssl_certfile="),
        ("127.0.0.1", (CA, CERTIFICATE, KEY), "its certificate is for another name"),
    ],
    ids=["unknown authority", "no client certificate", "another name"],
)
def test_insecure_tls_is_refused_with_advice(tls: Tls, host: str, options: tuple[str, ...], line: str) -> None:
    assert line in asyncio.run(connection_error(tls.address(*options, host=host)))


@needs_redis
@needs_openssl
def test_a_plain_connection_to_the_tls_port_is_explained(tls: Tls) -> None:
    assert "use rediss://" in asyncio.run(connection_error(f"redis://localhost:{tls.port}/0"))
