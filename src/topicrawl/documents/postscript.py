"""Convert PostScript to HTML with Ghostscript, which is installed separately.

PostScript is a programming language, so a document may loop, allocate all memory, read or write files and start
programs. Ghostscript therefore runs in safe mode (no files, no programs) as a separate process with limits on its
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

from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.paragraph_layout import (
    MAX_TEXT_LENGTH,
    build_html_page,
    choose_title,
    clean_text,
    join_paragraphs,
    render_paragraphs,
)
from topicrawl.models import Failure

_GHOSTSCRIPT_OPTIONS = (
    "-q -dSAFER -dBATCH -dNOPAUSE -dNOPROMPT -P- -sDEVICE=txtwrite -sstdout=%stderr -sOutputFile=%stdout -"
)
# Safe mode still allows writing and deleting in the directory for temporary files, so it must not exist.
_MISSING_DIRECTORY = "/nonexistent"
_MAX_MEMORY = 512 << 20
_TITLE_COMMENT = re.compile(rb"^%%Title:[ \t]*\(?([^\r\n]{1,300}?)\)?[ \t]*$", re.M)
# Links as LaTeX writes them: [ … /Action << /Subtype /URI /URI (http://…) >> /ANN pdfmark
_LINK_ACTION = re.compile(rb"/URI\s*\((https?://[^()\s]{1,2000})\)")
_MAX_LINKS = 2000


def convert_postscript(body: bytes, seconds: float) -> bytes:
    """Convert a PostScript document to HTML, within `seconds` of CPU time.

    Raise `UnreadableDocument` if Ghostscript is not installed, if the time is up before any text is printed, or if no
    text is printed.
    """
    program = shutil.which("gs")
    if program is None:
        raise UnreadableDocument(
            Failure.NO_READER, "PostScript conversion requires Ghostscript (Debian: apt install ghostscript)"
        )
    text, status = _run_program([program, *_GHOSTSCRIPT_OPTIONS.split()], body, seconds)
    if not text.strip() and status:
        is_killed = status < 0
        raise UnreadableDocument(
            Failure.READING_LIMIT if is_killed else Failure.UNPARSED,
            f"the PostScript program ran for more than {seconds:g} s" if is_killed else "the document prints no text",
        )
    # Ghostscript does not report page boundaries, so the text is one page.
    blocks = join_paragraphs([clean_text(text.replace("\r\n", "\n")).splitlines()])
    match = _TITLE_COMMENT.search(body[:4096])
    title = choose_title(match[1].decode("latin-1") if match else "", blocks)
    urls = dict.fromkeys(url.decode("latin-1") for url in _LINK_ACTION.findall(body))
    return build_html_page(title, render_paragraphs([*blocks, *list(urls)[:_MAX_LINKS]], []))


def _run_program(command: list[str], body: bytes, seconds: float) -> tuple[str, int]:
    """Run a program; return its output up to the text limit, and its exit status (negative: killed by a signal).

    The program is killed when its output reaches the limit or its CPU time is used up.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(_set_limits, seconds),
        env={"PATH": os.defpath, "TMPDIR": _MISSING_DIRECTORY, "TEMP": _MISSING_DIRECTORY},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    writer = threading.Thread(target=_write_input, args=(process.stdin, body), daemon=True)
    writer.start()
    try:
        output = process.stdout.read(4 * MAX_TEXT_LENGTH)
    finally:
        # The output is complete or has reached the limit, so the process is no longer needed.
        process.stdout.close()
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        writer.join()
    return output.decode("utf-8", "replace")[:MAX_TEXT_LENGTH], process.returncode


def _write_input(pipe: IO[bytes], body: bytes) -> None:
    """Write the document to the standard input of the program."""
    # The program may end before it has read all of its input.
    with suppress(OSError), pipe:
        pipe.write(body)


def _set_limits(seconds: float) -> None:
    """Set the resource limits of the new process before the program starts (`preexec_fn`)."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
