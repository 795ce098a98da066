"""Test documents built byte by byte: PDF, PostScript, docx, odt, EPUB, zip and gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

Links = Sequence[tuple[str, str]]  # URL and anchor text


def pdf(sheets: Sequence[Sequence[str]], *, title: str = "", links: Links = ()) -> bytes:
    """Return a PDF with lines of text; the links follow the text of the first page."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    objects.append(b"<< /Title (%s) >>" % _string(title))
    kids = []
    for number, lines in enumerate(sheets):
        shown = [*lines, *(text for _, text in links if not number)]
        drawn = b"".join(b"1 0 0 1 72 %d Tm (%s) Tj\n" % (750 - 14 * i, _string(s)) for i, s in enumerate(shown))
        notes = []
        for position, (url, _) in enumerate(links if not number else ()):
            low = 750 - 14 * (len(lines) + position) - 3
            objects.append(
                b"<< /Type /Annot /Subtype /Link /Rect [70 %d 500 %d] /A << /S /URI /URI (%s) >> >>"
                % (low, low + 13, _string(url))
            )
            notes.append(b"%d 0 R" % len(objects))
        stream = b"BT /F1 11 Tf\n" + drawn + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Annots [%s]"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (len(objects), b" ".join(notes))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return pdf_file(objects, info=4)


def pdf_file(objects: Sequence[bytes], info: int = 0) -> bytes:
    """Return a PDF with these objects; the first one is its root."""
    out, places = BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, content in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    about = b" /Info %d 0 R" % info if info else b""
    out.write(b"trailer << /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, about, start))
    return out.getvalue()


def postscript(lines: Sequence[str], *, title: str = "") -> bytes:
    """Return a PostScript document with lines of text."""
    drawn = b"".join(b"72 %d moveto (%s) show\n" % (750 - 14 * i, _string(s)) for i, s in enumerate(lines))
    head = b"%%!PS-Adobe-3.0\n%%%%Title: (%s)\n/Helvetica findfont 11 scalefont setfont\n" % _string(title)
    return head + drawn + b"showpage\n"


def docx(blocks: Sequence[str], *, title: str = "", links: Links = ()) -> bytes:
    """Return a Word document with paragraphs and links."""
    office = "http://schemas.openxmlformats.org"
    kind = f"{office}/officeDocument/2006/relationships/hyperlink"
    text = "".join(f"<w:p><w:r><w:t>{escape(block)}</w:t></w:r></w:p>" for block in blocks)
    text += "".join(
        f'<w:p><w:hyperlink r:id="rId{i}"><w:r><w:t>{escape(anchor)}</w:t></w:r></w:hyperlink></w:p>'
        for i, (_, anchor) in enumerate(links)
    )
    targets = "".join(
        f'<Relationship Id="rId{i}" Type="{kind}" Target="{escape(url)}"/>' for i, (url, _) in enumerate(links)
    )
    return zipped(
        {
            "[Content_Types].xml": b"<Types/>",
            "word/document.xml": (
                f'<w:document xmlns:w="{office}/wordprocessingml/2006/main" '
                f'xmlns:r="{office}/officeDocument/2006/relationships"><w:body>{text}</w:body></w:document>'
            ).encode(),
            "word/_rels/document.xml.rels": f"<Relationships>{targets}</Relationships>".encode(),
            "docProps/core.xml": (
                f'<core xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></core>'
            ).encode(),
        }
    )


def odt(blocks: Sequence[str], *, title: str = "", links: Links = ()) -> bytes:
    """Return an OpenDocument text with paragraphs and links."""
    text = "".join(f"<text:p>{escape(block)}</text:p>" for block in blocks)
    text += "".join(f'<text:p><text:a xlink:href="{escape(u)}">{escape(a)}</text:a></text:p>' for u, a in links)
    names = 'xmlns:text="urn:text" xmlns:xlink="urn:link" xmlns:dc="urn:dc"'
    return zipped(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": f"<content {names}>{text}</content>".encode(),
            "meta.xml": f"<meta {names}><dc:title>{escape(title)}</dc:title></meta>".encode(),
        }
    )


def epub(chapters: Sequence[str], *, title: str = "") -> bytes:
    """Return an EPUB; `chapters` are the HTML bodies of its chapters."""
    items = "".join(f'<item id="c{i}" href="c{i}.xhtml"/>' for i in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    about = f'<package xmlns:dc="urn:dc"><dc:title>{escape(title)}</dc:title><dc:language>en</dc:language>'
    return zipped(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": b'<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": f"{about}<manifest>{items}</manifest><spine>{spine}</spine></package>".encode(),
            **{
                f"OPS/c{i}.xhtml": f"<html><head><title>{i}</title></head><body>{body}</body></html>".encode()
                for i, body in enumerate(chapters)
            },
        }
    )


def encrypted_docx() -> bytes:
    """Return an OLE file with the streams of a Word document with a password: header, FAT sector and directory."""
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\0\3\0\xfe\xff\x09\0\6\0" + bytes(478)
    names = ("Root Entry", "EncryptionInfo", "EncryptedPackage", "")
    directory = b"".join(name.encode("utf-16-le").ljust(64, b"\0") + bytes(64) for name in names)
    return header + b"\xff" * 512 + directory + bytes(range(256)) * 8


def with_members(document: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return a document that is a zip file, with further members."""
    out = BytesIO(document)
    with ZipFile(out, "a", ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return out.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file with these members."""
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return out.getvalue()


def gzipped(body: bytes) -> bytes:
    """Return a gzip file with this content."""
    return gzip.compress(body, mtime=0)


def gzip_of_zeros(size: int) -> bytes:
    """Return a gzip file of `size` zero bytes, with an invalid checksum."""
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflated_zeros(size)[2:] + bytes(4)


def deflated_zeros(size: int) -> bytes:
    """Return `size` compressed zero bytes, built from one compressed block."""
    step = 10 << 20
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = compressor.compress(bytes(step)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\xda" + block * (size // step) + b"\x03\0" + bytes(4)


def _string(text: str) -> bytes:
    plain = text.encode("cp1252", "replace")
    return plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
