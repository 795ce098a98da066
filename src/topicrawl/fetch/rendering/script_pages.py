"""Decide whether a page needs its scripts: it has little text, and far more script."""

from __future__ import annotations

import re

#: Pages with more characters of text are complete without scripts.
MAX_TEXT = 400
#: A script file counts as this many characters, because its size is not known.
SCRIPT_FILE_SIZE = 10_000
#: Least number of characters of script for each character of text.
MIN_SCRIPT_RATIO = 4
_MAX_BYTES = 1 << 20
_HIDDEN_START = re.compile(rb"<(script|style|noscript|template|svg|title)(?=[\s/>])|<!--", re.IGNORECASE)
_SOURCE = re.compile(rb"\ssrc\s*=", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]*>")


def needs_scripts(html: bytes) -> bool:
    """Return whether a page has so little text, compared with its scripts, that they probably build its content.

    >>> needs_scripts(b'<title>Shop</title><div id="root"></div><script src="app.js"></script>')
    True
    >>> needs_scripts(b"<p>A page about GIS.</p><script>count(1)</script>"), needs_scripts(b"<p>Hello</p>")
    (False, False)
    """
    if b"<script" not in html and b"<SCRIPT" not in html:
        return False
    text, script = measure_text_and_script(html[:_MAX_BYTES])
    return text <= MAX_TEXT and script >= MIN_SCRIPT_RATIO * max(text, 1)


def measure_text_and_script(html: bytes) -> tuple[int, int]:
    """Return the bytes of visible text, without white space, and those of scripts. The time is linear.

    >>> measure_text_and_script(b"<p>Two words</p><script>let a</script><noscript>no text</noscript>")
    (8, 5)
    """
    lowered = html.lower()
    visible: list[bytes] = []
    script = position = 0
    while (start := _HIDDEN_START.search(html, position)) is not None:
        visible.append(html[position : start.start()])
        name = (start[1] or b"").lower()
        end = lowered.find(b"</" + name if name else b"-->", start.end())
        end = len(html) if end < 0 else end
        if name == b"script":
            content = html.find(b">", start.end(), end) + 1
            has_file = content > 0 and _SOURCE.search(html, start.end(), content) is not None
            script += SCRIPT_FILE_SIZE if has_file else end - content
        position = max(end, start.end())
        if not name:
            position += len(b"-->")
    visible.append(html[position:])
    text = _TAG.sub(b" ", b" ".join(visible))
    return len(b"".join(text.split())), script
