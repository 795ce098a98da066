"""The style rules of CONTRIBUTING.md that a program can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "topicrawl"
FILES = sorted(SOURCE.rglob("*.py"))
TEXT_FILES = [
    path
    for folder in ("src", "docs", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".lua", ".html", ".js", ".css")
]
MAX_ROOT_MODULES = 9
MAX_PARTICIPLE_SHARE = 0.02
MAX_ONE_WORD_SHARE = 0.45
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
# Pronouns that hide the technical subject of a sentence; joined here so that this file does not contain them.
VAGUE_SUBJECTS = re.compile(r"\b(" + "|".join(("no" + "body", "who" + "ever", "some" + "body")) + r")\b", re.IGNORECASE)
IRREGULAR_PARTICIPLES = frozenset(
    (
        *(
            "begun",
            "bound",
            "bought",
            "broken",
            "brought",
            "built",
            "caught",
            "chosen",
            "come",
            "dealt",
            "done",
            "drawn",
        ),
        *("driven", "fallen", "fed", "felt", "found", "fought", "given", "gone", "grown", "heard", "held", "hidden"),
        *(
            "kept",
            "known",
            "laid",
            "led",
            "left",
            "lent",
            "lost",
            "made",
            "meant",
            "met",
            "paid",
            "risen",
            "said",
            "seen",
        ),
        *("sent", "shown", "shut", "sold", "spent", "spoken", "stood", "stuck", "swept", "taken", "taught", "thought"),
        *("thrown", "told", "torn", "understood", "won", "worn", "written"),
    )
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@cache
def parse_file(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def list_nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(parse_file(path)))


def iterate_functions() -> Iterator[tuple[Path, Function]]:
    """All functions and methods of the package, nested ones included, except dunder methods."""
    for path in FILES:
        for node in list_nodes(path):
            if isinstance(node, Function) and not node.name.startswith("__"):
                yield path, node


def iterate_public_definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Definition]]:
    """Public classes and functions of a module, and the public methods of its public classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield f"{prefix}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from iterate_public_definitions(node.body, f"{prefix}{node.name}.")


def overrides_documented_method(node: Definition) -> bool:
    return any(isinstance(item, ast.Name) and item.id in ("override", "overload") for item in node.decorator_list)


def is_participle(name: str) -> bool:
    word = name.strip("_")
    return "_" not in word and (word.endswith("ed") or word in IRREGULAR_PARTICIPLES)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_package_root_has_few_modules() -> None:
    modules = [path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")]
    assert len(modules) <= MAX_ROOT_MODULES, modules


def test_folders_are_at_most_two_levels_deep() -> None:
    assert [relative(path) for path in FILES if len(path.relative_to(SOURCE).parts) > 3] == []


def test_files_are_short() -> None:
    assert [relative(path) for path in FILES if path.read_text("utf-8").count("\n") > MAX_FILE_LINES] == []


def test_functions_are_short() -> None:
    found = []
    for path, node in iterate_functions():
        assert node.end_lineno is not None
        if node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES:
            found.append(f"{relative(path)}: {node.name}")
    assert found == []


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in list_nodes(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(relative(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_function_names_are_rarely_participles() -> None:
    names = [node.name for _, node in iterate_functions()]
    participles = sorted(name for name in names if is_participle(name))
    assert len(participles) <= MAX_PARTICIPLE_SHARE * len(names), participles


def test_function_names_are_mostly_verb_and_object() -> None:
    names = [node.name for _, node in iterate_functions()]
    one_word = [name for name in names if "_" not in name.strip("_")]
    assert len(one_word) <= MAX_ONE_WORD_SHARE * len(names), f"{len(one_word)} of {len(names)}"


def test_prose_names_its_subject() -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()[:80]}"
        for path in TEXT_FILES
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if VAGUE_SUBJECTS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("pattern", [r"\.__class__\s*=(?!=)", "# fmt: " + "skip"])
def test_source_has_no(pattern: str) -> None:
    expression = re.compile(pattern)
    assert [relative(path) for path in FILES if expression.search(path.read_text("utf-8"))] == []


def test_public_names_are_documented() -> None:
    missing = [relative(path) for path in FILES if not ast.get_docstring(parse_file(path))]
    for path in FILES:
        for name, node in iterate_public_definitions(parse_file(path).body, ""):
            if not ast.get_docstring(node) and not overrides_documented_method(node):
                missing.append(f"{relative(path)}: {name}")
    assert missing == []


def test_no_error_is_swallowed() -> None:
    found = []
    for path in FILES:
        for node in list_nodes(path):
            if isinstance(node, ast.ExceptHandler):
                names = {item.id for item in ast.walk(node.type) if isinstance(item, ast.Name)} if node.type else {""}
                if (
                    names & {"", "Exception", "BaseException"}
                    and len(node.body) == 1
                    and isinstance(node.body[0], ast.Pass)
                ):
                    found.append(f"{relative(path)}:{node.lineno}")
    assert found == []


def test_import_layers_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
