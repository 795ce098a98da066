"""Step 7. From a link to its place in the frontier; one crawler a file, and this folder is the list.

>>> make("best_first:anchor=0.25").anchor
0.25
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import json
import os
import pkgutil
import sys
from importlib import resources
from typing import get_type_hints

from topicrawl.errors import StrategyError
from topicrawl.strategies.strategy import Strategy


def available() -> dict[str, type[Strategy]]:
    """Every strategy in this folder by its name, sorted."""
    found: dict[str, type[Strategy]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Strategy) and "name" in vars(item):
                found[item.name] = item
    return dict(sorted(found.items()))


def parameters(kind: type[Strategy]) -> dict[str, tuple[type, object]]:
    """The parameters of a strategy: name → type and default.

    >>> parameters(available()["n_best_first"])["n"]
    (<class 'int'>, 10)
    """
    if not dataclasses.is_dataclass(kind):
        return {}
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], f.default) for f in dataclasses.fields(kind) if f.init}


def costs() -> dict[str, float]:
    """CPU milliseconds of a whole page with each strategy, as measured when the package was made."""
    found: dict[str, float] = json.loads(resources.files(__name__).joinpath("costs.json").read_text("utf-8"))
    return found


def make(spec: str) -> Strategy:
    """A strategy from `name` or `name:parameter=value,…`; one's own is `package.module:Class[:parameter=value,…]`."""
    name, _, rest = spec.partition(":")
    kinds = available()
    if name not in kinds and ("." in name or rest.partition(":")[0].isidentifier()):
        attribute, _, rest = rest.partition(":")
        kind = _outside(name, attribute)
    else:
        if name not in kinds:
            near = difflib.get_close_matches(name.lower().replace("-", "_"), kinds, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else "`topicrawl strategies` lists them"
            raise StrategyError(f"unknown strategy {name!r}; {hint}")
        kind = kinds[name]
    return kind(**_values(kind, rest))


def _outside(module_name: str, attribute: str) -> type[Strategy]:
    # Where the user stands, as for `python -m`, but behind everything that is installed.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        kind = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise StrategyError(f"cannot load the strategy {module_name}:{attribute}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Strategy)):
        raise StrategyError(f"{module_name}:{attribute} is not a Strategy class")
    if not hasattr(kind, "name"):
        raise StrategyError(f"{module_name}:{attribute} has no name: give the class a `name`")
    return kind


def _values(kind: type[Strategy], rest: str) -> dict[str, object]:
    known = parameters(kind)
    values: dict[str, object] = {}
    for item in filter(None, rest.split(",")):
        key, equals, text = item.partition("=")
        key = key.strip()
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known) or 'none'}"
            raise StrategyError(f"{kind.name} has no parameter {key!r}; {hint}")
        if not equals:
            raise StrategyError(f"{kind.name}: write {key}=value, not {item!r}")
        values[key] = _value(kind.name, key, text.strip(), known[key][0])
    return values


def _value(name: str, key: str, text: str, kind: type) -> object:
    if kind is bool:
        if text.lower() in ("yes", "true", "1", "on", "no", "false", "0", "off"):
            return text.lower() in ("yes", "true", "1", "on")
        raise StrategyError(f"{name}: {key} is yes or no, not {text!r}")
    try:
        value: object = kind(text)
    except ValueError as error:
        raise StrategyError(f"{name}: {key} must be {kind.__name__}, not {text!r}") from error
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise StrategyError(f"{name}: {key} must be a finite number, not {text!r}")
    return value
