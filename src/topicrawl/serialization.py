"""Pack large lists of strings and numbers into compressed base64 strings for the JSON state of a strategy.

A very large list becomes several strings that are compressed independently, which bounds the memory for packing.
"""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from topicrawl.models import JsonValue

#: Return value of the `pack_` functions, as a field type of states that `msgspec.convert` restores.
PackedValues: TypeAlias = str | list[str]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

# Fastest level: the state is written every few hundred visits and read only once.
_COMPRESSION_LEVEL = 1
_CHUNK_BYTES = 1 << 18  # bytes per packed string
_CHUNK_TEXTS = 4096  # texts per packed string, at about sixty bytes each


def pack_texts(texts: Iterable[str]) -> JsonValue:
    r"""Pack texts that contain no line breaks.

    >>> unpack_texts(pack_texts(["http://a/", "http://b/"])), unpack_texts(pack_texts([]))
    (['http://a/', 'http://b/'], [])
    """
    remaining = iter(texts)
    parts = iter(lambda: "".join([f"{text}\n" for text in islice(remaining, _CHUNK_TEXTS)]), "")
    return _pack_chunks(part.encode("utf-8", "surrogatepass") for part in parts)


def unpack_texts(packed: JsonValue | PackedValues) -> list[str]:
    """Return the texts packed by `pack_texts`."""
    return _unpack_chunks(packed).decode("utf-8", "surrogatepass").split("\n")[:-1]


def pack_numbers(typecode: str, numbers: Iterable[float]) -> JsonValue:
    """Pack numbers of one `array` type code. Floats keep their exact value.

    >>> (
    ...     list(unpack_numbers("d", pack_numbers("d", [0.1, 2.5]))),
    ...     list(unpack_numbers("Q", pack_numbers("Q", [2**64 - 1]))),
    ... )
    ([0.1, 2.5], [18446744073709551615])
    """
    values = array(typecode, numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return _pack_chunks(_split_buffer(memoryview(values)))


def unpack_numbers(typecode: str, packed: JsonValue | PackedValues) -> array[float]:
    """Return the numbers packed by `pack_numbers` with the same type code."""
    values: array[float] = array(typecode)
    values.frombytes(_unpack_chunks(packed))
    if sys.byteorder == "big":
        values.byteswap()
    return values


def pack_array(values: NDArray[Any]) -> JsonValue:
    """Pack a numpy array. `unpack_array` returns it as a flat array."""
    # Contiguous arrays are not copied.
    flat = values.astype(values.dtype.newbyteorder("<"), order="C", copy=False).reshape(-1)
    return _pack_chunks(_split_buffer(flat.view("u1").data))


def unpack_array(packed: JsonValue | PackedValues, dtype: type[Number]) -> NDArray[Number]:
    """Return the flat array packed by `pack_array`."""
    import numpy as np  # imported here because the import takes 0.1 s

    return np.frombuffer(_unpack_chunks(packed), np.dtype(dtype).newbyteorder("<")).astype(dtype)


def _split_buffer(data: memoryview) -> Iterator[memoryview]:
    """Yield the bytes of a buffer in chunks."""
    data = data.cast("B")
    return (data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES))


def _pack_chunks(parts: Iterable[bytes | memoryview]) -> JsonValue:
    """Compress and encode each chunk; a single chunk is returned as a string, several as a list."""
    packed: list[JsonValue] = [
        base64.b64encode(zlib.compress(part, _COMPRESSION_LEVEL)).decode("ascii") for part in parts
    ]
    return packed if len(packed) > 1 else packed[0] if packed else _EMPTY


def _unpack_chunks(packed: JsonValue | PackedValues) -> bytes:
    pieces = packed if isinstance(packed, list) else [packed]
    return b"".join([zlib.decompress(base64.b64decode(str(piece))) for piece in pieces])


_EMPTY = base64.b64encode(zlib.compress(b"", _COMPRESSION_LEVEL)).decode("ascii")
