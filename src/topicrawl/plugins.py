"""Load user-defined strategies, judges, embeddings and seed providers: `package.module:Class[:parameter=value,…]`."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from topicrawl.errors import PluginError, TopicrawlError, UsageError

_YES, _NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")

_Plugin = TypeVar("_Plugin")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

#: Parameter name → type and default value.
ParameterTypes = Mapping[str, tuple[type, object]]


def is_plugin_spec(spec: str) -> bool:
    """Return whether a specification names a user-defined class rather than a built-in one.

    >>> [is_plugin_spec(text) for text in ("mine:GoodHosts", "a.b:Class:x=1", "best_first", "best_first:anchor=0.5")]
    [True, True, False, False]
    """
    name, _, rest = spec.partition(":")
    return "." in name or rest.partition(":")[0].isidentifier()


def load_class(spec: str, role: str, error_class: type[UsageError]) -> tuple[type, str]:
    """Import the class of a specification. Return it with the text of its parameters.

    `role` says in error messages what the class is used for, such as "strategy".
    """
    module, _, rest = spec.partition(":")
    attribute, _, parameters = rest.partition(":")
    # Search the working directory as `python -m` does, but after all installed packages.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, OSError, TypeError, ValueError) as reason:
        raise error_class(f"cannot load the {role} {module}:{attribute}: {reason}") from reason
    if not isinstance(kind, type):
        raise error_class(f"{module}:{attribute} is not a class")
    return kind, parameters


@contextmanager
def report_errors(plugin_name: str) -> Iterator[None]:
    """Convert an exception that a plugin raises to a `PluginError` with the name of the plugin.

    The crawl reports its own `OSError` as a file that cannot be read or written, and any other exception as the failure
    of a page; an error of a plugin is neither. The message names the line of the plugin, except for an `OSError`, which
    names its file.

    >>> with report_errors("mine:GoodHosts"):
    ...     open("/nowhere/hosts.txt")
    Traceback (most recent call last):
        ...
    topicrawl.errors.PluginError: mine:GoodHosts failed: [Errno 2] No such file or directory: '/nowhere/hosts.txt'
    """
    try:
        yield
    except TopicrawlError:
        raise
    except OSError as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise PluginError(f"{plugin_name} failed: {reason}") from error
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1]
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        place = f"{os.path.basename(line.filename)}, line {line.lineno}"
        raise PluginError(f"{plugin_name} failed: {reason} ({place})") from error


def guard_methods(plugin_class: type[_Plugin], base_class: type, plugin_name: str) -> type[_Plugin]:
    """Return a subclass of a plugin whose methods report an exception as `report_errors` does.

    Only methods of `base_class` that the plugin overrides are replaced, so that code which checks for overridden
    methods gets the same answer as for the plugin itself.
    """
    methods: dict[str, object] = {}
    for name, base_method in vars(base_class).items():
        method = getattr(plugin_class, name, None)
        if inspect.isfunction(base_method) and inspect.isfunction(method) and method is not base_method:
            methods[name] = _guard_method(method, plugin_name)
    names = {"__module__": plugin_class.__module__, "__qualname__": plugin_class.__qualname__}
    return types.new_class(
        plugin_class.__name__, (plugin_class,), exec_body=lambda namespace: namespace.update({**names, **methods})
    )


def _guard_method(method: Callable[_Parameters, _Result], plugin_name: str) -> Callable[_Parameters, _Result]:
    @functools.wraps(method)
    def guarded(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with report_errors(plugin_name):
            return method(*args, **kwargs)

    return guarded


def inspect_parameters(plugin_class: type, *, skip: int = 1) -> dict[str, tuple[type, object]]:
    """Return the constructor parameters of a class with types and defaults, without the first `skip` ones."""
    try:
        signature = list(inspect.signature(plugin_class, eval_str=True).parameters.values())[skip:]
    except (NameError, TypeError, ValueError):
        return {}
    result: dict[str, tuple[type, object]] = {}
    for item in signature:
        if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY):
            has_type = isinstance(item.annotation, type) and item.annotation is not item.empty
            result[item.name] = (item.annotation if has_type else str, item.default)
    return result


def parse_parameters(
    text: str, parameter_types: ParameterTypes, owner: str, error_class: type[UsageError]
) -> dict[str, object]:
    """Parse parameters in the form `name=value,…` and convert the values to their types.

    >>> parse_parameters("anchor=0.25,deep=yes", {"anchor": (float, 0.5), "deep": (bool, False)}, "it", UsageError)
    {'anchor': 0.25, 'deep': True}
    """
    parsed: dict[str, object] = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        key = key.strip()
        if key not in parameter_types:
            near = difflib.get_close_matches(key, parameter_types, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(parameter_types) or 'none'}"
            raise error_class(f"{owner} has no parameter {key!r}; {hint}")
        if not equals:
            raise error_class(f"{owner}: write {key}=value, not {item!r}")
        parsed[key] = _parse_value(f"{owner}: {key}", value.strip(), parameter_types[key][0], error_class)
    return parsed


def _parse_value(label: str, text: str, kind: type, error_class: type[UsageError]) -> object:
    """Convert a parameter value to its type. Raise `error_class` with one line if that fails."""
    if kind is bool:
        if text.lower() in (*_YES, *_NO):
            return text.lower() in _YES
        raise error_class(f"{label} must be yes or no, not {text!r}")
    try:
        value: object = kind(text)
    except ValueError as reason:
        raise error_class(f"{label} must be {kind.__name__}, not {text!r}") from reason
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise error_class(f"{label} must be a finite number, not {text!r}")
    return value
