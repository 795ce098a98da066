"""Tests of charset detection and decoding."""

from __future__ import annotations

import pytest

from topicrawl.parse.charset import MAX_SOURCE_BYTES, decode_text, normalize_charset


@pytest.mark.parametrize(
    ("body", "content_type", "text", "charset"),
    [
        ("\ufeffé".encode(), "text/html; charset=latin1", "é", "utf-8"),  # the byte-order mark takes precedence
        (b"\xff\xfe\xe9\x00", "", "é", "utf-16le"),
        (b"\xfe\xff\x00\xe9", "", "é", "utf-16be"),
        ("é".encode(), "text/html; charset=UTF-8", "é", "utf-8"),
        (
            b"\xe9\x80",
            'text/html; CHARSET="iso-8859-1"',
            "é€",
            "windows-1252",
        ),  # the header, with the meaning of the label in browsers
        (b"<meta charset=utf-8>\xe9", "text/html; charset=latin1", "<meta charset=utf-8>é", "windows-1252"),
        (b"<meta charset=latin2>\xb1", "text/html", "<meta charset=latin2>ą", "iso-8859-2"),
        (b"<meta charset=latin2>\xb1", "text/html; charset=klingon", "<meta charset=latin2>ą", "iso-8859-2"),
        (
            b"<meta charset=utf-16>x",
            "",
            "<meta charset=utf-16>x",
            "utf-8",
        ),  # a UTF-16 page could not contain this ASCII element
        ("für".encode(), "", "für", "utf-8"),
        (b"f\xfcr", "", "für", "windows-1252"),
        (b"plain", "", "plain", "windows-1252"),
        (b"\x1b$B$3$s\x1b(B", "text/html; charset=iso-2022-jp", "こん", "iso-2022-jp"),
        (b"a\xffb", "text/html; charset=utf-8", "a\ufffdb", "utf-8"),
        (b"", "", "", "windows-1252"),
    ],
)
def test_charset_sources_have_the_precedence_of_the_standard(
    body: bytes, content_type: str, text: str, charset: str
) -> None:
    assert decode_text(body, content_type) == (text, charset)


def test_a_meta_beyond_the_first_kilobyte_is_ignored() -> None:
    assert decode_text(b" " * 1100 + b"<meta charset=koi8-r> Caf\xe9 cr\xe8me")[1] == "windows-1252"


def test_russian_without_a_label_is_detected() -> None:
    text = "Привет, мир! Как твои дела сегодня, мой старый друг?"
    for charset in ("windows-1251", "koi8-r"):
        assert decode_text(text.encode(charset))[0] == text


@pytest.mark.parametrize("label", ["", "x" * 500, "utf-8\0", "ütf", "../../etc", "rot13", "base64", "unicode_escape"])
def test_unknown_labels_are_ignored(label: str) -> None:
    assert normalize_charset(label) == ""


def test_a_header_of_blanks_takes_linear_time() -> None:
    # With backtracking, this takes hours.
    assert decode_text(b"x", f"text/html; charset={' ' * 2_000_000};") == ("x", "windows-1252")


def test_only_the_first_bytes_are_decoded() -> None:
    text, _ = decode_text(b"x" * (MAX_SOURCE_BYTES + 5))
    assert len(text) == MAX_SOURCE_BYTES
