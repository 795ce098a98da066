"""Tests of the document worker: replacement of dead processes, missing dependencies, passwords."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.helpers import documents as made

from topicrawl.documents.conversion import convert_document
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.messages import ConversionLimits
from topicrawl.documents.worker import DocumentWorker
from topicrawl.models import Failure

TEXT = made.docx(["Owls"])


@pytest.fixture
def worker() -> Iterator[DocumentWorker]:
    found = DocumentWorker()
    yield found
    found.close()


def process_of(worker: DocumentWorker) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_a_dead_process_is_replaced(worker: DocumentWorker) -> None:
    assert worker.convert(TEXT).failure is None
    first = process_of(worker)
    os.killpg(first, signal.SIGKILL)
    assert b"Owls" in worker.convert(TEXT).body
    assert process_of(worker) != first
    worker.stop()
    assert worker.convert(TEXT).failure == Failure.UNPARSED, "no process is started after stop()"


def conversion_error(body: bytes) -> UnreadableDocument:
    with pytest.raises(UnreadableDocument) as caught:
        convert_document(body, ConversionLimits())
    return caught.value


def test_a_missing_dependency_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for body, hint in (
        (made.pdf([["x"]]), "pip install pypdfium2"),
        (made.postscript(["x"]), "apt install ghostscript"),
    ):
        error = conversion_error(body)
        assert error.failure == Failure.NO_READER
        assert hint in error.detail


def test_a_password_protected_file_is_reported() -> None:
    body = bytearray(made.zipped({"word/document.xml": b"<w/>"}))
    for mark in (b"PK\3\4", b"PK\1\2"):
        at = body.index(mark)
        body[at + (6 if mark == b"PK\3\4" else 8)] |= 1
    assert conversion_error(bytes(body)).failure == Failure.ENCRYPTED


@pytest.mark.skipif(not shutil.which("gs"), reason="Ghostscript is not installed (apt install ghostscript)")
def test_a_password_protected_pdf_is_reported() -> None:
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
    ghostscript = subprocess.run(["gs", *options], input=made.postscript(["x"]), capture_output=True, check=True)
    assert conversion_error(ghostscript.stdout).failure == Failure.ENCRYPTED
