"""Tests of the document reader: text, title, language and links of all formats; hostile documents are refused."""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import documents as made

from topicrawl.documents.conversion import convert_document
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.file_types import detect_type
from topicrawl.documents.messages import ConversionLimits
from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.models import Failure, Link, Page, Response
from topicrawl.parse import parse_response

URL = "http://e.org/d/file"
LINES = [
    "Dengue fever is a disease of the tropics that mosquitoes carry from one person to the next, and that has be-",
    "come more frequent in the last decades because cities grow and because mosquitoes travel with their goods by",
    "ship.",
    "There is no medicine against it. All patients need rest, water and a person who looks after them until it is al-",
    "most over (see the other pages).",
]
BLOCKS = [f"{LINES[0][:-1]}{LINES[1]} {LINES[2]}", f"{LINES[3][:-1]}{LINES[4]}"]
LINKS = [("http://other.example/a?x=1&y=2", "More on dengue"), ("near.html", "A page beside it")]
GHOSTSCRIPT = pytest.mark.skipif(
    not shutil.which("gs"), reason="Ghostscript is not installed (apt install ghostscript)"
)


@pytest.fixture(scope="module")
def documents() -> Iterator[SubprocessDocumentReader]:
    with SubprocessDocumentReader() as found:
        yield found


@pytest.fixture(scope="module")
def hasty() -> Iterator[SubprocessDocumentReader]:
    """Reader with limits of half a second of CPU time and one megabyte."""
    with SubprocessDocumentReader(ConversionLimits(1 << 20, 0.5), processes=1) as found:
        yield found


def response(body: bytes, url: str = URL, kind: str = "application/octet-stream") -> Response:
    return Response(url, url, 200, {"content-type": kind}, body, 9.0)


def read_by(documents: SubprocessDocumentReader, body: bytes) -> Page | Failure:
    return parse_response(response(body), Link(URL, depth=2), documents=documents)


def in_html(blocks: list[str]) -> str:
    page = parse_response(
        response("".join(f"<p>{block}</p>" for block in blocks).encode(), kind="text/html"), Link(URL)
    )
    assert isinstance(page, Page)
    return page.digest


KINDS: dict[str, Callable[[], bytes]] = {
    "pdf": lambda: made.pdf([LINES], title="On dengue", links=LINKS),
    "docx": lambda: made.docx(BLOCKS, title="On dengue", links=LINKS),
    "odt": lambda: made.odt(BLOCKS, title="On dengue", links=LINKS),
    "epub": lambda: made.epub(
        [f"<p>{b}</p>" for b in BLOCKS]
        + [
            f'<p><a href="{LINKS[0][0].replace("&", "&amp;")}">{LINKS[0][1]}</a></p><p><a href="c0.xhtml">Start</a></p>'
        ],
        title="On dengue",
    ),
    "gzip of pdf": lambda: made.gzipped(made.pdf([LINES], title="On dengue", links=LINKS)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_text_title_language_and_links_are_extracted(documents: SubprocessDocumentReader, kind: str) -> None:
    page = read_by(documents, KINDS[kind]())
    assert isinstance(page, Page)
    assert page.title == "On dengue"
    assert page.language == "en"
    assert page.text.split("\n")[:2] == BLOCKS
    assert page.words[:4] == ("dengue", "fever", "is", "a")
    link = page.links[0]
    assert (link.url, link.anchor, link.source, link.depth) == (LINKS[0][0], LINKS[0][1], URL, 3)
    # Links between the chapters of a book have no URL on the web.
    assert [link.url for link in page.links[1:]] == ([] if kind == "epub" else ["http://e.org/d/near.html"])


@GHOSTSCRIPT
@pytest.mark.parametrize("pack", [bytes, made.gzipped], ids=["ps", "gzip of ps"])
def test_text_and_urls_are_extracted_from_postscript(
    documents: SubprocessDocumentReader, pack: Callable[[bytes], bytes]
) -> None:
    marks = b"[ /Rect [0 0 9 9] /Action << /Subtype /URI /URI (http://b.example/) >> /Subtype /Link /ANN pdfmark\n"
    source = made.postscript([*LINES, "See http://a.example/x."], title="On dengue") + marks
    page = read_by(documents, pack(source))
    assert isinstance(page, Page)
    assert (page.title, page.language) == ("On dengue", "en")
    assert page.text.split("\n")[:2] == BLOCKS
    assert [link.url for link in page.links] == ["http://a.example/x", "http://b.example/"]


@pytest.mark.parametrize("body", [made.pdf([LINES]), made.docx(BLOCKS), made.odt(BLOCKS)], ids=["pdf", "docx", "odt"])
def test_the_same_text_has_the_same_digest_in_every_format(documents: SubprocessDocumentReader, body: bytes) -> None:
    page = read_by(documents, body)
    assert isinstance(page, Page)
    assert page.digest == in_html(BLOCKS)


def test_page_numbers_and_running_heads_are_removed(documents: SubprocessDocumentReader) -> None:
    body = made.pdf([["Journal of Mosquitoes", f"Text of sheet {i}, which is new.", str(i)] for i in range(1, 6)])
    page = read_by(documents, body)
    assert isinstance(page, Page)
    assert page.text == " ".join(f"Text of sheet {i}, which is new." for i in range(1, 6))


def test_a_generated_title_is_ignored(documents: SubprocessDocumentReader) -> None:
    page = read_by(documents, made.pdf([["A study of owls"]], title="Microsoft Word - final2.doc"))
    assert isinstance(page, Page)
    assert page.title == "A study of owls"


def archive() -> bytes:
    return made.zipped(
        {
            "papers/one.pdf": made.pdf([LINES], title="Paper one", links=LINKS),
            "index.html": b'<title>Index</title><a href="papers/one.pdf">1</a> <a href="http://far.example/">2</a>',
            "notes.txt": b"Notes on http://noted.example/ and more",
            "picture.png": b"\x89PNG\0\0",
            "main.c": b"int main;",
            "inner.zip": made.zipped({"x.txt": b"x"}),
        }
    )


def test_each_member_of_an_archive_is_a_separate_page(documents: SubprocessDocumentReader) -> None:
    link = Link("http://e.org/a.zip?v=1", "http://e.org/", depth=1)
    members = documents.unpack_blocking(response(archive(), link.url), link).members
    pages = {link.url: parse_response(file, link) for link, file in members}
    base = "http://e.org/a.zip/!"
    names = ["papers/one.pdf", "index.html", "notes.txt", "inner.zip"]
    assert list(pages) == [f"{base}/{name}?v=1" for name in names]
    one, index, notes, inner = pages.values()
    assert isinstance(one, Page)
    assert isinstance(index, Page)
    assert isinstance(notes, Page)
    assert (one.title, index.title, one.text.split("\n")[0]) == ("Paper one", "Index", BLOCKS[0])
    # Links between members of the archive are removed.
    assert [link.url for link in index.links] == ["http://far.example/"]
    assert [link.url for link in notes.links] == ["http://noted.example/"]
    assert inner == Failure.NESTED
    assert {file.archive_url for _, file in members} == {link.url}
    assert members[0][1].body.startswith(b"%PDF")
    assert members[0][0] == Link(f"{base}/papers/one.pdf?v=1", link.url, "papers/one.pdf", depth=1)


def test_an_archive_itself_is_an_empty_page(documents: SubprocessDocumentReader) -> None:
    page = read_by(documents, archive())
    assert isinstance(page, Page)
    assert (page.title, page.text, page.words, page.links) == ("", "", (), ())


def test_members_with_the_same_name_have_distinct_urls(documents: SubprocessDocumentReader) -> None:
    body = made.zipped({"a/b.txt": b"one", "a//b.txt": b"two", "a/./b.txt": b"three"})
    found = documents.unpack_blocking(response(body), Link(URL))
    assert len({link.url for link, _ in found.members}) == 3


def test_the_robots_header_applies_to_all_members(documents: SubprocessDocumentReader) -> None:
    asked = Response(URL, URL, 200, {"content-type": "application/zip", "x-robots-tag": "noindex"}, archive())
    for link, file in documents.unpack_blocking(asked, Link(URL)).members[:3]:
        page = parse_response(file, link)
        assert isinstance(page, Page)
        assert "noindex" in page.directives


@pytest.mark.parametrize(
    ("kind", "body", "wanted"),
    [
        ("text/html", b"%PDF-1.4", True),
        ("text/html", b"\r\n%PDF-1.4", True),
        ("text/html", b"<p>A PDF file begins with %PDF-1.4", False),
        ("text/html", b"PDF files begin with %PDF-1.4", False),
        ("text/plain", b"Dear all", False),
        ("text/plain", b"%!PS-Adobe-3.0", True),
        ("application/pdf", b"%PDF-1.4", True),
        ("application/pdf", b"<html><p>Not found", False),
        ("application/octet-stream", b"\x1f\x8b\x08", True),
        ("application/octet-stream", b"MZ\x90\0", False),
        ("image/pdf", b"%PDF-1.4", True),
        ("image/png", b"\x89PNG", False),
        ("", b"PK\3\4", True),
    ],
)
def test_documents_are_detected_by_their_bytes(kind: str, body: bytes, wanted: bool) -> None:
    assert SubprocessDocumentReader.is_document(response(body, kind=kind)) is wanted


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml", "text/plain"])
@pytest.mark.parametrize(
    "body",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
        b"\x7fELF\2\1\1" + bytes(60),
        b"GIF89a\1\0\1\0" + bytes(range(64)),
        b"\xff\xd8\xff\xe0\0\x10JFIF",
        bytes(range(256)) * 4,
    ],
)
def test_a_binary_file_with_the_media_type_of_a_page_is_refused(kind: str, body: bytes) -> None:
    assert parse_response(response(body, kind=kind), Link(URL)) == Failure.CONTENT_TYPE


@pytest.mark.parametrize(
    "body",
    [
        b"Dengue \x00\x07 fever",
        "\ufeffDengue fever".encode("utf-16-le"),
        "<!doctype html><p>Dengue fever".encode("utf-16-le"),
        "<p>Dengue fever, in many words".encode("utf-16-be") * 20,
        b"\x1b$B%G%s%0G.\x1b(B",
        "\ufeffDengue".encode(),
        b"GIFs of dengue",
    ],
)
def test_a_text_with_the_media_type_of_a_page_is_a_page(body: bytes) -> None:
    assert isinstance(parse_response(response(body, kind="text/html"), Link(URL)), Page)


XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Dengue</title></head><body><p>Fever</p></body></html>'


@pytest.mark.parametrize("kind", ["application/xml", "text/xml", "application/x-download"])
@pytest.mark.parametrize(
    ("body", "is_page"),
    [
        (XHTML, True),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a --><!DOCTYPE html PUBLIC "x" "y">\n<?style x?>' + XHTML, True),
        (b"<rss><channel><description><![CDATA[" + XHTML + b"]]></description></channel></rss>", False),
        (b"<!-- <html> --><svg/>", False),
        (b"<!DOCTYPE svg><html>", False),
        (b"<!-- -->" * 120 + b"<svg/>", False),
        (b"<htmlx>", False),
        (b"", False),
    ],
)
def test_xhtml_with_the_media_type_of_xml_is_a_page(kind: str, body: bytes, is_page: bool) -> None:
    assert (detect_type(body, kind) == "html") is is_page
    if is_page:
        page = parse_response(response(body, kind=kind), Link(URL))
        assert isinstance(page, Page)
        assert (page.title, page.text) == ("Dengue", "Fever")


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ENCRYPTED_MANIFEST = b"""<manifest:manifest xmlns:manifest="m"><manifest:file-entry manifest:full-path="content.xml">
<manifest:encryption-data manifest:checksum="x"/></manifest:file-entry></manifest:manifest>"""


def encrypted_parts(*names: str) -> dict[str, bytes]:
    """Return the member that lists encrypted files of an EPUB."""
    references = "".join(f'<e:CipherReference URI="{name}"/>' for name in names)
    return {"META-INF/encryption.xml": f'<encryption xmlns:e="e">{references}</encryption>'.encode()}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (made.encrypted_docx(), WORD),
        (made.encrypted_docx(), "application/octet-stream"),
        (made.with_members(made.odt(["x"]), {"META-INF/manifest.xml": ENCRYPTED_MANIFEST}), "application/zip"),
        (made.with_members(made.epub(["x", "y"]), encrypted_parts("OPS/c0.xhtml", "OPS/c1.xhtml")), "application/zip"),
    ],
)
def test_documents_with_a_password_are_encrypted(documents: SubprocessDocumentReader, body: bytes, kind: str) -> None:
    given = response(body, kind=kind)
    assert documents.is_document(given)
    assert documents.unpack_blocking(given, Link(URL)).response.failure is Failure.ENCRYPTED


def test_an_epub_with_encrypted_fonts_is_read(documents: SubprocessDocumentReader) -> None:
    book = made.with_members(made.epub(["<p>Dengue</p>", "secret"]), encrypted_parts("OPS/font.otf", "OPS/c1.xhtml"))
    page = parse_response(response(book), Link(URL), documents=documents)
    assert isinstance(page, Page)
    assert page.text == "Dengue"


def test_an_odt_with_a_plain_manifest_is_read(documents: SubprocessDocumentReader) -> None:
    text = made.with_members(made.odt(["Dengue"]), {"META-INF/manifest.xml": b"<manifest/>"})
    page = parse_response(response(text), Link(URL), documents=documents)
    assert isinstance(page, Page)
    assert page.text == "Dengue"


@pytest.mark.parametrize("kind", ["application/msword", WORD, "application/octet-stream", "text/html"])
def test_documents_of_old_office_versions_are_refused(kind: str) -> None:
    old = made.encrypted_docx().replace("EncryptedPackage".encode("utf-16-le"), "WordDocument____".encode("utf-16-le"))
    assert not SubprocessDocumentReader.is_document(response(old, kind=kind))
    assert parse_response(response(old, kind=kind), Link(URL)) == Failure.CONTENT_TYPE


def test_documents_are_refused_without_a_reader() -> None:
    assert parse_response(response(made.pdf([["x"]])), Link(URL)) == Failure.CONTENT_TYPE


# Hostile documents


def endless_pdf() -> bytes:
    """PDF whose page tree nests ten nodes in each node, nine levels deep: a billion pages."""
    tree = [
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (10 ** (11 - i), b" ".join([b"%d 0 R" % (i + 1)] * 10))
        for i in range(2, 11)
    ]
    return made.pdf_file([b"<< /Type /Catalog /Pages 2 0 R >>", *tree, b"<< /Type /Page /MediaBox [0 0 9 9] >>"])


def pdf_of_zeros(size: int) -> bytes:
    zeros = made.deflated_zeros(size)
    return made.pdf_file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(zeros), zeros),
        ]
    )


def entities(levels: int = 9) -> bytes:
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    source = f'<!DOCTYPE w [<!ENTITY e0 "ha">{lines}]><document><p><t>&e{levels - 1};</t></p></document>'
    return made.zipped({"word/document.xml": source.encode()})


HOSTILE: dict[str, tuple[Callable[[], bytes], set[Failure]]] = {
    "10 GB of zeros in gzip": (lambda: made.gzip_of_zeros(10 << 30), {Failure.TOO_LARGE}),
    "gzip in gzip": (lambda: made.gzipped(made.gzip_of_zeros(1 << 30)), {Failure.NESTED}),
    "torn gzip": (lambda: made.gzipped(b"x" * 1000)[:-9], {Failure.UNPARSED}),
    "torn zip": (lambda: archive()[:-30], {Failure.UNPARSED}),
    "docx of entities": (entities, {Failure.UNPARSED}),
    "docx of zeros": (lambda: made.zipped({"word/document.xml": bytes(20 << 20)}), {Failure.TOO_LARGE}),
    "book without chapters": (lambda: made.epub([]), {Failure.UNPARSED}),
    "tables": (lambda: made.zipped({"[Content_Types].xml": b"", "xl/workbook.xml": b""}), {Failure.CONTENT_TYPE}),
    "billion sheets of PDF": (endless_pdf, {Failure.UNPARSED}),
    "PDF that is none": (lambda: b"%PDF-1.7\n" + bytes(100), {Failure.UNPARSED}),
}
POSTSCRIPT = {
    "reads a file": b"(/etc/passwd) (r) file 200 string readline pop show showpage",
    "starts a program": b"(%pipe%touch {path}) (w) file closefile showpage",
    "writes a file": b"({path}) (w) file dup (x) writestring closefile showpage",
    "deletes a file": b"({path}) deletefile showpage",
    "takes all memory": b"[ {{10000000 string}} loop",
    "says nothing": b"showpage",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_give_a_failure(documents: SubprocessDocumentReader, name: str) -> None:
    make, failures = HOSTILE[name]
    body = make()
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = documents.unpack_blocking(response(body), Link(URL)).response
    assert found.failure in failures
    assert found.detail
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
    assert time.process_time() - begun < 5.0, "the work is done in another process"


@GHOSTSCRIPT
@pytest.mark.parametrize("name", POSTSCRIPT)
def test_postscript_has_no_side_effects(documents: SubprocessDocumentReader, tmp_path: Path, name: str) -> None:
    path = tmp_path / "made"
    if name == "deletes a file":
        path.write_text("kept")
    font = b"%!PS\n/Helvetica findfont 11 scalefont setfont 72 700 moveto\n"
    found = documents.unpack_blocking(
        response(font + POSTSCRIPT[name].replace(b"{path}", bytes(path))), Link(URL)
    ).response
    if found.failure is None:
        page = parse_response(found, Link(URL))
        assert isinstance(page, Page)
        assert page.text == ""
    else:
        assert found.failure == Failure.UNPARSED
    assert path.exists() == (name == "deletes a file")


def test_a_slow_document_is_aborted_and_the_next_is_converted(hasty: SubprocessDocumentReader) -> None:
    body = pdf_of_zeros(900 << 20)
    begun = time.monotonic()
    found = hasty.unpack_blocking(response(body), Link(URL)).response
    assert found.failure in (Failure.READING_LIMIT, Failure.UNPARSED)
    assert time.monotonic() - begun < 25
    assert hasty.unpack_blocking(response(made.docx(["More"])), Link(URL)).response.failure is None


def test_a_bomb_in_an_archive_does_not_affect_other_members(hasty: SubprocessDocumentReader) -> None:
    files = {f"{i}.txt": b"a" * 900_000 for i in range(6)} | {"huge.txt": b"b" * 2_000_000, "small.txt": b"c"}
    found = hasty.unpack_blocking(response(made.zipped(files)), Link(URL))
    failures = [file.failure for _, file in found.members]
    assert failures == [None] * 4 + [Failure.TOO_LARGE] * 3 + [None]


def test_members_of_a_large_archive_are_limited_and_logged(
    documents: SubprocessDocumentReader, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "topicrawl"):
        found = documents.unpack_blocking(response(made.zipped({f"{i}.txt": b"x" for i in range(700)})), Link(URL))
    assert len(found.members) == 500
    assert caplog.messages == [f"{URL}: extracted 500 of 700 files from the archive"]


def test_an_archive_with_a_file_named_mimetype_is_an_archive(documents: SubprocessDocumentReader) -> None:
    found = documents.unpack_blocking(response(made.zipped({"mimetype": b"x" * 200, "a.txt": b"dengue"})), Link(URL))
    assert [link.anchor for link, _ in found.members] == ["mimetype", "a.txt"]


def test_a_member_without_a_name_is_skipped(documents: SubprocessDocumentReader) -> None:
    body = made.zipped({"x": b"nameless", "a.txt": b"dengue"})
    # Remove the name from the table of contents and adjust its length.
    at = body.rindex(b"PK\1\2", 0, body.rindex(b"PK\1\2"))
    nameless = body[: at + 28] + b"\0\0" + b"\1\0" + body[at + 32 :]
    found = documents.unpack_blocking(response(nameless), Link(URL))
    assert [link.anchor for link, _ in found.members] == ["a.txt"]


def test_closing_aborts_running_conversions() -> None:
    with SubprocessDocumentReader(processes=1) as found:
        assert found.unpack_blocking(response(made.docx(["x"])), Link(URL)).response.failure is None
        reading = found._threads.submit(found.unpack_blocking, response(b"%!PS\n{} loop"), Link(URL))
    assert not wait([reading], 5).not_done


BASES = [archive(), made.docx(BLOCKS, links=LINKS), made.odt(BLOCKS), made.epub(["<p>x</p>"]), made.gzipped(b"<p>x")]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(BASES) - 1), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=8))
def test_damaged_documents_raise_only_the_documented_exception(base: int, changes: list[tuple[int, int]]) -> None:
    body = bytearray(BASES[base])
    for place, value in changes:
        body[place % len(body)] = value
    body[:2] = BASES[base][:2]
    with suppress(UnreadableDocument):
        convert_document(bytes(body), ConversionLimits(1 << 20, 5.0))
