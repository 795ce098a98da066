"""Static word embeddings in the format of model2vec: `config.json`, `tokenizer.json` and `model.safetensors`.

The vector of a word is the mean of the vectors of its tokens. The vectors are mapped into memory, so that only those of
the words of the crawl are read. A safetensors file consists of the length of its header (8 bytes), the header in JSON
and the tensors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, convert
from numpy.typing import NDArray

from topicrawl.errors import SettingError
from topicrawl.text.term_vectors import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LENGTH_BYTES = 8
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I8": "<i1", "I32": "<i4", "I64": "<i8"}

Tensor = NDArray[Any]


class TensorInfo(Struct, frozen=True):
    """Type, shape and position of a tensor in a safetensors file."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class Model2VecEmbedding:
    """Embedding of a model2vec directory. It needs the library tokenizers."""

    def __init__(self, directory: Path, languages: Sequence[str] | None = None) -> None:
        """Load a model. Raise `SettingError` if it is invalid, or if the library is missing."""
        self.languages = languages
        _read_json(directory / "config.json")  # its values are not needed, because Topicrawl normalises the vectors
        self._tokenizer, unknown_token = load_tokenizer(directory / "tokenizer.json")
        self._unknown_id = self._tokenizer.token_to_id(unknown_token) if unknown_token else None
        path = directory / "model.safetensors"
        tokens = self._tokenizer.get_vocab_size(with_added_tokens=True)
        self._vectors = read_tensor(path, "embeddings", shape=(-1, -1))
        self._weights = read_tensor(path, "weights", shape=(tokens,), is_optional=True)
        self._mapping = read_tensor(path, "mapping", shape=(tokens,), is_optional=True)
        self.dimensions = int(self._vectors.shape[1])
        rows = tokens if self._mapping is None else int(self._mapping.max()) + 1
        if rows > len(self._vectors):
            raise SettingError(f"{path} has {len(self._vectors)} vectors, but the tokenizer needs {rows}")

    def embed_words(self, words: Sequence[str]) -> Floats:
        """Return the means of the vectors of the words' tokens. Words without a known token have rows of zeros."""
        # Not `encode_batch`: it is not faster for single words, and it starts threads, which complicate a fork.
        encodings = (self._tokenizer.encode(word, add_special_tokens=False) for word in words)
        tokens = [[token for token in encoding.ids if token != self._unknown_id] for encoding in encodings]
        counts = np.array(list(map(len, tokens)), np.int64)
        ids = np.fromiter(chain.from_iterable(tokens), np.int64, int(counts.sum()))
        vectors = self._vectors[ids if self._mapping is None else self._mapping[ids]].astype(np.float32)
        if self._weights is not None:
            vectors *= self._weights[ids].astype(np.float32)[:, None]
        means = np.zeros((len(words), self.dimensions), np.float32)
        known = counts > 0
        if known.any():
            sums = np.add.reduceat(vectors, (counts.cumsum() - counts)[known])
            means[known] = sums / counts[known].astype(np.float32)[:, None]
        return means


def load_tokenizer(path: Path) -> tuple[Tokenizer, str]:
    """Load a tokenizer, and return it with its token for unknown text ("" if it has none)."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SettingError(
            "an embedding in the format of model2vec needs the library tokenizers: pip install 'topicrawl[embedding]'"
        ) from error
    content = _read_json(path)
    try:
        tokenizer = Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the library raises plain exceptions
        reason = " ".join(str(error).split())
        raise SettingError(f"{path} is not a tokenizer: {reason}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    model = content["model"]
    if isinstance(model.get("unk_id"), int):
        return tokenizer, tokenizer.id_to_token(model["unk_id"]) or ""
    return tokenizer, model.get("unk_token") or ""


def read_tensor(path: Path, name: str, *, shape: tuple[int, ...], is_optional: bool = False) -> Any:
    """Map a tensor of a safetensors file into memory. A size of -1 in `shape` is any size from 1 on.

    Return None if the tensor is missing and optional. Raise `SettingError` if the file is invalid or the shape differs.
    """
    tensors, data_start = _read_header(path)
    if name not in tensors:
        if is_optional:
            return None
        raise SettingError(f"{path} has no tensor {name!r}: it is not a model2vec model")
    tensor = tensors[name]
    if tensor.dtype not in _TYPES:
        raise SettingError(f"{path}: {name} has the type {tensor.dtype}, which is not supported: {', '.join(_TYPES)}")
    fits = len(tensor.shape) == len(shape) and all(
        have > 0 and want in (-1, have) for have, want in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        wanted = " × ".join("n" if size == -1 else str(size) for size in shape)
        raise SettingError(f"{path}: {name} has the shape {tensor.shape}; {wanted} is required")
    start, end = tensor.data_offsets
    dtype = np.dtype(_TYPES[tensor.dtype])
    is_complete = end - start == prod(tensor.shape) * dtype.itemsize and data_start + end <= path.stat().st_size
    if start < 0 or not is_complete:
        raise SettingError(f"{path} is truncated: the data of {name} is incomplete")
    # A plain array, because indexing a `memmap` is slower.
    return np.memmap(path, dtype, "r", offset=data_start + start, shape=tuple(tensor.shape)).view(np.ndarray)


def _read_header(path: Path) -> tuple[dict[str, TensorInfo], int]:
    """Return the tensors of a safetensors file, and the position of their data. Raise `SettingError` if that fails."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if length > path.stat().st_size - _LENGTH_BYTES:
                raise SettingError(f"{path} is truncated or not a safetensors file")
            header = convert(json.loads(file.read(length)), dict[str, Any])
        header.pop("__metadata__", None)
        return convert(header, dict[str, TensorInfo]), _LENGTH_BYTES + length
    except (OSError, ValueError, RecursionError) as error:
        raise SettingError(f"{path} cannot be read: {' '.join(str(error).split())}") from error


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raise `SettingError` if that fails."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise SettingError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise SettingError(f"{path} does not contain a JSON object")
    return content
