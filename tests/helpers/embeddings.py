"""Small embeddings for tests: a model2vec directory and a module with a plugin class."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicrawl.text.frequent_words import load_frequent_words

SUBJECTS = {
    "birds": ("owl", "owls", "bird", "birds", "sparrow", "sparrows", "vogel", "vögel", "eule", "eulen", "spatz"),
    "trains": ("train", "trains", "locomotive", "locomot", "station", "zug", "züge", "lokomotive"),
}
DIMENSIONS = 24
_DTYPES = {"float32": "F32", "float16": "F16", "float64": "F64", "int8": "I8", "int64": "I64"}

PLUGIN = """
import numpy as np
from tests.helpers.embeddings import DIMENSIONS, make_vectors

class Vectors:
    def __init__(self, scale: float = 1.0, language: str = ""):
        self.dimensions = DIMENSIONS
        self.languages = [language] if language else None
        self.table = make_vectors()
        self.scale = scale

    def embed_words(self, words):
        unknown = np.full(DIMENSIONS, np.nan, np.float32)
        rows = [self.table.get(word, unknown) for word in words]
        return self.scale * np.array(rows, np.float32).reshape(len(words), DIMENSIONS)

class Failing(Vectors):
    def embed_words(self, words):
        raise RuntimeError("no GPU\\nfound")

class Flat(Vectors):
    def embed_words(self, words):
        return np.zeros(3)

class NotCreated(Vectors):
    def __init__(self, path: str):
        open(path)

class Unsized:
    languages = None
    def embed_words(self, words):
        return []

class Silent:
    dimensions, languages = 3, None
"""


def make_vectors() -> dict[str, NDArray[np.float32]]:
    """Return random vectors of frequent English and German words, and similar vectors within each subject.

    All vectors have a large common part, as in many embeddings.
    """
    random = np.random.default_rng(5)
    words = [*load_frequent_words("en")[:600], *load_frequent_words("de")[:600]]
    vectors = {word: random.normal(size=DIMENSIONS) for word in words}
    for members in SUBJECTS.values():
        centre = 2 * random.normal(size=DIMENSIONS)
        vectors |= {word: centre + random.normal(size=DIMENSIONS) * 0.5 for word in members}
    return {word: (vector + 1.5).astype(np.float32) for word, vector in vectors.items()}


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write tensors in the format safetensors."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        end = len(data) + tensor.nbytes
        header[name] = {
            "dtype": _DTYPES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), end],
        }
        data += tensor.tobytes()
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_model2vec(
    directory: Path, vectors: Mapping[str, NDArray[np.float32]] | None = None, *, quantised: bool = False
) -> Path:
    """Write a model in the format of model2vec, with one token for each word.

    A quantised model has vectors of bytes, a weight for each token, and a mapping of the tokens to the vectors.
    """
    vectors = make_vectors() if vectors is None else vectors
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    write_tokenizer(directory / "tokenizer.json", ["[UNK]", *vectors])
    table = np.array([np.ones(len(next(iter(vectors.values())))), *vectors.values()], np.float32)
    tensors: dict[str, NDArray[Any]] = {"embeddings": table}
    if quantised:
        lengths = np.abs(table).max(axis=1)
        table = np.rint(table / lengths[:, None] * 127).astype(np.int8)
        mapping = np.arange(len(table), dtype=np.int64)[::-1].copy()
        tensors = {"embeddings": table[::-1].copy(), "weights": lengths.astype(np.float64), "mapping": mapping}
    write_safetensors(directory / "model.safetensors", tensors)
    return directory


def write_tokenizer(path: Path, tokens: Sequence[str]) -> None:
    """Write a WordPiece tokenizer. The first token stands for unknown words."""
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": tokens[0],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: number for number, token in enumerate(tokens)},
        },
    }
    path.write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
