"""Type annotations of the package, as mypy checks them in programs that use it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from tests.helpers.markers import LONG

import topicrawl

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "topicrawl"
GUIDES = {
    "how-to/write-a-relevance-model": "my_judge.py",
    "how-to/write-a-seed-provider": "my_wiki.py",
    "how-to/write-a-strategy": "my_strategy.py",
    "reference/python": "my_program.py",
}

PROGRAM = """
import asyncio
from pathlib import Path

from my_judge import Beginning
from my_wiki import Wiki

from topicrawl import Relevance, Settings, StopReason, Topic, Visit, open_crawl
from topicrawl.seeds.provider import HttpGet, SearchProvider


def judge(topic: Topic) -> Relevance:
    return Beginning(topic)


def provider(get: HttpGet) -> SearchProvider:
    return Wiki(get)


async def main() -> tuple[list[Visit], StopReason | None]:
    settings = Settings(pages=200, contact="you@example.org")
    async with open_crawl(Path("dengue"), Topic.of("dengue fever"), ["https://www.who.int/"], settings) as crawl:
        visits = [visit async for visit in crawl.visits() if visit.page is not None]
    return visits, crawl.stop_reason
"""


def test_the_package_says_that_it_has_types_and_names_each_public_one_for_type_checkers() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert '"py.typed"' in (ROOT / "pyproject.toml").read_text("utf-8")
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    named = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert named == set(topicrawl.__all__) - {"__version__"}


@LONG
def test_a_program_outside_passes_the_strict_checks(tmp_path: Path) -> None:
    for guide, name in GUIDES.items():
        found = re.search(r"```python\n(.*?)```", (ROOT / "docs" / f"{guide}.md").read_text("utf-8"), re.S)
        assert found
        (tmp_path / name).write_text(found[1], "utf-8")
    wrong = PROGRAM.replace("return Beginning(topic)", "return Beginning()")
    for name, text in {"right.py": PROGRAM, "wrong.py": wrong}.items():
        (tmp_path / name).write_text(text, "utf-8")
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            str(tmp_path / "cache"),
            name,
            *GUIDES.values(),
        ]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == (name == "wrong.py"), ran.stdout
        assert ("Missing positional argument" in ran.stdout) == (name == "wrong.py")
