"""The house rules that a machine can check."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "topicrawl"
FILES = sorted(SOURCE.rglob("*.py"))
# The frontier's contract has as many questions as it has; splitting it would only hide that.
FRONTIERS = {"Frontier", "Memory", "Sqlite", "Redis"}
EMPTY_WORDS = ("util", "helper", "common", "misc", "core", "manager", "handler", "service", "processor")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def offences(rule: Callable[[Path], Iterable[str]]) -> list[str]:
    """Every breach of a rule with the file it is in: one test a rule, as one for each file takes a minute for all."""
    return [f"{path.relative_to(SOURCE)}: {breach}" for path in FILES for breach in rule(path)]


def test_no_file_is_longer_than_400_lines() -> None:
    def rule(path: Path) -> Iterator[str]:
        lines = path.read_text("utf-8").count("\n")
        if lines > 400:
            yield f"{lines} lines"

    assert offences(rule) == []


def test_every_module_says_what_it_is_for() -> None:
    assert [path for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_functions_are_short_and_take_few_parameters() -> None:
    def rule(path: Path) -> Iterator[str]:
        for function in functions(parsed(path)):
            said = ast.get_docstring(function)
            body = function.body[1:] if said else function.body
            lines = [(function.end_lineno or 0) - function.lineno] if not said else []
            lines += [(body[-1].end_lineno or 0) - body[0].lineno] if body else []
            if any(count >= 40 for count in lines):
                yield f"{function.name} has {max(lines)} lines"
            parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            named = [parameter.arg for parameter in parameters if parameter.arg not in ("self", "cls")]
            if len(named) > 5:
                yield f"{function.name} takes {named}"

    assert offences(rule) == []


def test_classes_have_at_most_twelve_public_methods() -> None:
    def rule(path: Path) -> Iterator[str]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                methods = [f.name for f in node.body if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)]
                public = [name for name in methods if not name.startswith("_")]
                if len(public) > (16 if node.name in FRONTIERS else 12):
                    yield f"{node.name} has {public}"

    assert offences(rule) == []


def test_no_error_is_swallowed() -> None:
    def rule(path: Path) -> Iterator[str]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ExceptHandler):
                if node.type is None:
                    yield f"line {node.lineno}: a bare except"
                elif any(isinstance(name, ast.Name) and name.id == "Exception" for name in ast.walk(node.type)):
                    yield f"line {node.lineno}: catches everything"

    assert offences(rule) == []


def test_names_say_something() -> None:
    def rule(path: Path) -> Iterator[str]:
        yield from (word for word in EMPTY_WORDS if word in path.stem)
        for function in functions(parsed(path)):
            # Click names this one; it is not ours to rename.
            if function.name != "get_command" and function.name.startswith(("get_", "do_", "process_")):
                yield function.name

    assert offences(rule) == []


def test_folders_are_one_deep() -> None:
    assert all(len(path.relative_to(SOURCE).parts) <= 2 for path in FILES)


def test_the_median_file_is_of_a_readable_size() -> None:
    sizes = sorted(path.read_text("utf-8").count("\n") for path in FILES if path.name != "__init__.py")
    assert 60 <= sizes[len(sizes) // 2] <= 150
