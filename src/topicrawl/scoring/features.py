"""How features of links are numbered: by hashes (xxh32), the same on every machine."""

from __future__ import annotations

import numpy as np
import xxhash

#: What features are about.
FIELDS = ("anchor", "pair", "address", "last", "near", "heading", "title")
SALTS = {name: np.uint32(xxhash.xxh32_intdigest(name.encode())) for name in FIELDS}
#: Multiplied once more, so that fields that share a word do not share neighbours.
MIXED = np.uint32(0x9E3779B1)
