"""Step 6. From a link to its place in the frontier; one crawler a file, and this folder is the list.

>>> make("best_first:anchor=0.25").anchor
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

from topicrawl import outside
from topicrawl.errors import StrategyError
from topicrawl.strategies.strategy import Strategy

#: What orders the links of a crawl for which nothing else was asked.
USUAL = "apprentice"


def available() -> dict[str, type[Strategy]]:
    """Every strategy in this folder by its name, sorted."""
    found: dict[str, type[Strategy]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Strategy) and "name" in vars(item):
                found[item.name] = item
    return dict(sorted(found.items()))


def sentence(kind: type[Strategy]) -> str:
    """What a strategy says of itself, in one sentence.

    >>> sentence(available()["best_first_page"])
    'All links of a page are worth what the page is worth.'
    """
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")


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
    if name not in kinds and outside.is_outside(spec):
        kind, rest = _outside(spec)
    else:
        if name not in kinds:
            near = difflib.get_close_matches(name.lower().replace("-", "_"), kinds, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else "`topicrawl strategies` lists them"
            raise StrategyError(f"unknown strategy {name!r}; {hint}")
        kind = kinds[name]
    return kind(**outside.values(rest, parameters(kind), kind.name, StrategyError))


def _outside(spec: str) -> tuple[type[Strategy], str]:
    kind, rest = outside.loaded(spec, "strategy", StrategyError)
    if not issubclass(kind, Strategy):
        raise StrategyError(f"{kind.__module__}:{kind.__name__} is not a Strategy class")
    if not hasattr(kind, "name"):
        raise StrategyError(f"{kind.__module__}:{kind.__name__} has no name: give the class a `name`")
    return kind, rest
