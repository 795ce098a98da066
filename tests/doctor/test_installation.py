"""What an installation lacks is named, with the command that brings it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from topicrawl.doctor import installation
from topicrawl.doctor.finding import State
from topicrawl.doctor.packages import EXTRAS, libraries, needs

NEEDED = ["alpha>=1.2", "beta>=2", "gamma>=3; extra == 'web'", 'delta>=4 ; extra == "dev"']


@pytest.mark.parametrize(
    ("versions", "trouble", "state", "name", "text"),
    [
        ({"alpha": "1.10", "beta": "2.0"}, {}, State.OK, "libraries", "2 of them: alpha 1.10, beta 2.0"),
        ({"alpha": "1.10"}, {}, State.PROBLEM, "beta", "is not installed"),
        ({"alpha": "1.1.9", "beta": "2"}, {}, State.PROBLEM, "alpha", "too old: 1.1.9, at least 1.2"),
        ({"alpha": "1.2", "beta": "2"}, {"beta": "no libx\nat all"}, State.PROBLEM, "beta", "loaded: no libx"),
        ({"alpha": "1.2", "beta": "2"}, {}, State.NOTE, "extra web", "(gamma); it is for `topicrawl serve`"),
        ({"alpha": "1.2", "beta": "2", "gamma": "2"}, {}, State.WARNING, "extra web", "gamma is too old"),
        ({"alpha": "1.2", "beta": "2", "gamma": "3"}, {}, State.OK, "extra web", "gamma 3"),
    ],
)
def test_libraries_are_there_recent_and_whole(
    versions: dict[str, str], trouble: dict[str, str], state: State, name: str, text: str
) -> None:
    found = list(libraries(NEEDED, versions.get, lambda library: trouble.get(library, "")))
    assert [it for it in found if (it.state, it.name) == (state, name) and text in it.says], found
    assert not any("delta" in it.says for it in found)


def test_every_requirement_of_the_project_is_understood_and_every_extra_explained() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    written = [f"{text}; extra == '{extra}'" for extra, texts in extras.items() for text in texts]
    found = needs([*project["dependencies"], *written])
    assert len(found) == len(project["dependencies"]) + len(written)
    assert all(need.least or need.extra == "bench" for need in found)
    assert EXTRAS.keys() == extras.keys() - {"dev", "bench"}


def test_the_files_that_come_with_the_package_are_readable() -> None:
    found = list(installation.data_files())
    assert [it.state for it in found] == [State.OK] * 5, found


def test_a_file_that_is_not_there_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_WEB", ("web/none.html",))
    (found,) = [it for it in installation.data_files() if it.state != State.OK]
    assert (found.name, found.state, "web/none.html" in found.says) == ("web files", State.PROBLEM, True)
    assert "pip install" in found.fix


def test_missing_programs_are_notes() -> None:
    found = {it.name: it for it in installation.programs(lambda name: None)}
    assert {it.state for it in found.values()} == {State.NOTE}
    assert "PostScript" in found["ghostscript"].says
    assert [it.state for it in installation.programs(str)] == [State.OK, State.OK]


def test_variables_that_cannot_be_meant_are_named_and_no_secret_is_shown() -> None:
    environment = {"SEARXNG_URL": "searx", "BRAVE_API_KEY": "geheim\u00fc", "https_proxy": "http://user:pw@proxy/"}
    found = list(installation.variables(environment))
    assert [it.name for it in found] == ["SEARXNG_URL", "BRAVE_API_KEY", "proxy"]
    assert not any(secret in it.says + it.fix for it in found for secret in ("geheim", "user:pw"))
    assert list(installation.variables({})) == []
