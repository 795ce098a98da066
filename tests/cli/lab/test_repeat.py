"""`topicrawl lab repeat` on the command line: reports, figures, defaults and error messages."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.helpers.markers import LONG
from tests.helpers.sample_web import write_small_web


@pytest.fixture(scope="module")
def sample_web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("repeat") / "sample"
    directory.mkdir()
    write_small_web(directory)
    return directory


@LONG
def test_safran_writes_claims_tables_and_the_figure(run, sample_web: Path) -> None:  # type: ignore[no-untyped-def]
    ran = run(
        "lab", "repeat", "safran", str(sample_web), "--topics", "1", "--budget", "60", "--examples", "4", "--json"
    )
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    orders = [claim for claim in report["claims"] if "> NB2 after" in claim["statement"]]
    assert not orders, "the paper has no value for so few pages"
    first = next(claim for claim in report["claims"] if claim["statement"] == "BFS at least .64 after 50 pages")
    assert first["claimed"] == "≥ 0.64"
    assert 0 <= first["measured"]["value"] <= 1
    assert first["measured"]["low"] is None, "one topic is too few for an interval"
    rates = report["tables"][0]
    assert rates["head"] == ["crawler", "50", "60"]
    assert [row[0] for row in rates["rows"]] == [
        "NB4 updatable",
        "NB4",
        "NB2",
        "BFS",
        "NB4, best first",
        "highest possible",
    ]
    for name in ("report.md", "report.html", "report.json", "safran-fig7.svg"):
        assert (Path("repeat-safran") / name).is_file()
    ElementTree.parse(Path("repeat-safran") / "safran-fig7.svg")
    assert "topicrawl lab repeat" in (Path("repeat-safran") / "report.md").read_text("utf-8")


@LONG
def test_batsakis_counts_hits_with_and_without_the_judged_pages(run, sample_web: Path) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "repeat", "batsakis", str(sample_web), "--topics", "1", "--budget", "40", "--examples", "4")
    assert ran.code == 0, ran.err
    assert "Fig 12: page and anchor > anchor, similar pages" in ran.out
    figures = sorted(path.stem for path in Path("repeat-batsakis").glob("*.svg"))
    assert figures == [f"batsakis-fig{number}" for number in range(12, 18)]
    table = json.loads((Path("repeat-batsakis") / "report.json").read_text("utf-8"))["tables"][0]
    assert table["head"] == ["crawler", "similar", "unjudged", "harvest ratio", "average similarity", "precision rate"]
    similar, unjudged = (float(table["rows"][0][column]) for column in (1, 2))
    assert similar > unjudged, "a crawler on its topic finds judged pages, which are similar to themselves"
    again = run("lab", "repeat", "batsakis", str(sample_web), "--topics", "1", "--budget", "40", "--examples", "4")
    assert "runs" not in again.err, "a repeated command takes its results from the file"
    assert again.out == ran.out


def test_kluev_reviews_the_groups_with_the_labels(run, sample_web: Path) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "repeat", "kluev", str(sample_web), "--topics", "1", "--budget", "80", "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    groups = {row[0]: row[1:] for row in report["tables"][0]["rows"]}
    counts = {name: [int(cell.replace(",", "")) for cell in row[:2]] for name, row in groups.items()}
    assert counts["recommended"][0] + counts["rejected"][0] == counts["evaluated"][0]
    assert counts["undoubted"][0] <= counts["recommended"][0]
    assert counts["recommended"][1] > 0
    effort = next(claim for claim in report["claims"] if claim["statement"] == "effort of the review")
    assert 0 < effort["measured"]["value"] < 0.6


@LONG
def test_hati_computes_the_printed_tables_again(run, sample_web: Path) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "repeat", "hati", str(sample_web), "--topics", "1", "--budget", "20", "--examples", "4", "--json")
    assert ran.code == 0, ran.err
    claims = {claim["statement"]: claim for claim in json.loads(ran.out)["claims"]}
    assert claims["cosine of the description"]["outcome"] == "holds"
    assert claims["rows of attributes above the limits"]["measured"]["value"] == 7
    # The printed products differ from those of the example as described, because the paper multiplies another factor.
    assert claims["posterior of the example as described"]["measured"]["value"] == pytest.approx(256 / 381, abs=1e-4)
    assert claims["posterior of the example as described"]["outcome"] == "does not hold"


@LONG
def test_mohammadi_ranks_pages_with_hidden_words_by_their_summaries(run, sample_web: Path) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "repeat", "mohammadi", str(sample_web), "--topics", "1", "--budget", "20", "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    claims = {claim["statement"]: claim for claim in report["claims"]}
    assert claims["exact ranks, summaries"]["measured"]["value"] == 9
    assert claims["exact ranks, VSM"]["measured"]["value"] == 1
    assert claims["rho of summaries > rho of VSM, made pages"]["measured"]["value"] > 0
    assert report["figures"] == ["mohammadi-ranks.svg"]


def test_the_webs_come_from_the_environment(run, sample_web: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TOPICRAWL_WEBS", str(sample_web.parent / "nowhere"))
    ran = run("lab", "repeat", "safran")
    assert (ran.code, ran.out) == (2, "")
    assert "contains no recorded web with a tasks.json" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["newton"], 2, "'newton' is not one of"),
        (["safran", "nowhere"], 3, "nowhere"),
        (["safran", ".", "--topics", "0"], 2, "--topics"),
    ],
    ids=lambda value: str(value),
)
def test_invalid_arguments_are_reported_in_one_line(run, arguments: list[str], code: int, words: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("lab", "repeat", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
