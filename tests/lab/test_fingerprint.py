"""A fingerprint changes exactly when its inputs change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from topicrawl.lab import fingerprint


def test_file_fingerprints_depend_on_path_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    first = fingerprint.hash_file_stats([path])
    assert fingerprint.hash_file_stats([path]) == first
    os.utime(path, (1, 1))
    second = fingerprint.hash_file_stats([path])
    path.write_text("four")
    os.utime(path, (1, 1))
    assert len({first, second, fingerprint.hash_file_stats([path])}) == 3


def test_code_fingerprints_depend_on_all_imports(tmp_path: Path) -> None:
    best = fingerprint.hash_code(["topicrawl.strategies.best_first"])
    assert best == fingerprint.hash_code(["topicrawl.strategies.best_first"])
    assert best != fingerprint.hash_code(["topicrawl.strategies.breadth_first"])
    # A module that is already imported adds nothing; another module does.
    assert best == fingerprint.hash_code(["topicrawl.strategies.best_first", "topicrawl.relevance.vsm"])
    assert best != fingerprint.hash_code(["topicrawl.strategies.best_first", "topicrawl.lab.report.harvest_curve"])


def test_modules_outside_the_package_are_ignored() -> None:
    assert fingerprint.hash_code(["json"]) == fingerprint.hash_code([])


def test_the_fingerprint_of_data_files_depends_on_their_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text" / "data").mkdir(parents=True)
    (tmp_path / "text" / "data" / "idf.txt").write_text("owl 1", "utf-8")
    monkeypatch.setattr(fingerprint, "_PACKAGE_DIR", tmp_path)
    before = fingerprint.hash_data_files()
    (tmp_path / "text" / "tokenizer.py").write_text("code", "utf-8")
    assert fingerprint.hash_data_files() == before
    (tmp_path / "text" / "data" / "idf.txt").write_text("owl 2", "utf-8")
    assert fingerprint.hash_data_files() != before
