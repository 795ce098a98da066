"""Load a user's own seed provider: `module:Class`, called with a function for HTTP requests."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from topicrawl import plugins
from topicrawl.errors import SeedError
from topicrawl.seeds.provider import EngineAnswer, HttpGet, SearchProvider, clean_text, parse_hits

_FIELDS = ("url", "title", "snippet")


def load_provider(spec: str, get: HttpGet) -> PluginProvider:
    """Create the provider from a specification `module:Class[:parameter=value,…]`."""
    kind, text = plugins.load_class(spec, "seed provider", SeedError)
    name = f"{kind.__module__}:{kind.__name__}"
    if not inspect.iscoroutinefunction(getattr(kind, "search", None)):
        raise SeedError(f"{name} is not a seed provider: add `async def search(self, query, count)`")
    values = plugins.parse_parameters(text, plugins.inspect_parameters(kind), name, SeedError)
    try:
        provider = kind(get, **values)
    except TypeError as error:
        raise SeedError(f"{name} cannot be called with an HTTP function: {error}") from error
    if not isinstance(getattr(provider, "name", None), str):
        raise SeedError(f"{name} has no name: give the class a `name`")
    return PluginProvider(provider)


class PluginProvider:
    """Provider of the user with validated answers: canonical URLs, and failures as one line of text."""

    def __init__(self, provider: SearchProvider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        """Name of the user's provider."""
        return self._provider.name

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Return the validated answers. Network errors and invalid responses become failed answers."""
        try:
            received = await self._provider.search(query, count)
        except (OSError, ValueError) as error:
            # Only errors of the network and of responses are caught; bugs in the plugin are raised.
            return [EngineAnswer(self.name, trouble=clean_text(str(error)) or type(error).__name__)]
        return [_normalise_answer(answer, count) for answer in received]


def _normalise_answer(answer: EngineAnswer, count: int) -> EngineAnswer:
    """Return an answer with canonical URLs and one-line texts."""
    rows = [{name: getattr(hit, name) for name in _FIELDS} for hit in answer.hits]
    return EngineAnswer(answer.engine, parse_hits(rows, count, _FIELDS), clean_text(answer.trouble))
