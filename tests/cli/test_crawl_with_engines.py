"""`topicrawl crawl` with search engines: seeds, backlinks, descriptions, and examples from the live web."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl.engine import backlink_lookup
from topicrawl.seeds import metasearch

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5"]
ENGINES = ("--engine", "searxng:a", "--engine", "searxng:b", "--engine", "searxng:c")


@pytest.fixture(autouse=True)
def nothing_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEARXNG_URL", raising=False)
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    monkeypatch.setattr(metasearch, "is_installed", lambda: False)
    monkeypatch.setattr(backlink_lookup, "_QUERY_INTERVAL", 0.0)


@contextmanager
def web(
    pages: Mapping[str, str], found: Mapping[str, Mapping[str, Sequence[str]]]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Serve a site that is also a search engine (`found`: query → engine → paths).

    Yield its address, the requested paths and the queries.
    """
    queries: list[str] = []

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        parts = urlsplit(path)
        if parts.path != "/search":
            text = pages.get(path)
            return make_chain_site(5)(path) if text is None else (200, {}, text.encode())
        fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
        # The tests do not know the port of the site in advance, so queries contain SITE instead.
        query = fields["q"].replace(address.partition("://")[2], "SITE")
        queries.append(query)
        paths = found.get(query, {}).get(fields["engines"], ()) if fields["pageno"] == "1" else ()
        rows = [
            {"url": f"{address}{name}", "content": f"dengue fever at {name}", "engine": fields["engines"]}
            for name in paths
        ]
        return 200, {"Content-Type": "application/json"}, json.dumps({"results": rows}).encode()

    with live_site(answer) as (address, asked):
        yield address, asked, queries


SEEDS = {"dengue fever": {"a": ("/0", "/3"), "b": ("/9", "/0"), "c": ("/0",)}}


def test_a_crawl_without_seeds_uses_the_vote_of_the_engines_and_stores_it(run) -> None:  # type: ignore[no-untyped-def]
    with web({}, SEEDS) as (address, asked, _):
        ran = run("crawl", "dengue fever", "--searxng", address, *ENGINES, *OPTIONS, "--pages", 2)
    assert ran.code == 0, ran.err
    assert f"{address}/0\n      most relevant, 3 votes: a 1, b 2, c 1" in ran.err
    assert [path for path in asked if path[1:].isdecimal()] == ["/0", "/1"]
    kept = json.loads(Path("dengue-fever/seeds.json").read_text("utf-8"))
    assert (kept["seeds"][0]["url"], kept["seeds"][0]["votes"]) == (f"{address}/0", 3)
    assert kept["seeds"][0]["snippet"] == "dengue fever at /0"


def test_a_resumed_crawl_sends_no_queries_for_seeds(run) -> None:  # type: ignore[no-untyped-def]
    with web({}, SEEDS) as (address, _, queries):
        run("crawl", "dengue fever", "--searxng", address, *ENGINES, *OPTIONS, "--pages", 1)
        before = list(queries)
        ran = run("crawl", "dengue fever", "--pages", 3)
    assert ran.code == 0, ran.err
    assert queries == before


def test_json_events_begin_with_the_seeds(run) -> None:  # type: ignore[no-untyped-def]
    with web({}, SEEDS) as (address, _, _):
        ran = run("crawl", "dengue fever", "--searxng", address, *ENGINES, *OPTIONS, "--pages", 1, "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [event["event"] for event in events] == ["seeds", "start", "visit", "stop"]
    assert events[0]["voters"] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["found.json", "found.txt"])
def test_a_crawl_reads_the_output_of_seeds(run, name: str) -> None:  # type: ignore[no-untyped-def]
    with web({}, SEEDS) as (address, _, _):
        run("seeds", "dengue fever", "--searxng", address, *ENGINES, "--allow-net", "127.0.0.0/8", "--out", name)
        ran = run("crawl", "dengue fever", "--seeds", name, *OPTIONS, "--pages", 1)
    assert ran.code == 0, ran.err
    assert Path("dengue-fever/seeds.json").exists() == name.endswith("json")


def test_without_a_page_with_enough_votes_no_directory_is_created(run) -> None:  # type: ignore[no-untyped-def]
    with web({}, {"dengue fever": {"a": ("/0",), "b": ("/1",)}}) as (address, _, _):
        ran = run("crawl", "dengue fever", "--searxng", address, *ENGINES, *OPTIONS)
    assert ran.code == 2
    assert "found no page with 2 votes" in ran.err
    assert not Path("dengue-fever").exists()


DENGUE = "<title>Dengue</title><p>Dengue fever and dengue fever again, a disease of mosquitoes.</p>"
LINKED = {"/seed": DENGUE, "/parent": f"{DENGUE}<a href='/seed'>dengue</a> <a href='/more'>more</a>", "/more": DENGUE}
WHO = '"SITE/seed"'


def crawled(run, address: str, *more: object):  # type: ignore[no-untyped-def]
    return run("crawl", "dengue fever", "--seed", f"{address}/seed", "--searxng", address, *ENGINES, *OPTIONS, *more)


def test_backlinks_of_a_relevant_page_are_added_to_the_frontier(run) -> None:  # type: ignore[no-untyped-def]
    with web(LINKED, {WHO: {"a": ("/parent", "/seed"), "b": ("/gone",)}}) as (address, asked, queries):
        ran = crawled(run, address, "--back-links", 1)
    assert ran.code == 0, ran.err
    assert {"/seed", "/parent", "/more", "/gone"} <= set(asked)
    assert set(queries) == {WHO}
    (line,) = Path("dengue-fever/engine-answers.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["answer"] == [f"{address}/gone", f"{address}/parent"]


def test_no_backlinks_are_queried_by_default(run) -> None:  # type: ignore[no-untyped-def]
    with web(LINKED, {WHO: {"a": ("/parent",)}}) as (address, asked, queries):
        assert crawled(run, address).code == 0
    assert queries == []
    assert "/parent" not in asked


def test_the_limit_of_backlink_queries_applies_to_all_runs(run) -> None:  # type: ignore[no-untyped-def]
    with web(LINKED, {WHO: {"a": ("/parent",)}}) as (address, _, queries):
        crawled(run, address, "--back-links", 1)
        before = len(queries)
        run("crawl", "dengue fever", "--seed", f"{address}/more")
        assert len(queries) == before
        run("crawl", "dengue fever", "--seed", f"{address}/0", "--back-links", 3)
    assert len(set(queries)) == 3


def test_backlinks_outside_the_scope_are_not_fetched(run) -> None:  # type: ignore[no-untyped-def]
    with web(LINKED, {WHO: {"a": ("/parent",)}}) as (address, asked, _):
        ran = crawled(
            run,
            address.replace("127.0.0.1", "site.test"),
            "--resolve",
            "site.test=127.0.0.1",
            "--searxng",
            address,
            "--only",
            "site.test",
            "--back-links",
            1,
        )
    assert ran.code == 0, ran.err
    assert "/parent" not in asked


def test_a_failing_engine_is_logged(run) -> None:  # type: ignore[no-untyped-def]
    with web(LINKED, {}) as (address, _, _):
        ran = crawled(run, address, "--searxng", f"{address}/nowhere", "--back-links", 1)
    assert ran.code == 0, ran.err
    assert "a did not answer" in Path("dengue-fever/crawl.log").read_text("utf-8")


# Examples from the live web

ALIKE = {
    f"/{kind}{number}": f"<title>{word}</title><p>{f'{word} '.replace('_', ' ') * 5}</p>"
    for kind, word in (("good", "dengue_fever"), ("bad", "motor_cars"))
    for number in range(3)
}
HUBS = {
    f"/hub-{kind}": f"<p>{text}</p>" + "".join(f"<p>{text} <a href='/{kind}{n}'>{text}</a></p>" for n in range(3))
    for kind, text in (("good", "dengue fever"), ("bad", "motor cars"))
}
NAMED = {f'"SITE/{kind}{n}"': {"a": (f"/hub-{kind}", "/nothing")} for kind in ("good", "bad") for n in range(3)}


def test_examples_and_their_backlinks_are_fetched_from_the_live_web(run) -> None:  # type: ignore[no-untyped-def]
    with web({**ALIKE, **HUBS, **LINKED}, NAMED) as (address, asked, queries):
        labels = (("good", "relevant"), ("bad", "irrelevant"))
        rows = [f"{address}/{kind}{n}\t{label}" for kind, label in labels for n in range(3)]
        Path("ex.tsv").write_text("\n".join(rows), "utf-8")
        train = ("--strategy", "nb4", "--examples", "ex.tsv", "--back-links", 6)
        ran = crawled(run, address, *train, "--pages", 1)
        assert ran.code == 0, ran.err
        assert asked.count("/hub-good") == 1
        # After an interrupted start, nothing is fetched or queried twice.
        for path in Path("dengue-fever").iterdir():
            if path.is_file() and path.name != "engine-answers.jsonl":
                path.unlink()
        shutil.rmtree("dengue-fever/warc")
        before = len(queries)
        ran = crawled(run, address, *train, "--pages", 1)
        assert ran.code == 0, ran.err
    assert asked.count("/hub-good") == 1
    assert len(queries) == before


def test_examples_without_backlinks_are_reported(run) -> None:  # type: ignore[no-untyped-def]
    with web({**ALIKE, **LINKED}, {}) as (address, _, _):
        Path("ex.tsv").write_text(f"{address}/good0\trelevant\n{address}/bad0\tirrelevant\n", "utf-8")
        ran = crawled(run, address, "--strategy", "nb4", "--examples", "ex.tsv", "--back-links", 5)
    assert ran.code == 2
    assert "links to any of the 1 relevant examples" in ran.err


def test_the_best_links_get_descriptions_for_a_strategy_that_uses_them(run) -> None:  # type: ignore[no-untyped-def]
    known = {**NAMED, "description of SITE/more": {"a": ("/more",)}}
    with web({**ALIKE, **HUBS, **LINKED}, known) as (address, _, queries):
        rows = [f"{address}/good0\trelevant", f"{address}/bad0\tirrelevant"]
        Path("ex.tsv").write_text("\n".join(rows), "utf-8")
        ran = run(
            "crawl",
            "dengue fever",
            "--seed",
            f"{address}/parent",
            "--searxng",
            address,
            *ENGINES,
            *OPTIONS,
            "--strategy",
            "hati",
            "--examples",
            "ex.tsv",
            "--back-links",
            2,
            "--descriptions",
            2,
        )
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in Path("dengue-fever/engine-answers.jsonl").read_text("utf-8").splitlines()]
    described = {line["url"].removeprefix(address): line["answer"] for line in lines if line["kind"] == "description"}
    assert described
    assert set(described) <= {"/seed", "/more"}
    assert {query for query in queries if not query.startswith('"')} == {
        f"description of SITE{path}" for path in described
    }


def test_descriptions_for_a_strategy_that_ignores_them_are_rejected(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue fever", "--seed", "http://a.example/", "--descriptions", 5)
    assert ran.code == 2
    assert "apprentice does not use descriptions" in ran.err
