"""From PostScript to a page for the web, by Ghostscript, which is installed apart from this package.

PostScript is a programming language, so a document may loop, ask for all memory, write or read files and start
programs. Ghostscript runs in its safe mode (no files, no programs) as a process of its own with limits on its
time, memory and output.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import threading
from contextlib import suppress
from functools import partial
from typing import IO

from topicrawl.documents.layout import LONGEST_TEXT, clean, linked, page, paragraphs, titled
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

_COMMAND = "-q -dSAFER -dBATCH -dNOPAUSE -dNOPROMPT -P- -sDEVICE=txtwrite -sstdout=%stderr -sOutputFile=%stdout -"
# The safe mode opens the directory for temporary files all the same, for writing and deleting.
_NOWHERE = "/nonexistent"
_MEMORY = 512 << 20
_TITLE = re.compile(rb"^%%Title:[ \t]*\(?([^\r\n]{1,300}?)\)?[ \t]*$", re.M)
# What LaTeX leaves for links: [ … /Action << /Subtype /URI /URI (http://…) >> /ANN pdfmark
_LINK = re.compile(rb"/URI\s*\((https?://[^()\s]{1,2000})\)")
_MOST_LINKS = 2000


def read_postscript(body: bytes, seconds: float) -> bytes:
    """The document as HTML; `seconds` is the computing time that it may take."""
    program = shutil.which("gs")
    if program is None:
        raise Unreadable(Failure.NO_READER, "PostScript needs Ghostscript (Debian: apt install ghostscript)")
    text, status = _printed([program, *_COMMAND.split()], body, seconds)
    if not text.strip() and status:
        slow = status < 0
        raise Unreadable(
            Failure.READING_LIMIT if slow else Failure.UNPARSED,
            f"the PostScript ran for more than {seconds:g} s" if slow else "a PostScript program that prints no text",
        )
    # Where a sheet ends is not told.
    blocks = paragraphs([clean(text.replace("\r\n", "\n")).splitlines()])
    named = _TITLE.search(body[:4096])
    title = titled(named[1].decode("latin-1") if named else "", blocks)
    found = dict.fromkeys(url.decode("latin-1") for url in _LINK.findall(body))
    return page(title, linked([*blocks, *list(found)[:_MOST_LINKS]], []))


def _printed(command: list[str], body: bytes, seconds: float) -> tuple[str, int]:
    """What a program prints, up to the longest text, and its exit status; below 0: it had to be ended."""
    running = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        preexec_fn=partial(_limit, seconds), env={"PATH": os.defpath, "TMPDIR": _NOWHERE, "TEMP": _NOWHERE},
    )  # fmt: skip
    assert running.stdin is not None
    assert running.stdout is not None
    feeding = threading.Thread(target=_feed, args=(running.stdin, body), daemon=True)
    feeding.start()
    try:
        printed = running.stdout.read(4 * LONGEST_TEXT)
    finally:
        # It has said enough, or has closed its output: whatever it still does is of no use.
        running.stdout.close()
        try:
            running.wait(1.0)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        feeding.join()
    return printed.decode("utf-8", "replace")[:LONGEST_TEXT], running.returncode


def _feed(pipe: IO[bytes], body: bytes) -> None:
    # A program that ends before it has read all has its reasons.
    with suppress(OSError), pipe:
        pipe.write(body)


def _limit(seconds: float) -> None:
    """Runs in the new process before the program."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
