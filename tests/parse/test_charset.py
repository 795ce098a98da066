"""Tests of charset detection and decoding."""

from __future__ import annotations

import time

import pytest

from topicrawl.models import Link, Page, Response
from topicrawl.parse import parse_response
from topicrawl.parse.charset import MAX_SOURCE_BYTES, decode_text, get_query_codec, normalize_charset
from topicrawl.urls import encode_query


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


@pytest.mark.parametrize(
    ("start", "charset"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META HTTP-EQUIV=Content-Type CONTENT='text/html; CHARSET=KOI8-R'>", "koi8-r"),
        (b"<script charset=utf-8></script><meta charset='koi8-r'/>", "koi8-r"),
        (b"<!-- <meta charset=utf-8> --><meta charset=koi8-r>", "koi8-r"),
        (b"<script>'<meta charset=utf-8>'</script><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=klingon><meta charset=koi8-r><meta charset=big5>", "koi8-r"),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<script>'<meta charset=koi8-r>'", "windows-1252"),
        (b"<!-- <meta charset=koi8-r>", "windows-1252"),
        (b"<p data-charset=koi8-r>", "windows-1252"),
        (b" " * (64 * 1024) + b"<meta charset=koi8-r>", "windows-1252"),
    ],
)
def test_a_meta_beyond_the_first_kilobyte_counts(start: bytes, charset: str) -> None:
    body = b"<title>x</title>" + b" " * 1100 + start
    assert decode_text(body + b" Caf\xe9 cr\xe8me")[1] == charset
    assert decode_text(body)[1] == charset, "a body in ASCII"
    assert decode_text(body, "text/html; charset=iso-8859-2")[1] == "iso-8859-2"
    assert decode_text(b"<meta charset=latin2>" + body)[1] == "iso-8859-2"
    assert decode_text(b"\xef\xbb\xbf" + body)[1] == "utf-8"


def test_the_search_for_a_meta_takes_linear_time() -> None:
    for part in (b"<!--", b"<script>", b"<meta ", b"<meta charset", b"<meta charset=" + b" " * 60_000 + b">"):
        started = time.process_time()
        decode_text(b" " * 1100 + b"charset" + part * (100_000 // len(part)))
        assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("charset", "query"),
    [
        ("windows-1251", "%EC%E8%F0"),
        ("koi8-r", "%CD%C9%D2"),
        ("iso-8859-5", "%DC%D8%E0"),
        ("utf-8", "%D0%BC%D0%B8%D1%80"),
        ("utf-16le", "%D0%BC%D0%B8%D1%80"),
        ("iso-8859-2", "%26%231084%3B%26%231080%3B%26%231088%3B"),
    ],
)
def test_queries_of_links_are_encoded_in_the_charset_of_the_page(charset: str, query: str) -> None:
    html = '<a href="/мир?q=мир&amp;n=1#мир">x</a><a href="?a=1">y</a>'.replace("м", "&#1084;")
    html = html.replace("и", "&#1080;").replace("р", "&#1088;")
    body = html.encode("utf-16le" if charset == "utf-16le" else "ascii")
    response = Response("u", "http://a.test/x", 200, {"content-type": f"text/html; charset={charset}"}, body)
    page = parse_response(response, Link("u"))
    assert isinstance(page, Page)
    path = "/%D0%BC%D0%B8%D1%80"
    assert [link.url for link in page.links] == [f"http://a.test{path}?q={query}&n=1", "http://a.test/x?a=1"]


#: Charset, codec of the page, letters, and their form in the query of a browser.
LETTERS = [
    ("Shift_JIS", "cp932", "日本表", "%93%FA%96{%95\\"),
    ("EUC-JP", "euc-jp", "日本", "%C6%FC%CB%DC"),
    ("GB18030", "gb18030", "中国", "%D6%D0%B9%FA"),
    ("gb2312", "gb18030", "中国", "%D6%D0%B9%FA"),
    ("EUC-KR", "cp949", "한국", "%C7%D1%B1%B9"),
    ("Big5", "big5hkscs", "中國", "%A4%A4%B0%EA"),
    ("ISO-8859-2", "iso-8859-2", "łódź", "%B3%F3d%BC"),
    ("windows-1252", "cp1252", "café", "caf%E9"),
    ("windows-874", "cp874", "ไทย", "%E4%B7%C2"),
]


@pytest.mark.parametrize(("charset", "codec", "letters", "query"), LETTERS)
def test_queries_of_asian_and_european_pages(charset: str, codec: str, letters: str, query: str) -> None:
    body = f'<meta charset={charset}><a href="http://b.test/?q={letters}">{letters}</a>'.encode(codec)
    response = Response("u", "http://a.test/x", 200, {"content-type": "text/html"}, body)
    page = parse_response(response, Link("u"))
    assert isinstance(page, Page)
    assert [(link.url, link.anchor) for link in page.links] == [(f"http://b.test/?q={query}", letters)]


def test_every_charset_has_a_codec_for_queries() -> None:
    labels = "866 latin2 latin3 latin4 latin6 cyrillic arabic greek hebrew logical iso-8859-13 iso-8859-14 iso-8859-15"
    labels += " iso-8859-16 koi8-r koi8-u macintosh windows-874 x-mac-cyrillic gbk gb18030 big5 euc-jp iso-2022-jp"
    labels += " shift_jis euc-kr replacement utf-16 x-user-defined " + " ".join(f"cp{1250 + n}" for n in range(9))
    for label in labels.split():
        charset = normalize_charset(label)
        assert charset, label
        assert encode_query("?q=é", get_query_codec(charset) or "utf-8").isascii(), charset


@pytest.mark.parametrize(
    ("declaration", "charset"),
    [
        ('<?xml version="1.0" encoding="windows-1251"?>', "windows-1251"),
        ("<?xml version='1.0' encoding = 'KOI8-R' ?><!DOCTYPE html>", "koi8-r"),
        ('<?xml version="1.0" encoding="windows-1251"?><meta charset="koi8-r">', "koi8-r"),
        ('<?xml version="1.0" encoding="utf-16"?>', "windows-1252"),
        ('<?xml version="1.0" encoding="klingon"?>', "windows-1252"),
        (f'<?xml {"x" * 600} encoding="windows-1251"?>', "windows-1252"),
    ],
)
def test_an_xml_declaration_counts_if_there_is_no_meta(declaration: str, charset: str) -> None:
    assert decode_text(declaration.encode() + b"<p>caf\xe9</p>", "text/html")[1] == charset


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
