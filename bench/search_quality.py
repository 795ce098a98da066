"""Quality of the search on the Cranfield collection: nDCG@10 of queries as typed, compared with bm25s.

    .venv/bin/python bench/search_quality.py DIRECTORY
    .venv/bin/python bench/search_quality.py DIRECTORY --merged     also of a merged list of six collections

DIRECTORY contains `cran.all.1400`, `cran.qry` and `cranqrel`: 1,400 abstracts of aerodynamics, 225 questions in whole
sentences, and the relevant abstracts of each question (Cleverdon 1967). Many public repositories contain these files;
this project does not. A relevant abstract has the gain 1 (`binary`), or 4 for a complete answer to 1 for minimum
interest (`graded`). bm25s is compared if it is installed (`pip install bm25s`), with its English stop words, the
stemmer of PyStemmer and k = 1.5, b = .75. Odd questions are reported separately from even ones: parameters of the
ranking may be chosen on the even ones only.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from topicrawl.collection.directory import Collection
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.search import LocalServer, Query, SearchScope, index, search_servers
from topicrawl.search.index import update_index
from topicrawl.topic import Topic

DEPTH = 10
PARTS = 6  # collections of the merged list
NO_INTEREST = -1  # code of abstracts that are not relevant

Ranking = Sequence[int]


class TestCollection(NamedTuple):
    """Documents as (title, text), questions, and the gains of the relevant documents of each question."""

    documents: Mapping[int, tuple[str, str]]
    queries: Mapping[int, str]
    gains: Mapping[int, Mapping[int, int]]


def read_cranfield(directory: Path) -> TestCollection:
    """Read the files of the Cranfield collection."""
    documents = {}
    for number, fields in _read_records(directory / "cran.all.1400"):
        title = fields.get("T", "")
        # The text of an abstract begins with its title.
        documents[number] = title, fields.get("W", "").removeprefix(title).strip()
    # The judgements number the questions in the order of the file.
    records = _read_records(directory / "cran.qry")
    queries = {at: fields["W"] for at, (_, fields) in enumerate(records, 1)}
    gains: dict[int, dict[int, int]] = {}
    for line in (directory / "cranqrel").read_text("ascii").splitlines():
        query, document, code = map(int, line.split())
        if code != NO_INTEREST:
            gains.setdefault(query, {})[document] = 5 - code
    return TestCollection(documents, queries, gains)


def _read_records(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the records of a file: the number, and the text of each field without line breaks."""
    records = []
    for part in re.split(r"^\.I +", path.read_text("latin-1"), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        pieces = re.split(r"^\.([A-Z])\s*$", rest, flags=re.MULTILINE)
        fields = {name: " ".join(text.split()) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
        records.append((int(number), fields))
    return records


def compute_ndcg(ranking: Ranking, gains: Mapping[int, float]) -> float:
    """Return the nDCG of the first `DEPTH` documents.

    >>> compute_ndcg([1, 2], {1: 1, 2: 1}), round(compute_ndcg([3, 1], {1: 1}), 4)
    (1.0, 0.6309)
    """
    gained = sum(gains.get(document, 0) / math.log2(rank + 2) for rank, document in enumerate(ranking[:DEPTH]))
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    return gained / sum(gain / math.log2(rank + 2) for rank, gain in enumerate(best))


def make_url(number: int) -> str:
    """Return the URL of a document."""
    return f"http://cranfield.example/{number}"


def write_collection(directory: Path, documents: Mapping[int, tuple[str, str]]) -> Path:
    """Write documents as pages of a collection and index them."""
    with Collection(directory, Topic.of("aerodynamics"), {"identity": {"strategy": "none"}}) as collection:
        for step, (number, (title, text)) in enumerate(documents.items(), 1):
            url = make_url(number)
            page = Page(url, title, text=text, language="en", digest=f"{number:032x}")
            body = f"<title>{title}</title><p>{text}</p>".encode()
            response = Response(url, url, 200, {"content-type": "text/html"}, body, 1e9)
            visit = Visit(step, Link(url), Priority(0.5), url, page, 0.9, None, 1e9, 200)
            collection.store_visits([(visit, response, None)])
    update_index(directory)
    return directory


def rank_with_servers(servers: Sequence[LocalServer], queries: Mapping[int, str]) -> dict[int, Ranking]:
    """Return the ranking of each query by a federated search."""

    async def search_all() -> dict[int, Ranking]:
        rankings = {}
        for number, text in queries.items():
            query = Query(text, DEPTH, learned=False)
            results = await search_servers(servers, query, scope=SearchScope(search_all=True))
            if failed := [report.trouble for report in results.asked if report.trouble]:
                raise SystemExit(failed[0])
            rankings[number] = [int(hit.url.rpartition("/")[2]) for hit in results.hits]
        for server in servers:
            await server.close()
        return rankings

    return asyncio.run(search_all())


def rank_with_bm25s(collection: TestCollection) -> dict[int, Ranking]:
    """Return the ranking of each query by bm25s."""
    import bm25s  # type: ignore[import-not-found]
    import Stemmer

    stemmer, numbers = Stemmer.Stemmer("english"), list(collection.documents)
    texts = [" ".join(document) for document in collection.documents.values()]
    retriever = bm25s.BM25(k1=1.5, b=0.75)
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(list(collection.queries.values()), stopwords="en", stemmer=stemmer, show_progress=False)
    found, _ = retriever.retrieve(tokens, k=DEPTH, show_progress=False)
    return {query: [numbers[at] for at in row] for query, row in zip(collection.queries, found.tolist(), strict=True)}


def report(name: str, rankings: Mapping[int, Ranking], collection: TestCollection) -> None:
    """Print the nDCG of all queries, and of the even and the odd ones."""
    values = {}
    for kind, convert in (("binary", lambda gain: 1), ("graded", lambda gain: gain)):
        scores = {
            query: compute_ndcg(rankings[query], {document: convert(gain) for document, gain in gains.items()})
            for query, gains in collection.gains.items()
        }
        parts: dict[str, Callable[[int], bool]] = {
            "all": lambda query: True,
            "even": lambda query: query % 2 == 0,
            "odd": lambda query: query % 2 == 1,
        }
        for part, is_chosen in parts.items():
            values[kind, part] = mean(score for query, score in scores.items() if is_chosen(query))
    cells = "  ".join(f"{kind} {part} {value:.4f}" for (kind, part), value in values.items())
    print(f"{name:<22}{cells}", flush=True)


def main() -> None:
    """Build the indexes, run the queries and print the nDCG."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--merged", action="store_true")
    options = parser.parse_args()
    collection = read_cranfield(options.directory)
    print(f"{len(collection.documents)} documents, {len(collection.queries)} queries; nDCG@{DEPTH}")
    with tempfile.TemporaryDirectory() as base:
        started = time.process_time()
        whole = write_collection(Path(base) / "whole", collection.documents)
        print(f"stored and indexed with {time.process_time() - started:.1f} s of CPU")
        report("one index", rank_with_servers([LocalServer([whole])], collection.queries), collection)
        weight, index.SIMILARITY_WEIGHT = index.SIMILARITY_WEIGHT, 0.0
        report("without vectors", rank_with_servers([LocalServer([whole])], collection.queries), collection)
        index.SIMILARITY_WEIGHT = weight
        if options.merged:
            names = [
                write_collection(
                    Path(base) / f"part{part}",
                    {number: text for number, text in collection.documents.items() if number % PARTS == part},
                )
                for part in range(PARTS)
            ]
            servers = [LocalServer(names[: PARTS // 2]), LocalServer(names[PARTS // 2 :])]
            report("six collections", rank_with_servers(servers, collection.queries), collection)
    if find_spec("bm25s"):
        report("bm25s", rank_with_bm25s(collection), collection)


if __name__ == "__main__":
    main()
