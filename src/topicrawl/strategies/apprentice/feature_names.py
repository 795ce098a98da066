"""Map hashed link features back to words, to explain scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from topicrawl.strategies.apprentice.feature_hashing import MIX_FACTOR, SALTS
from topicrawl.strategies.apprentice.topic_terms import Hashes

_MIX_INVERSE = np.uint32(pow(int(MIX_FACTOR), -1, 1 << 32))
#: Phrases for features in an explanation. Word pairs have no phrase, because their words have one.
_PHRASES = {
    "anchor": "link text “{}”",
    "address": "address “{}”",
    "last": "address ends in “{}”",
    "near": "beside “{}”",
    "heading": "under “{}”",
    "title": "on a page titled “{}”",
}
_SALTED_PHRASES = [(int(SALTS[field]), phrase) for field, phrase in _PHRASES.items()]


def name_features(features: Hashes, texts: Mapping[int, str]) -> list[str]:
    """Return a phrase for each feature, or "" if it is unknown. `texts` maps hashes to words.

    >>> from topicrawl.strategies.apprentice.topic_terms import hash_text
    >>> owl = np.array([hash_text("owl")], np.uint32)
    >>> name_features((owl ^ SALTS["near"]) * MIX_FACTOR, {hash_text("owl"): "owl"}), name_features(owl, {})
    (['beside “owl”'], [''])
    """
    return [_name_feature(feature, texts) for feature in (features * _MIX_INVERSE).tolist()]


def _name_feature(feature: int, texts: Mapping[int, str]) -> str:
    """Return the phrase of a feature that is not mixed."""
    for salt, phrase in _SALTED_PHRASES:
        text = texts.get(feature ^ salt)
        if text is not None:
            return phrase.format(text)
    return ""
