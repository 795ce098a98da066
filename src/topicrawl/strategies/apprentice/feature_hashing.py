"""Salts for the feature hashes (xxh32) of links. The hashes are the same on every machine."""

from __future__ import annotations

import numpy as np
import xxhash

#: Fields that features come from.
FIELDS = ("anchor", "pair", "address", "last", "near", "heading", "title")
SALTS = {name: np.uint32(xxhash.xxh32_intdigest(name.encode())) for name in FIELDS}
#: Factor that separates the features of fields that share a word.
MIX_FACTOR = np.uint32(0x9E3779B1)
