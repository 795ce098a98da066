"""The wheel contains all data files, and works after an installation without extras."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path

from tests.helpers.markers import LONG

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "topicrawl"


def list_data_files() -> list[str]:
    """Return the files of the package that are not Python modules, relative to the package."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(str(path.relative_to(PACKAGE)) for path in files if path.suffix != ".py")


def test_every_data_file_is_package_data() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = table["tool"]["setuptools"]["package-data"]["topicrawl"]
    files = list_data_files()
    assert len(files) > 50
    missing = [
        name
        for name in files
        if not any(fnmatchcase(name, pattern) and name.count("/") == pattern.count("/") for pattern in patterns)
    ]
    assert missing == []


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder.name for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@LONG
def test_the_installed_wheel_crawls_without_extras(tmp_path: Path) -> None:
    def run(*words: str | Path) -> str:
        result = subprocess.run(
            [str(word) for word in words], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    run(sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("topicrawl-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"topicrawl/{name}" for name in list_data_files()} <= names
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, *pip, "install", wheel)
    program = tmp_path / "venv" / "bin" / "topicrawl"
    assert "crawl" in run(program, "--help")
    output = run(program, "demo", "--pages", "40", "--out", "demo")
    assert "apprentice" in output
    assert (tmp_path / "demo" / "apprentice" / "topicrawl.sqlite").exists()
    assert run(program, "export", "demo/apprentice", "--to", "jsonl", "--all", "--out", "-").count("\n") > 10
