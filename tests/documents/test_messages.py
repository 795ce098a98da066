"""Messages between the crawl process and the document child process."""

from __future__ import annotations

import msgspec
import pytest

from topicrawl.documents.messages import (
    LENGTH_PREFIX,
    ArchiveMember,
    ConversionLimits,
    ConversionRequest,
    ConvertedDocument,
    decode_message,
    encode_message,
)
from topicrawl.models import Failure

REQUEST = ConversionRequest(b"%PDF", ConversionLimits(1000, 0.5))
RESULT = ConvertedDocument(
    members=(ArchiveMember("a.txt", b"\x00\xff"), ArchiveMember("b", failure=Failure.ENCRYPTED, detail="a password"))
)


@pytest.mark.parametrize("message", [REQUEST, RESULT], ids=["request", "result"])
def test_a_message_survives_the_transfer(message: ConversionRequest | ConvertedDocument) -> None:
    data = encode_message(message)
    (length,) = LENGTH_PREFIX.unpack(data[: LENGTH_PREFIX.size])
    assert length == len(data) - LENGTH_PREFIX.size
    assert decode_message(data[LENGTH_PREFIX.size :], type(message)) == message


INVALID_RESULTS = {
    "wrong type": msgspec.msgpack.encode(["text/html", 7, [], None, ""]),
    "unknown failure": msgspec.msgpack.encode(["", b"", [], "no such failure", ""]),
    "no list": msgspec.msgpack.encode({"body": b""}),
    "truncated": msgspec.msgpack.encode(["text/html", b"body"])[:-1],
    "empty": b"",
}


@pytest.mark.parametrize("data", INVALID_RESULTS.values(), ids=INVALID_RESULTS.keys())
def test_an_invalid_result_raises_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expected|Invalid|truncated"):
        decode_message(data, ConvertedDocument)
