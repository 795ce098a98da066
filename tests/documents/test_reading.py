"""Text, title, language and links come out of every kind of document; hostile ones are refused within limits."""

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
from tests.documents import made

from topicrawl.documents.convert import converted
from topicrawl.documents.message import Limits
from topicrawl.documents.reading import Documents
from topicrawl.documents.unreadable import Unreadable
from topicrawl.parse import read
from topicrawl.records import Failure, Link, Page, Response

URL = "http://e.org/d/file"
LINES = [
    "Dengue fever is a disease of the tropics that mosquitoes carry from one person to the next, and that has be-",
    "come more frequent in the last decades because cities grow and because mosquitoes travel with their goods by",
    "ship.",
    "There is no medicine against it. Whoever has it needs rest, water and somebody who looks after them until it is",
    "over (see the other pages).",
]
BLOCKS = [f"{LINES[0][:-1]}{LINES[1]} {LINES[2]}", f"{LINES[3]} {LINES[4]}"]
LINKS = [("http://other.example/a?x=1&y=2", "More on dengue"), ("near.html", "A page beside it")]
GHOSTSCRIPT = pytest.mark.skipif(
    not shutil.which("gs"), reason="Ghostscript is not installed (apt install ghostscript)"
)


@pytest.fixture(scope="module")
def documents() -> Iterator[Documents]:
    with Documents() as found:
        yield found


@pytest.fixture(scope="module")
def hasty() -> Iterator[Documents]:
    """Gives up after half a second of computing, and after a megabyte."""
    with Documents(Limits(1 << 20, 0.5), processes=1) as found:
        yield found


def response(body: bytes, url: str = URL, kind: str = "application/octet-stream") -> Response:
    return Response(url, url, 200, {"content-type": kind}, body, 9.0)


def read_by(documents: Documents, body: bytes) -> Page | Failure:
    return read(response(body), Link(URL, depth=2), documents=documents)


def in_html(blocks: list[str]) -> str:
    page = read(response("".join(f"<p>{block}</p>" for block in blocks).encode(), kind="text/html"), Link(URL))
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
def test_text_title_language_and_links_come_out_of_a_document(documents: Documents, kind: str) -> None:
    page = read_by(documents, KINDS[kind]())
    assert isinstance(page, Page)
    assert page.title == "On dengue"
    assert page.language == "en"
    assert page.text.split("\n")[:2] == BLOCKS
    assert page.words[:4] == ("dengue", "fever", "is", "a")
    link = page.links[0]
    assert (link.url, link.anchor, link.source, link.depth) == (LINKS[0][0], LINKS[0][1], URL, 3)
    # Where a book leads to its own chapters it leads nowhere on the web.
    assert [link.url for link in page.links[1:]] == ([] if kind == "epub" else ["http://e.org/d/near.html"])


@GHOSTSCRIPT
@pytest.mark.parametrize("pack", [bytes, made.gzipped], ids=["ps", "gzip of ps"])
def test_text_and_written_addresses_come_out_of_postscript(
    documents: Documents, pack: Callable[[bytes], bytes]
) -> None:
    marks = b"[ /Rect [0 0 9 9] /Action << /Subtype /URI /URI (http://b.example/) >> /Subtype /Link /ANN pdfmark\n"
    source = made.postscript([*LINES, "See http://a.example/x."], title="On dengue") + marks
    page = read_by(documents, pack(source))
    assert isinstance(page, Page)
    assert (page.title, page.language) == ("On dengue", "en")
    assert page.text.split("\n")[:2] == BLOCKS
    assert [link.url for link in page.links] == ["http://a.example/x", "http://b.example/"]


@pytest.mark.parametrize("body", [made.pdf([LINES]), made.docx(BLOCKS), made.odt(BLOCKS)], ids=["pdf", "docx", "odt"])
def test_the_same_text_has_the_same_digest_in_every_format(documents: Documents, body: bytes) -> None:
    page = read_by(documents, body)
    assert isinstance(page, Page)
    assert page.digest == in_html(BLOCKS)


def test_page_numbers_and_repeated_heads_are_no_text(documents: Documents) -> None:
    body = made.pdf([["Journal of Mosquitoes", f"Text of sheet {i}, which is new.", str(i)] for i in range(1, 6)])
    page = read_by(documents, body)
    assert isinstance(page, Page)
    assert page.text == " ".join(f"Text of sheet {i}, which is new." for i in range(1, 6))


def test_a_title_that_a_program_wrote_is_none(documents: Documents) -> None:
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


def test_each_file_of_an_archive_is_a_page_of_its_own(documents: Documents) -> None:
    link = Link("http://e.org/a.zip?v=1", "http://e.org/", depth=1)
    members = documents.unfold(response(archive(), link.url), link).members
    pages = {link.url: read(file, link) for link, file in members}
    base = "http://e.org/a.zip/!"
    names = ["papers/one.pdf", "index.html", "notes.txt", "inner.zip"]
    assert list(pages) == [f"{base}/{name}?v=1" for name in names]
    one, index, notes, inner = pages.values()
    assert isinstance(one, Page)
    assert isinstance(index, Page)
    assert isinstance(notes, Page)
    assert (one.title, index.title, one.text.split("\n")[0]) == ("Paper one", "Index", BLOCKS[0])
    # From file to file inside there is no way on the web.
    assert [link.url for link in index.links] == ["http://far.example/"]
    assert [link.url for link in notes.links] == ["http://noted.example/"]
    assert inner == Failure.NESTED
    assert {file.taken_from for _, file in members} == {link.url}
    assert members[0][1].body.startswith(b"%PDF")
    assert members[0][0] == Link(f"{base}/papers/one.pdf?v=1", link.url, "papers/one.pdf", depth=1)


def test_an_archive_itself_says_nothing(documents: Documents) -> None:
    page = read_by(documents, archive())
    assert isinstance(page, Page)
    assert (page.title, page.text, page.words, page.links) == ("", "", (), ())


def test_two_files_of_one_name_have_two_addresses(documents: Documents) -> None:
    body = made.zipped({"a/b.txt": b"one", "a//b.txt": b"two", "a/./b.txt": b"three"})
    found = documents.unfold(response(body), Link(URL))
    assert len({link.url for link, _ in found.members}) == 3


def test_what_the_host_asks_of_robots_holds_for_all_that_is_inside(documents: Documents) -> None:
    asked = Response(URL, URL, 200, {"content-type": "application/zip", "x-robots-tag": "noindex"}, archive())
    for link, file in documents.unfold(asked, Link(URL)).members[:3]:
        page = read(file, link)
        assert isinstance(page, Page)
        assert "noindex" in page.directives


@pytest.mark.parametrize(
    ("kind", "body", "wanted"),
    [
        ("text/html", b"%PDF-1.4", False),
        ("text/plain", b"Dear all", False),
        ("text/plain", b"%!PS-Adobe-3.0", True),
        ("application/pdf", b"%PDF-1.4", True),
        ("application/pdf", b"<html><p>Not found", False),
        ("application/octet-stream", b"\x1f\x8b\x08", True),
        ("application/octet-stream", b"MZ\x90\0", False),
        ("image/png", b"%PDF-1.4", False),
        ("", b"PK\3\4", True),
    ],
)
def test_what_a_document_is_shows_in_its_bytes_rather_than_its_label(kind: str, body: bytes, wanted: bool) -> None:
    assert Documents.wanted(response(body, kind=kind)) is wanted


def test_without_a_reader_of_documents_they_are_refused_as_before() -> None:
    assert read(response(made.pdf([["x"]])), Link(URL)) == Failure.CONTENT_TYPE


# Hostile documents


def endless_pdf() -> bytes:
    """Ten pages, each of which is ten pages, and so on: a billion."""
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
def test_hostile_documents_are_refused_by_name(documents: Documents, name: str) -> None:
    make, failures = HOSTILE[name]
    body = make()
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = documents.unfold(response(body), Link(URL)).response
    assert found.failure in failures
    assert found.detail
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
    assert time.process_time() - begun < 5.0, "the work is done in another process"


@GHOSTSCRIPT
@pytest.mark.parametrize("name", POSTSCRIPT)
def test_postscript_can_do_nothing_but_print(documents: Documents, tmp_path: Path, name: str) -> None:
    path = tmp_path / "made"
    if name == "deletes a file":
        path.write_text("kept")
    font = b"%!PS\n/Helvetica findfont 11 scalefont setfont 72 700 moveto\n"
    found = documents.unfold(response(font + POSTSCRIPT[name].replace(b"{path}", bytes(path))), Link(URL)).response
    if found.failure is None:
        page = read(found, Link(URL))
        assert isinstance(page, Page)
        assert page.text == ""
    else:
        assert found.failure == Failure.UNPARSED
    assert path.exists() == (name == "deletes a file")


def test_what_takes_too_long_is_given_up_and_the_next_is_read(hasty: Documents) -> None:
    body = pdf_of_zeros(900 << 20)
    begun = time.monotonic()
    found = hasty.unfold(response(body), Link(URL)).response
    assert found.failure in (Failure.READING_LIMIT, Failure.UNPARSED)
    assert time.monotonic() - begun < 25
    assert hasty.unfold(response(made.docx(["More"])), Link(URL)).response.failure is None


def test_a_bomb_among_the_files_of_an_archive_leaves_the_others_whole(hasty: Documents) -> None:
    files = {f"{i}.txt": b"a" * 900_000 for i in range(6)} | {"huge.txt": b"b" * 2_000_000, "small.txt": b"c"}
    found = hasty.unfold(response(made.zipped(files)), Link(URL))
    failures = [file.failure for _, file in found.members]
    assert failures == [None] * 4 + [Failure.TOO_LARGE] * 3 + [None]


def test_an_archive_of_very_many_files_is_cut_and_the_log_says_so(
    documents: Documents, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "topicrawl"):
        found = documents.unfold(response(made.zipped({f"{i}.txt": b"x" for i in range(700)})), Link(URL))
    assert len(found.members) == 500
    assert caplog.messages == [f"{URL}: 500 of 700 files in it are taken"]


def test_a_bundle_is_a_bundle_whatever_its_files_are_called(documents: Documents) -> None:
    found = documents.unfold(response(made.zipped({"mimetype": b"x" * 200, "a.txt": b"dengue"})), Link(URL))
    assert [link.anchor for link, _ in found.members] == ["mimetype", "a.txt"]


def test_a_file_without_a_name_leaves_the_others_whole(documents: Documents) -> None:
    body = made.zipped({"x": b"nameless", "a.txt": b"dengue"})
    # The name in the table of contents, and the length that goes with it.
    at = body.rindex(b"PK\1\2", 0, body.rindex(b"PK\1\2"))
    nameless = body[: at + 28] + b"\0\0" + b"\1\0" + body[at + 32 :]
    found = documents.unfold(response(nameless), Link(URL))
    assert [link.anchor for link, _ in found.members] == ["a.txt"]


def test_closing_gives_up_what_is_being_read() -> None:
    with Documents(processes=1) as found:
        assert found.unfold(response(made.docx(["x"])), Link(URL)).response.failure is None
        reading = found._threads.submit(found.unfold, response(b"%!PS\n{} loop"), Link(URL))
    assert not wait([reading], 5).not_done


BASES = [archive(), made.docx(BLOCKS, links=LINKS), made.odt(BLOCKS), made.epub(["<p>x</p>"]), made.gzipped(b"<p>x")]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(BASES) - 1), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=8))
def test_whatever_is_wrong_with_a_document_has_a_name(base: int, changes: list[tuple[int, int]]) -> None:
    body = bytearray(BASES[base])
    for place, value in changes:
        body[place % len(body)] = value
    body[:2] = BASES[base][:2]
    with suppress(Unreadable):
        converted(bytes(body), Limits(1 << 20, 5.0))
