"""`topicrawl train summary`: write a table of sentences, train a network, use it in a crawl."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tests.helpers.sample_web import write_small_web

from topicrawl.lab.summary_labels import read_rows
from topicrawl.sample_web.web import SampleWeb

PAGE = """<title>Owls</title><h1>All about the owls of this valley</h1>
<p>Owls hunt at night in the woods behind the village. Their flight is silent. Mice are what they like best of all.</p>
<p style="display:none">Owls and more owls for robots only.</p>
<p>The parking of cars costs five coins. Prices may change without any notice.</p>"""


@pytest.fixture
def pages(run, tmp_path: Path) -> list[str]:  # type: ignore[no-untyped-def]
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text(PAGE.replace("village", f"village of {name}"), "utf-8")
    return ["a.html", "b.html"]


def read_labels(path: str) -> list[tuple[str, bool | None]]:
    return [(row.page, row.label) for row in read_rows(Path(path))]


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def filled_in(path: str) -> None:
    """Label the sentences as a user would in an editor: the first sentences belong in the summary."""
    head, *lines = Path(path).read_text("utf-8").splitlines()
    lines = [("yes" if line.split("\t")[6] == "1" else "no") + line for line in lines]
    Path(path).write_text("\n".join([head, *lines]) + "\n", "utf-8")


def test_from_pages_to_a_network_that_a_crawl_can_use(run, pages: list[str]) -> None:  # type: ignore[no-untyped-def]
    ran = run("train", "summary", "--label", *pages, "--out", "s.tsv")
    assert ran.code == 0
    assert "10 sentences of 2 pages, 10 without a label" in ran.err
    assert not any("robots" in row.sentence for row in read_rows(Path("s.tsv")))
    filled_in("s.tsv")
    ran = run("train", "summary", "s.tsv", "--out", "n.json")
    assert ran.code == 0
    assert "n.json: 10 labelled sentences of 2 pages, 6 yes" in ran.out
    assert "accuracy" in ran.out
    assert "majority baseline: 0.600" in ran.out
    write_small_web(Path("web"))
    task = json.loads(Path("web/tasks.json").read_text("utf-8"))[0]
    crawl = ("lab", "run", "web", "--words", task["words"], "--seed", task["seeds"][0], "--pages", "5")
    assert run(*crawl, "--strategy", "summary:network=n.json", "--out", "v.jsonl").code == 0
    assert run("train", "summary", "s.tsv", "--out", "n.json").code == 2, "the file exists"
    ran = run("train", "summary", "s.tsv", "--out", "n.json", "--force", "--json")
    summary = json.loads(ran.out)
    assert (summary["pages"], summary["sentences"], summary["yes"], summary["majority"]) == (2, 10, 6, 0.6)


def test_each_answer_is_saved_and_labelling_resumes(  # type: ignore[no-untyped-def]
    run, pages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "y\nmaybe\nn\ns\nq\n")
    ran = run("train", "summary", "--label", "a.html", "--ask", "--out", "s.tsv")
    assert ran.code == 0
    assert [label for _, label in read_labels("s.tsv")] == [True, False, None, None, None]
    typed(monkeypatch, "n\n")  # then standard input ends
    assert run("train", "summary", "--label", "--ask", "--out", "s.tsv").code == 130
    assert [label for _, label in read_labels("s.tsv")] == [True, False, False, None, None]
    run("train", "summary", "--label", *pages, "--out", "s.tsv")
    assert [label for page, label in read_labels("s.tsv") if page == "a.html"] == [True, False, False, None, None]
    assert [label for page, label in read_labels("s.tsv") if page == "b.html"] == [None] * 5


class Interrupted(io.StringIO):
    """Standard input of a user who answers once and then presses Ctrl-C."""

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        line = super().readline()
        if not line:
            raise KeyboardInterrupt
        return line


def test_ctrl_c_loses_no_labels(run, pages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sys, "stdin", Interrupted("y\n"))
    ran = run("train", "summary", "--label", *pages, "--ask", "--out", "s.tsv")
    assert ran.code == 130
    assert [label for _, label in read_labels("s.tsv")] == [True, *[None] * 9]
    assert not list(Path().glob("*.part"))


def test_sentences_of_pages_of_a_recorded_web(run, pages: list[str]) -> None:  # type: ignore[no-untyped-def]
    web = SampleWeb(pages=400, hosts=20)
    web.write(Path("web"))
    assert run("train", "summary", "--label", "--web", "web", "--pages", "3", "--out", "s.tsv").code == 0
    assert len({page for page, _ in read_labels("s.tsv")}) == 3
    url = web.page_url(6)
    assert run("train", "summary", "--label", url, "--web", "web", "--out", "t.tsv").code == 0
    assert {page for page, _ in read_labels("t.tsv")} == {url}


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--out", "n.json"], "no tables given"),
        (["--label", "--out", "s.tsv"], "no pages given"),
        (["--label", "--ask", "--out", "s.tsv"], "no pages given"),
        (["s.tsv", "--ask", "--out", "n.json"], "only be used with --label"),
        (["none.tsv", "--out", "n.json"], "none.tsv cannot be read"),
        (["empty.tsv", "--out", "n.json"], "empty.tsv:1: no column"),
        (["a.html", "--out", "n.json"], "a.html:1: no column"),
        (["s.tsv", "--language", "english", "--out", "n.json"], "two letters"),
        (["--label", "none.html", "--out", "s.tsv"], "none.html cannot be read"),
        (["--label", "picture.png", "--out", "s.tsv"], "picture.png is not an HTML or text page"),
        (["--label", "empty.html", "--out", "s.tsv"], "empty.html is not an HTML or text page"),
        (["--label", "short.txt", "--out", "s.tsv"], "left after pruning"),
        (["--label", "folder", "--out", "s.tsv"], "folder contains no"),
        (["--label", "a.html", "--out", "no/s.tsv"], "cannot be written"),
        (["--label", "not a url", "--web", "folder", "--out", "s.tsv"], "folder"),
        (["a.html"], "--out"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line_and_leave_no_file(  # type: ignore[no-untyped-def]
    run, pages: list[str], arguments: list[str], what: str
) -> None:
    Path("folder").mkdir()
    for name, body in {
        "empty.tsv": b"",
        "empty.html": b"",
        "picture.png": b"\x89PNG\0\x01",
        "short.txt": b"Hi.",
    }.items():
        Path(name).write_bytes(body)
    before = sorted(Path().iterdir())
    ran = run("train", "summary", *arguments)
    assert ran.code in (2, 3)
    assert what in ran.err
    assert "Traceback" not in ran.err
    assert sorted(Path().iterdir()) == before
