"""From the lines of printed pages to the paragraphs of a page for the web.

What was hyphenated is put together again, lines become paragraphs, page numbers and what stands at the top or
bottom of every sheet goes away: the text comes out as it would from the same document in HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

#: Characters of a document that are read: as many as a thick book has.
LONGEST_TEXT = 500_000
LONGEST_TITLE = 200
#: Around the text of a link; which link it is follows from their order.
START, END = "\ue000", "\ue001"

_MARKED = re.compile(f"{START}([^{START}{END}]*){END}")
_PRIVATE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ue000-\ue00f\ufffe\uffff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_ADDRESS = re.compile(r"https?://[^\s<>\"'`{}|\\^]{1,2000}", re.I)
_NUMBER = re.compile(r"[-–—\s]*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[-–—\s]*", re.I)
_DIGITS = re.compile(r"\d+")
_SHORT = 0.75  # a line of less than this part of the full width may be the last of its paragraph
_ENDS = (".", "!", "?", ":", ";", '"', "”", "’", ")", END)
# Titles that programs write on their own.
_NO_TITLE = re.compile(
    r"untitled|microsoft word|\(?anonymous|.*\.(?:docx?|dvi|tex|pdf|ps|rtf|indd)$|(?:slide|page) \d", re.I
)


def clean(text: str) -> str:
    """Text without characters that serve as marks here, and with ligatures spelled out.

    >>> clean("of\\ufb01ce\\ue000")
    'office'
    """
    text = _PRIVATE.sub("", text)
    return text if text.isascii() else text.translate(_LIGATURES)


def paragraphs(sheets: Sequence[Sequence[str]]) -> list[str]:
    """The paragraphs of a document, given the lines of its sheets.

    >>> paragraphs([["Dengue fever is a tropi-", "cal disease.", "", "More follows on the", "1"], ["next sheet."]])
    ['Dengue fever is a tropical disease.', 'More follows on the next sheet.']
    """
    lines = [line for sheet in _bare(sheets) for line in sheet]
    lengths = sorted(len(line) for line in lines if line)
    full = lengths[len(lengths) * 9 // 10] if lengths else 0
    found: list[str] = []
    block = ""
    for number, line in enumerate(lines):
        block = _joined(block, line) if line else block
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if block and (not after or (len(line) < _SHORT * full and _closes(line, after))):
            found.append(block)
            block = ""
    return [*found, block] if block else found


def _closes(line: str, after: str) -> bool:
    """Whether a short line is the last one of its paragraph, by itself and the next."""
    first = after.lstrip(START)[:1]
    return not line.endswith("-") and (line.endswith(_ENDS) or first.isupper() or not first.isalnum())


def _joined(block: str, line: str) -> str:
    if not block:
        return line
    first = line.lstrip(START)[:1]
    if block.endswith("-") and block[-2:-1].isalpha() and first.islower():
        return block[:-1] + line
    return f"{block[:-1]}{line}" if block.endswith("\xad") else f"{block} {line}"


def _bare(sheets: Sequence[Sequence[str]]) -> list[list[str]]:
    """The sheets without page numbers, and without what stands at the top or bottom of most of them."""
    stripped = [[" ".join(line.split()) for line in sheet] for sheet in sheets]
    for last in (False, True):
        edge = -1 if last else 0
        for sheet in stripped:
            while sheet and not sheet[edge]:
                del sheet[edge]
        seen = Counter(_DIGITS.sub("#", sheet[edge]) for sheet in stripped if sheet)
        repeated = {line for line, count in seen.items() if count > 3 and count * 2 > len(stripped)}
        for sheet in stripped:
            if (
                sheet
                and len(sheets) > 1
                and (_NUMBER.fullmatch(sheet[edge]) or _DIGITS.sub("#", sheet[edge]) in repeated)
            ):
                del sheet[edge]
    return stripped


def titled(named: str, blocks: Sequence[str]) -> str:
    """A document's title: the one it names if a person wrote it, otherwise its first paragraph."""
    named = " ".join(clean(named).split())
    if len(named) > 3 and not _NO_TITLE.match(named):
        return named[:LONGEST_TITLE]
    return re.sub(f"[{START}{END}]", "", blocks[0])[:LONGEST_TITLE] if blocks else ""


def page(title: str, blocks: Iterable[str], *, language: str = "") -> bytes:
    """A page for the web; the blocks are HTML."""
    inner = "\n".join(blocks)
    start = f'<!DOCTYPE html><html lang="{escape(language[:20])}"><meta charset="utf-8"><title>{escape(title)}</title>'
    return f"{start}<body>{inner}</body></html>".encode("utf-8", "replace")


def linked(blocks: Iterable[str], urls: Sequence[str]) -> list[str]:
    """Paragraphs as HTML: marked links lead to the addresses, in their order; written addresses are links too.

    >>> linked([f"See {START}this{END} & http://a.org/."], ["http://b.org/"])
    ['<p>See <a href="http://b.org/">this</a> &amp; <a href="http://a.org/">http://a.org/</a>.</p>']
    """
    waiting = iter(urls)
    found = []
    for block in blocks:
        pieces = _MARKED.split(block)
        for number, piece in enumerate(pieces):
            if number % 2:
                pieces[number] = f'<a href="{escape(next(waiting, ""))}">{escape(piece)}</a>'
            else:
                pieces[number] = _ADDRESS.sub(_anchor, escape(re.sub(f"[{START}{END}]", "", piece), quote=False))
        found.append(f"<p>{''.join(pieces)}</p>")
    return found


def _anchor(found: re.Match[str]) -> str:
    address = found[0].rstrip(".,;:!?*_~")
    if address.endswith(")") and address.count("(") < address.count(")"):
        address = address[:-1]
    return f'<a href="{escape(address.replace("&amp;", "&"))}">{address}</a>{found[0][len(address) :]}'
