"""`topicrawl doctor`: a line a finding, an exit code for scripts, and nothing touched unless it is asked to repair."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.collection.made_collection import made


def test_it_reports_for_programs_and_repairs_only_when_asked(run: Run, tmp_path: Path) -> None:
    directory = made(tmp_path / "crawl")
    (directory / "search.sqlite").write_bytes(b"broken " * 99)
    ran = run("doctor", directory, "--offline", "--json")
    told = json.loads(ran.out)
    problems = {it["name"] for it in told["findings"] if it["state"] == "problem"}
    # Made without a frontier, it could not go on.
    assert problems >= {"search.sqlite", "frontier"}
    assert (ran.code, ran.err, told["problems"]) == (1, "", len(problems))
    assert (directory / "search.sqlite").exists()
    ran = run("doctor", directory, "--offline", "--repair")
    assert "repaired; it was:" in ran.out
    assert not (directory / "search.sqlite").exists()
    lines = ran.out.splitlines()
    assert lines[-1].startswith(f"{len(problems) - 1} problems")
    assert all(line.split()[0] in ("ok", "note", "warning", "problem") for line in lines if line.startswith("  "))
    assert [line for line in lines if not line.startswith("  ")][:3] == ["installation", "machine", "collection"]


def test_a_machine_without_a_problem_is_exit_code_0(run: Run) -> None:
    ran = run("doctor", "--offline")
    assert (ran.code, "0 problems" in ran.out, "collection" in ran.out.split()) == (0, True, False)


def test_a_place_that_is_not_there_is_one_line(run: Run) -> None:
    ran = run("doctor", "nowhere")
    assert (ran.code, ran.err.count("\n"), "not a directory" in ran.err) == (3, 1, True)
