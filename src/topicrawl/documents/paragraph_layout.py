"""Rebuild paragraphs from the lines of printed pages, and render them as an HTML page.

Hyphenated words are rejoined, lines become paragraphs, and page numbers and running heads are removed, so that the text
equals that of the same document in HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

#: Largest number of characters of a document: the length of a thick book.
MAX_TEXT_LENGTH = 500_000
MAX_TITLE_LENGTH = 200
#: Markers around the text of a link; the order of the links identifies them.
LINK_START, LINK_END = "\ue000", "\ue001"

_MARKED_LINK = re.compile(f"{LINK_START}([^{LINK_START}{LINK_END}]*){LINK_END}")
_UNSAFE_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ue000-\ue00f\ufffe\uffff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_URL_PATTERN = re.compile(r"https?://[^\s<>\"'`{}|\\^]{1,2000}", re.I)
_PAGE_NUMBER = re.compile(r"[-–—\s]*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[-–—\s]*", re.I)
_DIGITS = re.compile(r"\d+")
_SHORT_LINE_SHARE = 0.75  # a line shorter than this share of the full width may end its paragraph
_PARAGRAPH_ENDS = (".", "!", "?", ":", ";", '"', "”", "’", ")", LINK_END)
# Titles that programs generate.
_GENERATED_TITLE = re.compile(
    r"untitled|microsoft word|\(?anonymous|.*\.(?:docx?|dvi|tex|pdf|ps|rtf|indd)$|(?:slide|page) \d", re.I
)


def clean_text(text: str) -> str:
    """Remove control and marker characters from a text, and spell out ligatures.

    >>> clean_text("of\\ufb01ce\\ue000")
    'office'
    """
    text = _UNSAFE_CHARACTERS.sub("", text)
    return text if text.isascii() else text.translate(_LIGATURES)


def join_paragraphs(pages: Sequence[Sequence[str]]) -> list[str]:
    """Join the lines of the pages of a document to paragraphs.

    >>> join_paragraphs([["Dengue fever is a tropi-", "cal disease.", "", "More follows on the", "1"], ["next sheet."]])
    ['Dengue fever is a tropical disease.', 'More follows on the next sheet.']
    """
    lines = [line for sheet in _strip_running_heads(pages) for line in sheet]
    lengths = sorted(len(line) for line in lines if line)
    full = lengths[len(lengths) * 9 // 10] if lengths else 0
    joined: list[str] = []
    block = ""
    for number, line in enumerate(lines):
        block = _join_line(block, line) if line else block
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if block and (not after or (len(line) < _SHORT_LINE_SHARE * full and _ends_paragraph(line, after))):
            joined.append(block)
            block = ""
    return [*joined, block] if block else joined


def _ends_paragraph(line: str, after: str) -> bool:
    """Return whether a short line ends its paragraph, judging by the line and the next one."""
    first = after.lstrip(LINK_START)[:1]
    return not line.endswith("-") and (line.endswith(_PARAGRAPH_ENDS) or first.isupper() or not first.isalnum())


def _join_line(block: str, line: str) -> str:
    """Append a line to a paragraph and resolve hyphenation."""
    if not block:
        return line
    first = line.lstrip(LINK_START)[:1]
    if block.endswith("-") and block[-2:-1].isalpha() and first.islower():
        return block[:-1] + line
    return f"{block[:-1]}{line}" if block.endswith("\xad") else f"{block} {line}"


def _strip_running_heads(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the pages without page numbers and without running heads and feet.

    Only the first and the last non-empty line of each page can be one. A running head is the same, apart from digits,
    on more than half of the pages and on at least four.
    """
    stripped = [[" ".join(line.split()) for line in sheet] for sheet in pages]
    for last in (False, True):
        edge = -1 if last else 0
        for sheet in stripped:
            while sheet and not sheet[edge]:
                del sheet[edge]
        counts = Counter(_DIGITS.sub("#", sheet[edge]) for sheet in stripped if sheet)
        repeated = {line for line, count in counts.items() if count > 3 and count * 2 > len(stripped)}
        for sheet in stripped:
            if (
                sheet
                and len(pages) > 1
                and (_PAGE_NUMBER.fullmatch(sheet[edge]) or _DIGITS.sub("#", sheet[edge]) in repeated)
            ):
                del sheet[edge]
    return stripped


def choose_title(metadata_title: str, blocks: Sequence[str]) -> str:
    """Return the title of a document: its metadata title unless a program generated it, otherwise its first block."""
    metadata_title = " ".join(clean_text(metadata_title).split())
    if len(metadata_title) > 3 and not _GENERATED_TITLE.match(metadata_title):
        return metadata_title[:MAX_TITLE_LENGTH]
    return re.sub(f"[{LINK_START}{LINK_END}]", "", blocks[0])[:MAX_TITLE_LENGTH] if blocks else ""


def build_html_page(title: str, blocks: Iterable[str], *, language: str = "") -> bytes:
    """Build an HTML page from blocks of HTML."""
    inner = "\n".join(blocks)
    start = f'<!DOCTYPE html><html lang="{escape(language[:20])}"><meta charset="utf-8"><title>{escape(title)}</title>'
    return f"{start}<body>{inner}</body></html>".encode("utf-8", "replace")


def render_paragraphs(blocks: Iterable[str], urls: Sequence[str]) -> list[str]:
    """Render paragraphs as HTML. Marked links get the URLs in their order; URLs in the text become links too.

    >>> render_paragraphs([f"See {LINK_START}this{LINK_END} & http://a.org/."], ["http://b.org/"])
    ['<p>See <a href="http://b.org/">this</a> &amp; <a href="http://a.org/">http://a.org/</a>.</p>']
    """
    remaining_urls = iter(urls)
    rendered = []
    for block in blocks:
        pieces = _MARKED_LINK.split(block)
        for number, piece in enumerate(pieces):
            if number % 2:
                pieces[number] = f'<a href="{escape(next(remaining_urls, ""))}">{escape(piece)}</a>'
            else:
                pieces[number] = _URL_PATTERN.sub(
                    _link_url, escape(re.sub(f"[{LINK_START}{LINK_END}]", "", piece), quote=False)
                )
        rendered.append(f"<p>{''.join(pieces)}</p>")
    return rendered


def _link_url(match: re.Match[str]) -> str:
    """Return the HTML link for a URL in the text."""
    address = match[0].rstrip(".,;:!?*_~")
    if address.endswith(")") and address.count("(") < address.count(")"):
        address = address[:-1]
    return f'<a href="{escape(address.replace("&amp;", "&"))}">{address}</a>{match[0][len(address) :]}'
