"""The name of a version changes when what it stands for changes, and only then."""

from __future__ import annotations

import os
from pathlib import Path

from topicrawl.lab import fingerprint


def test_files_are_known_by_place_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    first = fingerprint.of_files([path])
    assert fingerprint.of_files([path]) == first
    os.utime(path, (1, 1))
    second = fingerprint.of_files([path])
    path.write_text("four")
    os.utime(path, (1, 1))
    assert len({first, second, fingerprint.of_files([path])}) == 3


def test_code_is_known_by_all_that_it_imports(tmp_path: Path) -> None:
    best = fingerprint.of_code(["topicrawl.strategies.best_first"])
    assert best == fingerprint.of_code(["topicrawl.strategies.best_first"])
    assert best != fingerprint.of_code(["topicrawl.strategies.breadth_first"])
    # A module that it imports adds nothing new; one that it does not, does.
    assert best == fingerprint.of_code(["topicrawl.strategies.best_first", "topicrawl.relevance.vsm"])
    assert best != fingerprint.of_code(["topicrawl.strategies.best_first", "topicrawl.lab.figures"])


def test_modules_of_others_have_no_part_in_it() -> None:
    assert fingerprint.of_code(["json"]) == fingerprint.of_code([])
