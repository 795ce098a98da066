"""A seed provider of somebody else's: a class that is called with a way to ask the web, by its name `module:Class`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from topicrawl import outside
from topicrawl.errors import SeedError
from topicrawl.seeds.provider import Answer, Get, Provider, hits, plain

_NAMES = ("url", "title", "snippet")


def make(spec: str, get: Get) -> Guest:
    """The provider of a text `module:Class[:parameter=value,…]`."""
    kind, text = outside.loaded(spec, "seed provider", SeedError)
    name = f"{kind.__module__}:{kind.__name__}"
    if not inspect.iscoroutinefunction(getattr(kind, "search", None)):
        raise SeedError(f"{name} is no seed provider: it needs `async def search(self, query, count)`")
    values = outside.values(text, outside.parameters(kind), name, SeedError)
    try:
        provider = kind(get, **values)
    except TypeError as error:
        raise SeedError(f"{name} cannot be called with a way to ask the web: {error}") from error
    if not isinstance(getattr(provider, "name", None), str):
        raise SeedError(f"{name} has no name: give the class a `name`")
    return Guest(provider)


class Guest:
    """Holds a provider to what all of them promise: addresses in their one form, troubles in one line."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        return self._provider.name

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        try:
            found = await self._provider.search(query, count)
        except (OSError, ValueError) as error:
            # What the world does to an engine, and what it answers; mistakes of the program show themselves.
            return [Answer(self.name, trouble=plain(str(error)) or type(error).__name__)]
        return [_checked(answer, count) for answer in found]


def _checked(answer: Answer, count: int) -> Answer:
    rows = [{name: getattr(hit, name) for name in _NAMES} for hit in answer.hits]
    return Answer(answer.engine, hits(rows, count, _NAMES), plain(answer.trouble))
