"""Checks of the installation report missing parts with the command that installs them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from topicrawl.doctor import installation
from topicrawl.doctor.finding import FindingState
from topicrawl.doctor.packages import EXTRAS, check_libraries, parse_requirements

NEEDED = ["alpha>=1.2", "beta>=2", "gamma>=3; extra == 'web'", 'delta>=4 ; extra == "dev"']


@pytest.mark.parametrize(
    ("versions", "trouble", "state", "name", "text"),
    [
        ({"alpha": "1.10", "beta": "2.0"}, {}, FindingState.OK, "libraries", "2 installed: alpha 1.10, beta 2.0"),
        ({"alpha": "1.10"}, {}, FindingState.PROBLEM, "beta", "is not installed"),
        ({"alpha": "1.1.9", "beta": "2"}, {}, FindingState.PROBLEM, "alpha", "too old: 1.1.9, at least 1.2"),
        ({"alpha": "1.2", "beta": "2"}, {"beta": "no libx\nat all"}, FindingState.PROBLEM, "beta", "imported: no libx"),
        ({"alpha": "1.2", "beta": "2"}, {}, FindingState.NOTE, "extra web", "(gamma); needed for `topicrawl serve`"),
        ({"alpha": "1.2", "beta": "2", "gamma": "2"}, {}, FindingState.WARNING, "extra web", "gamma is too old"),
        ({"alpha": "1.2", "beta": "2", "gamma": "3"}, {}, FindingState.OK, "extra web", "gamma 3"),
    ],
)
def test_missing_old_and_broken_libraries_are_reported(
    versions: dict[str, str], trouble: dict[str, str], state: FindingState, name: str, text: str
) -> None:
    found = list(check_libraries(NEEDED, versions.get, lambda library: trouble.get(library, "")))
    assert [it for it in found if (it.state, it.name) == (state, name) and text in it.says], found
    assert not any("delta" in it.says for it in found)


def test_every_requirement_is_parsed_and_every_extra_has_a_purpose() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    written = [f"{text}; extra == '{extra}'" for extra, texts in extras.items() for text in texts]
    found = parse_requirements([*project["dependencies"], *written])
    assert len(found) == len(project["dependencies"]) + len(written)
    assert all(need.min_version or need.extra == "bench" for need in found)
    assert EXTRAS.keys() == extras.keys() - {"dev", "bench"}


def test_the_data_files_of_the_package_are_readable() -> None:
    found = list(installation.check_data_files())
    assert [it.state for it in found] == [FindingState.OK] * 6, found


def test_a_missing_data_file_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_WEB", ("web/none.html",))
    (found,) = [it for it in installation.check_data_files() if it.state != FindingState.OK]
    assert (found.name, found.state, "web/none.html" in found.says) == ("web files", FindingState.PROBLEM, True)
    assert "pip install" in found.fix


def test_missing_programs_are_notes() -> None:
    found = {it.name: it for it in installation.check_programs(lambda name: None)}
    assert {it.state for it in found.values()} == {FindingState.NOTE}
    assert "PostScript" in found["ghostscript"].says
    assert [it.state for it in installation.check_programs(str)] == [FindingState.OK] * 3


def test_invalid_environment_variables_are_reported_without_secrets() -> None:
    environment = {"SEARXNG_URL": "searx", "BRAVE_API_KEY": "geheim\u00fc", "https_proxy": "http://user:pw@proxy/"}
    found = list(installation.check_environment(environment))
    assert [it.name for it in found] == ["SEARXNG_URL", "BRAVE_API_KEY", "proxy"]
    assert not any(secret in it.says + it.fix for it in found for secret in ("geheim", "user:pw"))
    assert list(installation.check_environment({})) == []
