"""Deployment files: valid syntax, valid command lines, and a configuration that a real Redis server accepts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click
import pytest
from prometheus_client import CollectorRegistry
from tests.helpers.markers import LONG
from tests.helpers.redis_server import running

from topicrawl import cli
from topicrawl.cli import crawl_metrics
from topicrawl.frontier.redis.address import PASSWORD_FILE_VARIABLE, strip_password
from topicrawl.frontier.redis.server import connect_redis
from topicrawl.metrics import serve_metrics

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: make install")
DEPLOY = Path(__file__).parent.parent / "deploy"
UNIT = DEPLOY / "systemd" / "topicrawl-worker@.service"
RUNBOOK = DEPLOY.parent / "docs" / "how-to" / "run-a-cluster.md"
#: Allowed keys of a unit, from systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.kill(5) and others.
KEYS = {
    "Unit": "Description Documentation Wants After StartLimitIntervalSec",
    "Service": """Type User Group StateDirectory WorkingDirectory EnvironmentFile LoadCredential Environment ExecStart
        KillMode TimeoutStopSec SuccessExitStatus Restart RestartSec RestartPreventExitStatus MemoryMax LimitNOFILE
        NoNewPrivileges ProtectSystem ProtectHome PrivateTmp PrivateDevices ProtectKernelTunables ProtectKernelModules
        ProtectControlGroups RestrictAddressFamilies RestrictNamespaces RestrictSUIDSGID LockPersonality
        CapabilityBoundingSet""",
    "Install": "WantedBy",
}


def load_documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def load_manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from load_documents(path)


def parse_command(words: list[str]) -> click.Context:
    """Parse a command line with click. Errors are raised."""
    context = click.Context(cli.root_command)
    command = cli.root_command.get_command(context, words[0])
    assert command is not None, words
    return command.make_context(words[0], words[1:], parent=context)


def replace_variables(value: str) -> str:
    """Replace variables by placeholder values."""
    return re.sub(r"\$\{?\(?(\w+)[^})]*[)}]", lambda match: {"PAGES": "7"}.get(match[1], "x"), value)


def iterate_command_lines() -> Iterator[list[str]]:
    """Yield every call of the command in the deployment files."""
    for service in load_documents(DEPLOY / "compose.yaml")[0]["services"].values():
        if "build" in service:
            yield [replace_variables(word) for word in service["command"]]
    for manifest in load_manifests():
        for container in manifest.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
            if container["image"] == "topicrawl":
                yield [replace_variables(word) for word in container["args"]]
    (line,) = re.findall(r"^ExecStart=\S+/topicrawl (.*)$", UNIT.read_text(), re.M)
    yield shlex.split(replace_variables(line).replace("%i", "01"))


def test_command_lines_are_valid_and_contain_no_password() -> None:
    lines = list(iterate_command_lines())
    assert [words[0] for words in lines] == ["crawl", "worker", "crawl", "worker", "worker"]
    for words in lines:
        parse_command(words)
        assert all(strip_password(word) == word for word in words if "://" in word)


def test_compose_references_exist() -> None:
    (project,) = load_documents(DEPLOY / "compose.yaml")
    for name, service in project["services"].items():
        assert set(service["secrets"]) <= set(project["secrets"]), name
        named = [volume.partition(":")[0] for volume in service["volumes"]]
        assert all(volume in project["volumes"] or (DEPLOY / volume).exists() for volume in named), name
        assert set(service.get("depends_on", ())) <= set(project["services"])
    assert (DEPLOY / project["x-topicrawl"]["build"]["dockerfile"].removeprefix("deploy/")).exists()


def read_instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments, with continued lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", path.read_text("utf-8")))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def test_dockerfile_follows_the_rules_for_images() -> None:
    instructions = read_instructions(DEPLOY / "Dockerfile")
    names = [name for name, _ in instructions]
    last_stage = instructions[len(names) - 1 - names[::-1].index("FROM") :]
    arguments = {name: value for name, value in last_stage if name != "RUN"}
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", arguments["USER"]), "a numeric user other than root"
    assert arguments["VOLUME"] == arguments["WORKDIR"] == "/data"
    assert json.loads(arguments["ENTRYPOINT"]) == ["topicrawl"]
    assert "ADD" not in names
    for image in (value.split()[0] for name, value in instructions if name == "FROM"):
        assert re.search(r":\d+\.\d+", image), f"{image} has no version"
    for command in (value for name, value in instructions if name == "RUN"):
        if "apt-get install" in command:
            assert "--no-install-recommends" in command
            assert "rm -rf /var/lib/apt/lists/*" in command
        assert "pip " not in command or "--no-cache-dir" in command
    ignored = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    for sources in (value.split()[:-1] for name, value in instructions if name == "COPY"):
        for source in sources:
            assert (DEPLOY.parent / source).exists(), source
            assert f"!{source}" in ignored, f"{source} is not sent to Docker"


def test_healthcheck_of_the_image_asks_the_metrics_server() -> None:
    arguments = dict(read_instructions(DEPLOY / "Dockerfile"))
    script = json.loads(arguments["HEALTHCHECK"].partition("CMD")[2])[1]
    assert f"deploy/healthcheck.py {script}" in [
        value for name, value in read_instructions(DEPLOY / "Dockerfile") if name == "COPY"
    ]
    port = arguments["ENV"].rpartition(":")[2]
    spec = spec_from_file_location("healthcheck", DEPLOY / "healthcheck.py")
    assert spec is not None
    assert spec.loader is not None
    healthcheck = module_from_spec(spec)
    spec.loader.exec_module(healthcheck)
    path = healthcheck.PORTS[int(port)]
    with serve_metrics("127.0.0.1:0", CollectorRegistry()) as address:
        served = int(address.rpartition(":")[2].partition("/")[0])
        assert healthcheck.answers(served, path)
    assert not healthcheck.answers(served, path)


@pytest.mark.skipif(
    shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode,
    reason="no Docker daemon is running",
)
@LONG
def test_docker_builds_the_image_and_accepts_the_compose_file(tmp_path: Path) -> None:
    build = ["docker", "build", "--quiet", "-f", str(DEPLOY / "Dockerfile"), "-t", "topicrawl:test", str(DEPLOY.parent)]
    assert subprocess.run(build, check=False).returncode == 0
    version = subprocess.run(["docker", "run", "--rm", "topicrawl:test", "--version"], capture_output=True, check=True)
    assert b"topicrawl" in version.stdout
    environment = {**os.environ, "TOPIC": "owls", "SEED": "https://a.example/", "CONTACT": "me@a.example"}
    check = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    assert subprocess.run(check, env=environment, check=False).returncode == 0


def test_manifest_references_exist() -> None:
    manifests = list(load_manifests())
    (kustomization,) = [item for item in manifests if item["kind"] == "Kustomization"]
    generated = {item["name"] for kind in ("configMapGenerator", "secretGenerator") for item in kustomization[kind]}
    assert all((DEPLOY / "kubernetes" / name).exists() for name in (*kustomization["resources"], "redis.conf"))
    services = {item["metadata"]["name"]: item["spec"]["selector"] for item in manifests if item["kind"] == "Service"}
    for manifest in (item for item in manifests if item["kind"] == "StatefulSet"):
        spec, labels = manifest["spec"], manifest["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels
        assert services[spec["serviceName"]].items() <= labels.items()
        pod, claims = spec["template"]["spec"], spec["volumeClaimTemplates"]
        volumes = {item["name"] for item in pod["volumes"]} | {item["metadata"]["name"] for item in claims}
        (container,) = pod["containers"]
        assert {item["name"] for item in container["volumeMounts"]} == volumes
        sources = [
            item.get("configMap", {}).get("name") or item.get("secret", {}).get("secretName") for item in pod["volumes"]
        ]
        assert {name for name in sources if name} <= generated
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_manifests_match_the_published_schema() -> None:
    if find_spec("kubernetes_validate") is None:
        pytest.skip("kubernetes-validate is not installed: pip install kubernetes-validate")
    import kubernetes_validate

    for manifest in load_manifests():
        if manifest["kind"] != "Kustomization":
            kubernetes_validate.validate(manifest, "1.31", strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_manifests_can_be_rendered(tmp_path: Path) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", folder)
    (folder / "secrets").mkdir(exist_ok=True)
    for name in ("redis-password", "users.acl"):
        (folder / "secrets" / name).write_text("placeholder")
    # kubectl only renders files here and must not connect to a cluster.
    words, environment = ["kubectl", "kustomize", str(folder)], {**os.environ, "KUBECONFIG": os.devnull}
    result = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    manifests = list(yaml.safe_load_all(result.stdout))
    assert {item["metadata"].get("namespace", "topicrawl") for item in manifests} == {"topicrawl"}
    kinds = [item["kind"] for item in manifests]
    assert (kinds.count("Secret"), kinds.count("StatefulSet")) == (2, 3)
    assert "image: registry.example.org/topicrawl:0.1" in result.stdout


def test_unit_has_only_known_keys() -> None:
    section = ""
    for line in UNIT.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            assert line.partition("=")[0] in KEYS[section].split(), line


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name.replace("@", "@01")
    # The program itself is not installed on the test machine.
    unit.write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text()))
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert [line for line in result.stderr.splitlines() if unit.name in line] == []


def test_alerts_use_existing_metrics_and_are_documented() -> None:
    (rules,) = load_documents(DEPLOY / "prometheus-alerts.yaml")
    source, runbook = Path(crawl_metrics.__file__).read_text(), RUNBOOK.read_text("utf-8")
    metric_names = set(re.findall(r'"(topicrawl_\w+)"', source))
    assert metric_names
    assert all(f"`{name}" in runbook for name in metric_names)
    for rule in rules["groups"][0]["rules"]:
        used_names = {name.removesuffix("_bucket") for name in re.findall(r"topicrawl_\w+", rule["expr"])}
        assert used_names <= metric_names, rule["alert"]
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys()
    documented = set(re.findall(r"`(Topicrawl\w+)`", runbook))
    assert documented <= {rule["alert"] for rule in rules["groups"][0]["rules"]}


def test_compose_and_kubernetes_use_the_same_redis_configuration() -> None:
    assert (DEPLOY / "redis.conf").read_text() == (DEPLOY / "kubernetes" / "redis.conf").read_text()


def test_redis_accepts_the_configuration_and_the_users_of_the_runbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (users,) = re.findall(r"<<END\n(.*?)END\n", RUNBOOK.read_text("utf-8"), re.S)
    digest = hashlib.sha256(b"secret").hexdigest()
    (tmp_path / "users.acl").write_text(users.replace("$digest", digest))
    (tmp_path / "password").write_text("secret\n")
    configuration = (DEPLOY / "redis.conf").read_text().replace("/run/secrets/users.acl", str(tmp_path / "users.acl"))
    (tmp_path / "redis.conf").write_text(configuration.replace("dir /data", f"dir {tmp_path}"))
    monkeypatch.setenv(PASSWORD_FILE_VARIABLE, str(tmp_path / "password"))

    async def set_key(address: str) -> bytes:
        server = await connect_redis(address)
        try:
            reply: bytes = await server.execute("EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "{topicrawl}:x")
            return reply
        finally:
            await server.close()

    with running(tmp_path / "redis", configuration=tmp_path / "redis.conf") as server:
        address = server.address.replace("redis://", "redis://topicrawl@")
        assert asyncio.run(set_key(address)) == b"OK"


def test_log_line_in_the_runbook_is_valid() -> None:
    (line,) = re.findall(r"```json\n(.*)\n```", RUNBOOK.read_text("utf-8"))
    assert list(json.loads(line))[:6] == ["time", "level", "event", "url", "worker", "message"]
