"""Classes of other people's, named where the built-in ones are: `package.module:Class[:parameter=value,…]`."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
from collections.abc import Mapping

from topicrawl.errors import UsageError

_YES, _NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")

#: Parameter → its type and its default.
Parameters = Mapping[str, tuple[type, object]]


def is_outside(spec: str) -> bool:
    """Whether a text has the form of a class of somebody else's.

    >>> [is_outside(text) for text in ("mine:GoodHosts", "a.b:Class:x=1", "best_first", "best_first:anchor=0.5")]
    [True, True, False, False]
    """
    name, _, rest = spec.partition(":")
    return "." in name or rest.partition(":")[0].isidentifier()


def loaded(spec: str, what: str, error: type[UsageError]) -> tuple[type, str]:
    """The class of a text, and the text of its parameters; `what` it should be is for people: "strategy"."""
    module, _, rest = spec.partition(":")
    attribute, _, parameters = rest.partition(":")
    # Where the user stands, as for `python -m`, but behind everything that is installed.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as reason:
        raise error(f"cannot load the {what} {module}:{attribute}: {reason}") from reason
    if not isinstance(kind, type):
        raise error(f"{module}:{attribute} is not a class")
    return kind, parameters


def parameters(kind: type) -> dict[str, tuple[type, object]]:
    """What a class may be given by name: all that it takes behind its first argument, with types and defaults."""
    try:
        found = list(inspect.signature(kind, eval_str=True).parameters.values())[1:]
    except (NameError, TypeError, ValueError):
        return {}
    told = {it.name: it for it in found if it.kind in (it.POSITIONAL_OR_KEYWORD, it.KEYWORD_ONLY)}
    return {
        name: (it.annotation if isinstance(it.annotation, type) and it.annotation is not it.empty else str, it.default)
        for name, it in told.items()
    }


def values(text: str, known: Parameters, who: str, error: type[UsageError]) -> dict[str, object]:
    """Parameters as they are written, `name=value,…`, in their types.

    >>> values("anchor=0.25,deep=yes", {"anchor": (float, 0.5), "deep": (bool, False)}, "it", UsageError)
    {'anchor': 0.25, 'deep': True}
    """
    found: dict[str, object] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        key = key.strip()
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known) or 'none'}"
            raise error(f"{who} has no parameter {key!r}; {hint}")
        if not equals:
            raise error(f"{who}: write {key}=value, not {item!r}")
        found[key] = _value(f"{who}: {key}", value.strip(), known[key][0], error)
    return found


def _value(where: str, text: str, kind: type, error: type[UsageError]) -> object:
    if kind is bool:
        if text.lower() in (*_YES, *_NO):
            return text.lower() in _YES
        raise error(f"{where} is yes or no, not {text!r}")
    try:
        value: object = kind(text)
    except ValueError as reason:
        raise error(f"{where} must be {kind.__name__}, not {text!r}") from reason
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise error(f"{where} must be a finite number, not {text!r}")
    return value
