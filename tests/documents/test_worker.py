"""The process that reads documents is replaced when it dies; what cannot be read for want of something says so."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.documents import made

from topicrawl.documents.convert import converted
from topicrawl.documents.message import Limits
from topicrawl.documents.unreadable import Unreadable
from topicrawl.documents.worker import Worker
from topicrawl.records import Failure

TEXT = made.docx(["Owls"])


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def process_of(worker: Worker) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_a_process_that_died_is_replaced_and_the_document_is_read(worker: Worker) -> None:
    assert worker.convert(TEXT).failure is None
    first = process_of(worker)
    os.killpg(first, signal.SIGKILL)
    assert b"Owls" in worker.convert(TEXT).body
    assert process_of(worker) != first
    worker.stop()
    assert worker.convert(TEXT).failure == Failure.UNPARSED, "nothing is started any more"


def failure_of(body: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        converted(body, Limits())
    return caught.value


def test_what_to_install_is_said_when_a_reader_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for body, hint in (
        (made.pdf([["x"]]), "pip install pypdfium2"),
        (made.postscript(["x"]), "apt install ghostscript"),
    ):
        error = failure_of(body)
        assert error.failure == Failure.NO_READER
        assert hint in error.detail


def test_a_file_with_a_password_is_named_as_such() -> None:
    body = bytearray(made.zipped({"word/document.xml": b"<w/>"}))
    for mark in (b"PK\3\4", b"PK\1\2"):
        at = body.index(mark)
        body[at + (6 if mark == b"PK\3\4" else 8)] |= 1
    assert failure_of(bytes(body)).failure == Failure.ENCRYPTED


@pytest.mark.skipif(not shutil.which("gs"), reason="Ghostscript is not installed (apt install ghostscript)")
def test_a_pdf_with_a_password_is_named_as_such() -> None:
    options = [
        "-q",
        "-dBATCH",
        "-dNOPAUSE",
        "-sDEVICE=pdfwrite",
        "-sOwnerPassword=a",
        "-sUserPassword=b",
        "-sOutputFile=-",
        "-",
    ]
    made_by = subprocess.run(["gs", *options], input=made.postscript(["x"]), capture_output=True, check=True)
    assert failure_of(made_by.stdout).failure == Failure.ENCRYPTED
