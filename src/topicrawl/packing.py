"""Large tables as short JSON strings: what a strategy has learned about very many URLs, for its state.

What is very large becomes a list of strings, each packed by itself: nobody needs room for all of it at once then.
"""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from topicrawl.records import Carry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

# The fastest level: a state is written every few hundred visits and read once.
_LEVEL = 1
_PIECE = 1 << 18  # bytes that are packed into one string
_TEXTS = 4096  # the same for texts, of some sixty bytes each


def packed_texts(texts: Iterable[str]) -> Carry:
    r"""Texts without line breaks as one string.

    >>> texts_of(packed_texts(["http://a/", "http://b/"])), texts_of(packed_texts([]))
    (['http://a/', 'http://b/'], [])
    """
    left = iter(texts)
    parts = iter(lambda: "".join([f"{text}\n" for text in islice(left, _TEXTS)]), "")
    return _packed(part.encode("utf-8", "surrogatepass") for part in parts)


def texts_of(packed: object) -> list[str]:
    return _unpacked(packed).decode("utf-8", "surrogatepass").split("\n")[:-1]


def packed_numbers(kind: str, numbers: Iterable[float]) -> Carry:
    """Numbers of one kind (the letters of `array`) as one string; floats come back as the same floats.

    >>> list(numbers_of("d", packed_numbers("d", [0.1, 2.5]))), list(numbers_of("Q", packed_numbers("Q", [2**64 - 1])))
    ([0.1, 2.5], [18446744073709551615])
    """
    values = array(kind, numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return _packed(_parts(memoryview(values)))


def numbers_of(kind: str, packed: object) -> array[float]:
    values: array[float] = array(kind)
    values.frombytes(_unpacked(packed))
    if sys.byteorder == "big":
        values.byteswap()
    return values


def packed_array(values: NDArray[Any]) -> Carry:
    """An array of numpy; it comes back flat."""
    # No copy, unless it has gaps.
    flat = values.astype(values.dtype.newbyteorder("<"), order="C", copy=False).reshape(-1)
    return _packed(_parts(flat.view("u1").data))


def array_of(packed: object, kind: type[Number]) -> NDArray[Number]:
    import numpy as np  # a tenth of a second that only those pay who have arrays

    return np.frombuffer(_unpacked(packed), np.dtype(kind).newbyteorder("<")).astype(kind)


def _parts(data: memoryview) -> Iterator[memoryview]:
    """The bytes of an array, some at a time."""
    data = data.cast("B")
    return (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))


def _packed(parts: Iterable[bytes | memoryview]) -> Carry:
    packed: list[Carry] = [base64.b64encode(zlib.compress(part, _LEVEL)).decode("ascii") for part in parts]
    return packed if len(packed) > 1 else packed[0] if packed else _NOTHING


def _unpacked(packed: object) -> bytes:
    pieces = packed if isinstance(packed, list) else [packed]
    return b"".join([zlib.decompress(base64.b64decode(str(piece))) for piece in pieces])


_NOTHING = base64.b64encode(zlib.compress(b"", _LEVEL)).decode("ascii")
