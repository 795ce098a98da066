"""Large tables as short JSON strings: what a strategy has learned about very many URLs, for its state."""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

# The fastest level: a state is written every few hundred visits and read once.
_LEVEL = 1


def packed_texts(texts: Iterable[str]) -> str:
    r"""Texts without line breaks as one string.

    >>> texts_of(packed_texts(["http://a/", "http://b/"])), texts_of(packed_texts([]))
    (['http://a/', 'http://b/'], [])
    """
    return _packed("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass"))


def texts_of(packed: object) -> list[str]:
    return _unpacked(packed).decode("utf-8", "surrogatepass").split("\n")[:-1]


def packed_numbers(kind: str, numbers: Iterable[float]) -> str:
    """Numbers of one kind (the letters of `array`) as one string; floats come back as the same floats.

    >>> list(numbers_of("d", packed_numbers("d", [0.1, 2.5]))), list(numbers_of("Q", packed_numbers("Q", [2**64 - 1])))
    ([0.1, 2.5], [18446744073709551615])
    """
    values = array(kind, numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return _packed(values.tobytes())


def numbers_of(kind: str, packed: object) -> array[float]:
    values: array[float] = array(kind)
    values.frombytes(_unpacked(packed))
    if sys.byteorder == "big":
        values.byteswap()
    return values


def packed_array(values: NDArray[Any]) -> str:
    """An array of numpy as one string; it comes back flat."""
    return _packed(values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes())


def array_of(packed: object, kind: type[Number]) -> NDArray[Number]:
    import numpy as np  # a tenth of a second that only those pay who have arrays

    return np.frombuffer(_unpacked(packed), np.dtype(kind).newbyteorder("<")).astype(kind)


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, _LEVEL)).decode("ascii")


def _unpacked(packed: object) -> bytes:
    return zlib.decompress(base64.b64decode(str(packed)))
