"""Crawl strategies: they compute the priority of a link in the frontier. Each module holds one crawler.

>>> create_strategy("best_first:anchor=0.25").anchor
0.25
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import json
import pkgutil
from importlib import resources
from typing import get_type_hints

from topicrawl import plugins
from topicrawl.errors import StrategyError
from topicrawl.strategies.base import Strategy

#: Strategy of a crawl that names none.
DEFAULT_STRATEGY = "apprentice"


def list_strategies() -> dict[str, type[Strategy]]:
    """Return all strategies of this package as a dict of name to class, sorted by name."""
    classes: dict[str, type[Strategy]] = {}
    for module_info in pkgutil.walk_packages(__path__, f"{__name__}."):
        module = importlib.import_module(module_info.name)
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Strategy) and "name" in vars(item):
                classes[item.name] = item
    return dict(sorted(classes.items()))


def describe_strategy(strategy_class: type[Strategy]) -> str:
    """Return the first sentence of a strategy's docstring on one line.

    >>> describe_strategy(list_strategies()["best_first_page"])
    'Give all links of a page the similarity of the page to the topic.'
    """
    return (inspect.getdoc(strategy_class) or "").partition("\n\n")[0].replace("\n", " ")


def get_parameters(strategy_class: type[Strategy]) -> dict[str, tuple[type, object]]:
    """Return the parameters of a strategy: name → (type, default value).

    >>> get_parameters(list_strategies()["n_best_first"])["n"]
    (<class 'int'>, 10)
    """
    if not dataclasses.is_dataclass(strategy_class):
        return {}
    hints = get_type_hints(strategy_class)
    return {f.name: (hints[f.name], f.default) for f in dataclasses.fields(strategy_class) if f.init}


def load_cpu_costs() -> dict[str, float]:
    """Return the CPU milliseconds per page for each strategy, as measured for this release."""
    milliseconds: dict[str, float] = json.loads(resources.files(__name__).joinpath("costs.json").read_text("utf-8"))
    return milliseconds


def create_strategy(spec: str) -> Strategy:
    """Create a strategy from `name` or `name:parameter=value,…`.

    A strategy outside this package is `package.module:Class[:parameter=value,…]`. An unknown name or parameter raises
    `StrategyError`.
    """
    name, _, rest = spec.partition(":")
    kinds = list_strategies()
    if name not in kinds and plugins.is_plugin_spec(spec):
        kind, rest = _load_plugin_class(spec)
    else:
        if name not in kinds:
            matches = difflib.get_close_matches(name.lower().replace("-", "_"), kinds, 1, 0.5)
            hint = f"did you mean {matches[0]!r}?" if matches else "`topicrawl strategies` lists them"
            raise StrategyError(f"unknown strategy {name!r}; {hint}")
        kind = kinds[name]
    parameters = plugins.parse_parameters(rest, get_parameters(kind), kind.name, StrategyError)
    with plugins.report_errors(f"{kind.__module__}:{kind.__name__}"):
        return kind(**parameters)


def _load_plugin_class(spec: str) -> tuple[type[Strategy], str]:
    """Load a strategy class from outside this package. Return it with the parameter text of the specification."""
    kind, rest = plugins.load_class(spec, "strategy", StrategyError)
    class_name = f"{kind.__module__}:{kind.__name__}"
    if not issubclass(kind, Strategy):
        raise StrategyError(f"{class_name} is not a Strategy class")
    if not hasattr(kind, "name"):
        raise StrategyError(f"{class_name} has no name: give the class a `name`")
    return plugins.guard_methods(kind, Strategy, class_name), rest
