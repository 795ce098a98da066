"""Model exchange between the apprentices of a shared crawl, so that all workers have the same model.

One worker fetches a page, but often another worker has found the link to it, and only that worker knows the link's
features. Therefore a delta contains the fetched URLs with their rewards. The workers with links to these URLs learn
from them, and their next delta contains the resulting weight changes. A delta takes about one kilobyte per page,
independent of the page size. Term rewards are not exchanged: each worker computes them from its own pages. Sending them
would triple the size of a delta, and crawls that sent them found fewer relevant pages. A worker that joins later starts
with the snapshot of another worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from topicrawl.ml.online import OnlineLogisticRegression
from topicrawl.models import JsonValue
from topicrawl.serialization import pack_array, pack_texts, unpack_array, unpack_texts
from topicrawl.strategies.apprentice.link_model import FetchRecord, LinkModel

_NO_REWARD = -1.0  # reward of a URL without a page


class LinkModelSync:
    """Exports and applies the model deltas of one apprentice."""

    def __init__(self, link_model: LinkModel) -> None:
        self._link_model = link_model
        link_model.fetch_log = []
        link_model.group_rates.export_delta()
        self._mark_exported()

    def _mark_exported(self) -> None:
        """Remember the current model as known to the other workers."""
        model = self._link_model.regression
        # Prior weights come from the pages that this worker has read, so they are not exchanged.
        self._exported_weights, self._exported_squares = (
            model.weights - model.prior_weights,
            model.gradient_squares.copy(),
        )
        self._exported_bins = self._link_model.reward.get_counts()

    def export_delta(self) -> JsonValue:
        """Return the changes since the last call, or None if there are none."""
        brain, model = self._link_model, self._link_model.regression
        visited, brain.fetch_log = brain.fetch_log or [], []
        slots = np.flatnonzero(model.gradient_squares != self._exported_squares).astype(np.int32)
        if not visited and not len(slots):
            return None
        bins = self._link_model.reward.get_counts() - self._exported_bins
        changed_bins = np.flatnonzero(bins).astype(np.int32)
        delta: dict[str, JsonValue] = {
            "asked": pack_texts([fetch.requested_url for fetch in visited]),
            "found": pack_texts(["" if each.page_url == each.requested_url else each.page_url for each in visited]),
            "rewards": _pack_optional([fetch.reward for fetch in visited]),
            "relevance": _pack_optional([fetch.relevance for fetch in visited]),
            "slots": pack_array(slots),
            "weights": pack_array((model.weights - model.prior_weights - self._exported_weights)[slots]),
            "squares": pack_array((model.gradient_squares - self._exported_squares)[slots]),
            "bins": pack_array(changed_bins),
            "pages": pack_array(bins[changed_bins].astype(np.int32)),
            "rates": brain.group_rates.export_delta(),
        }
        self._mark_exported()
        return delta

    def apply_delta(self, delta: JsonValue) -> None:
        """Apply the delta of another worker, and learn from the links to the URLs that it has fetched."""
        fields = cast("Mapping[str, JsonValue]", delta)
        model, brain = self._link_model.regression, self._link_model
        slots = unpack_array(fields["slots"], np.int32)
        # Also add the change to the exported values, so that it is not exported again.
        for values, exported, name in (
            (model.weights, self._exported_weights, "weights"),
            (model.gradient_squares, self._exported_squares, "squares"),
        ):
            change = unpack_array(fields[name], np.float32)
            values[slots] += change
            exported[slots] += change
        changed_bins, pages = unpack_array(fields["bins"], np.int32), unpack_array(fields["pages"], np.int32)
        brain.reward.add_counts(dict(zip(changed_bins.tolist(), pages.tolist(), strict=True)))
        self._exported_bins[changed_bins] += pages
        brain.group_rates.apply_delta(fields["rates"])
        columns = (
            unpack_texts(fields["asked"]),
            unpack_texts(fields["found"]),
            _unpack_optional(fields["rewards"]),
            _unpack_optional(fields["relevance"]),
        )
        for requested, final, reward, relevance in zip(*columns, strict=True):
            brain.record_fetch(FetchRecord(requested, final or requested, reward, relevance))

    def rescore_links(self) -> Mapping[str, float]:
        """Return new scores of the waiting links that this worker has found."""
        return self._link_model.rescore_links()

    def export_snapshot(self) -> JsonValue:
        """Return the state that all workers share: everything except the waiting links."""
        return {name: value for name, value in self._link_model.get_state().items() if name != "pool"}

    def load_snapshot(self, snapshot: JsonValue) -> None:
        """Replace the model with a snapshot. The waiting links of this worker stay."""
        brain = self._link_model
        group_names, tracked = list(brain.group_rates.names), brain.term_rewards.tracked_terms.copy()
        model = OnlineLogisticRegression(
            learning_rate=brain.regression.learning_rate, initial_squares=brain.regression.initial_squares
        )
        brain.regression.weights, brain.regression.gradient_squares, brain.regression.prior_weights = (
            model.weights,
            model.gradient_squares,
            model.prior_weights,
        )
        brain.restore_state({**cast("Mapping[str, JsonValue]", snapshot), "pool": brain.pool.get_state()})
        if group_names:
            brain.pool.renumber_groups(brain.group_rates.get_numbers(group_names))
        brain.term_rewards.track_terms(tracked)
        brain.group_rates.export_delta()
        brain.fetch_log = []
        self._mark_exported()


def _pack_optional(values: Sequence[float | None]) -> JsonValue:
    """Return numbers as plain values. None becomes a number that is neither a reward nor a relevance."""
    return pack_array(np.array([_NO_REWARD if value is None else value for value in values], np.float32))


def _unpack_optional(values: JsonValue) -> list[float | None]:
    """Return the numbers of `_pack_optional`."""
    return [None if value == _NO_REWARD else value for value in unpack_array(values, np.float32).tolist()]
