"""The files to start a cluster with: well formed, true to the command line, and taken by a real server."""

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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from tests.redis_server import running

from topicrawl import cli
from topicrawl.cli import crawl_metrics
from topicrawl.frontier.redis_address import PASSWORD_FILE, without_password
from topicrawl.frontier.redis_server import connected

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: make install")
DEPLOY = Path(__file__).parent.parent / "deploy"
UNIT = DEPLOY / "systemd" / "topicrawl-worker@.service"
RUNBOOK = DEPLOY.parent / "docs" / "how-to" / "run-a-cluster.md"
#: What a unit may say, from systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.kill(5) and others.
KEYS = {
    "Unit": "Description Documentation Wants After StartLimitIntervalSec",
    "Service": """Type User Group StateDirectory WorkingDirectory EnvironmentFile LoadCredential Environment ExecStart
        KillMode TimeoutStopSec SuccessExitStatus Restart RestartSec RestartPreventExitStatus MemoryMax LimitNOFILE
        NoNewPrivileges ProtectSystem ProtectHome PrivateTmp PrivateDevices ProtectKernelTunables ProtectKernelModules
        ProtectControlGroups RestrictAddressFamilies RestrictNamespaces RestrictSUIDSGID LockPersonality
        CapabilityBoundingSet""",
    "Install": "WantedBy",
}


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from documents(path)


def parsed(words: list[str]) -> click.Context:
    """What the command line makes of words; mistakes are raised."""
    context = click.Context(cli.topicrawl)
    command = cli.topicrawl.get_command(context, words[0])
    assert command is not None, words
    return command.make_context(words[0], words[1:], parent=context)


def shown(value: str) -> str:
    """What stands for a variable is as good as its value."""
    return re.sub(r"\$\{?\(?(\w+)[^})]*[)}]", lambda found: {"PAGES": "7"}.get(found[1], "x"), value)


def command_lines() -> Iterator[list[str]]:
    """Every call of the command in any of the files."""
    for service in documents(DEPLOY / "compose.yaml")[0]["services"].values():
        if "build" in service:
            yield [shown(word) for word in service["command"]]
    for manifest in manifests():
        for container in manifest.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
            if container["image"] == "topicrawl":
                yield [shown(word) for word in container["args"]]
    (line,) = re.findall(r"^ExecStart=\S+/topicrawl (.*)$", UNIT.read_text(), re.M)
    yield shlex.split(shown(line).replace("%i", "01"))


def test_every_command_line_is_understood_and_holds_no_password() -> None:
    lines = list(command_lines())
    assert [words[0] for words in lines] == ["crawl", "worker", "crawl", "worker", "worker"]
    for words in lines:
        parsed(words)
        assert all(without_password(word) == word for word in words if "://" in word)


def test_compose_names_nothing_that_is_not_there() -> None:
    (project,) = documents(DEPLOY / "compose.yaml")
    for name, service in project["services"].items():
        assert set(service["secrets"]) <= set(project["secrets"]), name
        named = [volume.partition(":")[0] for volume in service["volumes"]]
        assert all(volume in project["volumes"] or (DEPLOY / volume).exists() for volume in named), name
        assert set(service.get("depends_on", ())) <= set(project["services"])
    assert (DEPLOY / project["x-topicrawl"]["build"]["dockerfile"].removeprefix("deploy/")).exists()


def test_compose_keeps_to_the_published_schema() -> None:
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed: pip install check-jsonschema")
    words = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_manifests_fit_together() -> None:
    found = list(manifests())
    (plan,) = [it for it in found if it["kind"] == "Kustomization"]
    made = {it["name"] for kind in ("configMapGenerator", "secretGenerator") for it in plan[kind]}
    assert all((DEPLOY / "kubernetes" / name).exists() for name in (*plan["resources"], "redis.conf"))
    services = {it["metadata"]["name"]: it["spec"]["selector"] for it in found if it["kind"] == "Service"}
    for manifest in (it for it in found if it["kind"] == "StatefulSet"):
        spec, labels = manifest["spec"], manifest["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels
        assert services[spec["serviceName"]].items() <= labels.items()
        pod, claims = spec["template"]["spec"], spec["volumeClaimTemplates"]
        volumes = {it["name"] for it in pod["volumes"]} | {it["metadata"]["name"] for it in claims}
        (container,) = pod["containers"]
        assert {it["name"] for it in container["volumeMounts"]} == volumes
        sources = [
            it.get("configMap", {}).get("name") or it.get("secret", {}).get("secretName") for it in pod["volumes"]
        ]
        assert {name for name in sources if name} <= made
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_manifests_keep_to_the_published_schema() -> None:
    if find_spec("kubernetes_validate") is None:
        pytest.skip("kubernetes-validate is not installed: pip install kubernetes-validate")
    import kubernetes_validate

    for manifest in manifests():
        if manifest["kind"] != "Kustomization":
            kubernetes_validate.validate(manifest, "1.31", strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_manifests_can_be_rendered(tmp_path: Path) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", folder)
    (folder / "secrets").mkdir(exist_ok=True)
    for name in ("redis-password", "users.acl"):
        (folder / "secrets" / name).write_text("made up")
    # It renders files, and is not to look for a cluster.
    words, apart = ["kubectl", "kustomize", str(folder)], {**os.environ, "KUBECONFIG": os.devnull}
    made = subprocess.run(words, capture_output=True, text=True, check=False, env=apart)
    assert made.returncode == 0, made.stderr
    rendered = list(yaml.safe_load_all(made.stdout))
    assert {it["metadata"].get("namespace", "topicrawl") for it in rendered} == {"topicrawl"}
    assert sorted(it["kind"] for it in rendered if it["kind"] in ("StatefulSet", "Secret")) == 2 * ["Secret"] + 3 * [
        "StatefulSet"
    ]
    assert "image: registry.example.org/topicrawl:0.1" in made.stdout


def test_the_unit_says_only_what_systemd_knows() -> None:
    section = ""
    for line in UNIT.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            assert line.partition("=")[0] in KEYS[section].split(), line


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_taken_by_systemd(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name.replace("@", "@01")
    # Only the program is not installed here.
    unit.write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text()))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert [line for line in checked.stderr.splitlines() if unit.name in line] == []


def test_alerts_are_about_metrics_that_exist_and_have_an_answer() -> None:
    (rules,) = documents(DEPLOY / "prometheus-alerts.yaml")
    source, runbook = Path(crawl_metrics.__file__).read_text(), RUNBOOK.read_text("utf-8")
    made = set(re.findall(r'"(topicrawl_\w+)"', source))
    assert made
    assert all(f"`{name}" in runbook for name in made)
    for rule in rules["groups"][0]["rules"]:
        used = {name.removesuffix("_bucket") for name in re.findall(r"topicrawl_\w+", rule["expr"])}
        assert used <= made, rule["alert"]
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys()
    documented = set(re.findall(r"`(Topicrawl\w+)`", runbook))
    assert documented <= {rule["alert"] for rule in rules["groups"][0]["rules"]}


def test_both_ways_start_the_same_redis() -> None:
    assert (DEPLOY / "redis.conf").read_text() == (DEPLOY / "kubernetes" / "redis.conf").read_text()


def test_a_real_server_takes_the_configuration_and_the_users_of_the_runbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (users,) = re.findall(r"<<END\n(.*?)END\n", RUNBOOK.read_text("utf-8"), re.S)
    digest = hashlib.sha256(b"hush").hexdigest()
    (tmp_path / "users.acl").write_text(users.replace("$digest", digest))
    (tmp_path / "password").write_text("hush\n")
    wanted = (DEPLOY / "redis.conf").read_text().replace("/run/secrets/users.acl", str(tmp_path / "users.acl"))
    (tmp_path / "redis.conf").write_text(wanted.replace("dir /data", f"dir {tmp_path}"))
    monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "password"))

    async def settings(address: str) -> list[bytes]:
        server = await connected(address)
        try:
            return [await server.ask("EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "{topicrawl}:x")]
        finally:
            await server.close()

    with running(tmp_path / "redis", configuration=tmp_path / "redis.conf") as server:
        address = server.address.replace("redis://", "redis://topicrawl@")
        assert asyncio.run(settings(address)) == [b"OK"]


def test_the_example_of_a_log_line_is_one() -> None:
    (line,) = re.findall(r"```json\n(.*)\n```", RUNBOOK.read_text("utf-8"))
    assert list(json.loads(line))[:6] == ["time", "level", "event", "url", "worker", "message"]
