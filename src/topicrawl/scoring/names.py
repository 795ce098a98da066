"""From the hashed features of a link back to words, for people who ask why it was chosen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from topicrawl.scoring.features import MIXED, SALTS
from topicrawl.scoring.terms import Hashes

_BACK = np.uint32(pow(int(MIXED), -1, 1 << 32))
#: How features are called in an explanation; pairs of words are not named, as their words are.
_SAID = {
    "anchor": "link text “{}”", "address": "address “{}”", "last": "address ends in “{}”", "near": "beside “{}”",
    "heading": "under “{}”", "title": "on a page titled “{}”",
}  # fmt: skip


def named(features: Hashes, texts: Mapping[int, str]) -> list[str]:
    """What each feature says, "" where that is not known. `texts` has the words and names by their hashes.

    >>> from topicrawl.scoring.terms import hashed
    >>> owl = np.array([hashed("owl")], np.uint32)
    >>> named((owl ^ SALTS["near"]) * MIXED, {hashed("owl"): "owl"}), named(owl, {})
    (['beside “owl”'], [''])
    """
    plain = features * _BACK
    found = [""] * len(features)
    for field, phrase in _SAID.items():
        for number, value in enumerate((plain ^ SALTS[field]).tolist()):
            if value in texts and not found[number]:
                found[number] = phrase.format(texts[value])
    return found
