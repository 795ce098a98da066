"""Synchronise the judge of a shared crawl together with the model of the strategy.

The judge expands the topic by the best pages of the crawl. Workers exchange these pages, so that all of them judge by
the same expansion. The frequencies of terms on the other pages are not exchanged: every worker knows enough of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from topicrawl.errors import SettingError
from topicrawl.models import JsonValue
from topicrawl.relevance.base import SharesSources
from topicrawl.strategies.base import SyncProtocol


class JudgeSync:
    """Exchange of the learned state of a strategy and of the source pages of a judge.

    A delta or snapshot without `sources` is that of a strategy: version 0.1 exchanged nothing else.
    """

    def __init__(self, judge: SharesSources, strategy_sync: SyncProtocol | None) -> None:
        self._judge = judge
        self._strategy_sync = strategy_sync
        self._known_urls: set[str] = set()  # pages that the other workers have

    def export_delta(self) -> JsonValue:
        """Return the changes of the strategy and the new source pages since the last call; None for none."""
        sources = {url: page for url, page in self._judge.export_sources().items() if url not in self._known_urls}
        self._known_urls.update(sources)
        model = self._strategy_sync.export_delta() if self._strategy_sync is not None else None
        return {"model": model, "sources": sources} if model is not None or sources else None

    def apply_delta(self, delta: JsonValue) -> None:
        """Apply the delta of another worker to the strategy and to the judge."""
        model, sources = _split_values(delta)
        self._add_sources(sources)
        if self._strategy_sync is not None and model is not None:
            self._strategy_sync.apply_delta(model)

    def rescore_links(self) -> Mapping[str, float]:
        """Return new scores of the strategy for waiting links."""
        return self._strategy_sync.rescore_links() if self._strategy_sync is not None else {}

    def export_snapshot(self) -> JsonValue:
        """Return the state of the strategy and all source pages."""
        model = self._strategy_sync.export_snapshot() if self._strategy_sync is not None else None
        return {"model": model, "sources": dict(self._judge.export_sources())}

    def load_snapshot(self, snapshot: JsonValue) -> None:
        """Replace the state of the strategy, and add the source pages of the other workers.

        Raise `SettingError` if the other workers have another embedding under the same name.
        """
        model, sources = _split_values(snapshot)
        try:
            self._add_sources(sources)
        except ValueError as error:
            raise SettingError(f"the pages of the other workers cannot be used on this machine: {error}") from error
        if self._strategy_sync is not None and model is not None:
            self._strategy_sync.load_snapshot(model)

    def _add_sources(self, sources: Mapping[str, JsonValue]) -> None:
        """Pass the source pages of another worker to the judge."""
        self._known_urls.update(sources)
        self._judge.add_sources(sources)


def _split_values(values: JsonValue) -> tuple[JsonValue, Mapping[str, JsonValue]]:
    """Return the values of the strategy and the source pages of a delta or snapshot."""
    if isinstance(values, Mapping) and isinstance(sources := values.get("sources"), Mapping) and "model" in values:
        return values["model"], sources
    return values, {}
