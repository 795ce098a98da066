"""`topicrawl doctor`: output, exit code, and repairs only with `--repair`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.helpers.collection import create_collection


def test_it_prints_json_and_repairs_only_with_repair(run: Run, tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "crawl")
    (directory / "search.sqlite").write_bytes(b"broken " * 99)
    ran = run("doctor", directory, "--offline", "--json")
    report = json.loads(ran.out)
    problems = {finding["name"] for finding in report["findings"] if finding["state"] == "problem"}
    # The test collection has no frontier.
    assert problems >= {"search.sqlite", "frontier"}
    assert (ran.code, ran.err, report["problems"]) == (1, "", len(problems))
    assert (directory / "search.sqlite").exists()
    ran = run("doctor", directory, "--offline", "--repair")
    assert "repaired; it was:" in ran.out
    assert not (directory / "search.sqlite").exists()
    lines = ran.out.splitlines()
    assert lines[-1].startswith(f"{len(problems) - 1} problems")
    assert all(line.split()[0] in ("ok", "note", "warning", "problem") for line in lines if line.startswith("  "))
    assert [line for line in lines if not line.startswith("  ")][:3] == ["installation", "machine", "collection"]


def test_the_exit_code_is_0_without_problems(run: Run) -> None:
    ran = run("doctor", "--offline")
    assert (ran.code, "0 problems" in ran.out, "collection" in ran.out.split()) == (0, True, False)


def test_a_missing_directory_is_reported_in_one_line(run: Run) -> None:
    ran = run("doctor", "nowhere")
    assert (ran.code, ran.err.count("\n"), "not a directory" in ran.err) == (3, 1, True)
