"""Main text extraction on the article-extraction-benchmark, compared with other libraries.

    python -m bench.main_text DIRECTORY

DIRECTORY is a checkout of
https://github.com/scrapinghub/article-extraction-benchmark, which contains 181 pages and their article bodies. Other
libraries are compared if they are installed: trafilatura, readability-lxml, resiliparse.

The measure is that of the benchmark: a text is a bag of shingles of four words; precision and recall are means over the
pages, and F1 is computed from these means. The time is CPU time per page, from the bytes of the page to its text; the
libraries take turns on every page. The words and numbers of `topicrawl.parse` were chosen on one half of the pages, and
the other half is reported separately.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from topicrawl.models import Failure, Response
from topicrawl.parse.main_text import extract_main_text

_SHINGLE_WORDS = 4
_ROUNDS = 3  # the shortest time of a page counts
_WORD = re.compile(r"\w+")

Extractor = Callable[[bytes], str]


class Article(NamedTuple):
    """A page of the benchmark."""

    identifier: str
    html: bytes
    body: str

    @property
    def is_development(self) -> bool:
        """Whether the page belongs to the half on which the extraction was developed."""
        return int(self.identifier[-1], 16) % 2 == 0


class Result(NamedTuple):
    """Precision and recall of one extracted text; None if undefined. CPU time in seconds."""

    precision: float | None
    recall: float | None
    seconds: float


def count_shingles(text: str) -> Counter[tuple[str, ...]]:
    """Count the sequences of four words of a text; a shorter text is one sequence.

    >>> count_shingles("Owls hunt at night. Owls hunt")[("Owls", "hunt", "at", "night")]
    1
    """
    words = _WORD.findall(text)
    starts = range(max(1, len(words) - _SHINGLE_WORDS + 1))
    return Counter(tuple(words[start : start + _SHINGLE_WORDS]) for start in starts if words)


def compare_texts(expected: str, extracted: str) -> tuple[float | None, float | None]:
    """Return precision and recall of the shingles of a text; None if a text has none.

    >>> compare_texts("a b c d e", "a b c d x y"), compare_texts("a b", "")
    ((0.3333333333333333, 0.5), (None, 0.0))
    """
    true, found = count_shingles(expected), count_shingles(extracted)
    common = (true & found).total()
    return common / found.total() if found else None, common / true.total() if true else None


def summarise(results: list[Result]) -> tuple[float, float, float]:
    """Return F1, precision and recall of several pages."""
    precision = mean(result.precision for result in results if result.precision is not None)
    recall = mean(result.recall for result in results if result.recall is not None)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0, precision, recall


def load_articles(directory: Path) -> list[Article]:
    """Load the pages and their article bodies."""
    truths = json.loads((directory / "ground-truth.json").read_text("utf-8"))
    return [
        Article(name, gzip.decompress((directory / "html" / f"{name}.html.gz").read_bytes()), truth["articleBody"])
        for name, truth in truths.items()
    ]


def extract_with_topicrawl(html: bytes) -> str:
    """Extract the main text with this package."""
    text = extract_main_text(Response("http://a/", "http://a/", 200, {"content-type": "text/html"}, html))
    return "" if isinstance(text, Failure) else text


def _import_optional(name: str) -> Any:
    """Import a module that may be absent; print its name if it is."""
    try:
        return import_module(name)
    except ImportError:
        print(f"skipped: {name.partition('.')[0]} is not installed")
        return None


def load_extractors() -> dict[str, Extractor]:
    """Return the extractors of all installed libraries by name, with the options that suit the measure best."""
    extractors: dict[str, Extractor] = {"topicrawl": extract_with_topicrawl}
    if trafilatura := _import_optional("trafilatura"):
        extractors["trafilatura"] = lambda html: trafilatura.extract(html, include_comments=False) or ""
        extractors["trafilatura, fast"] = lambda html: (
            trafilatura.extract(html, include_comments=False, fast=True) or ""
        )
    if readability := _import_optional("readability"):
        lxml = import_module("lxml.html")
        extractors["readability-lxml"] = lambda html: " ".join(
            lxml.fromstring(readability.Document(html).summary()).itertext()
        )
    if html2text := _import_optional("resiliparse.extract.html2text"):
        tree = import_module("resiliparse.parse.html").HTMLTree
        detect = import_module("resiliparse.parse.encoding").detect_encoding
        plain = {"alt_texts": False, "form_fields": False, "list_bullets": False}
        for name, options in {"resiliparse, plain": plain, "resiliparse": {}}.items():
            extractors[name] = lambda html, options=options: html2text.extract_plain_text(  # type: ignore[misc]
                tree.parse_from_bytes(html, detect(html)), main_content=True, **options
            )
    return extractors


def measure(articles: list[Article], extractors: dict[str, Extractor]) -> dict[str, list[Result]]:
    """Extract every page with every library, in turns."""
    results: dict[str, list[Result]] = {name: [] for name in extractors}
    for article in articles:
        for name, extract in extractors.items():
            seconds = []
            for _ in range(_ROUNDS):
                start = time.process_time()
                text = extract(article.html)
                seconds.append(time.process_time() - start)
            results[name].append(Result(*compare_texts(article.body, text), min(seconds)))
    return results


def main() -> None:
    """Print the table."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = Path(sys.argv[1])
    if not (directory / "ground-truth.json").is_file():
        print(f"skipped: no article-extraction-benchmark in {directory}")
        return
    articles = load_articles(directory)
    results = measure(articles, load_extractors())
    own = mean(result.seconds for result in results["topicrawl"])
    print(f"{len(articles)} pages; held out: {sum(not article.is_development for article in articles)}")
    print("| library | F1 | precision | recall | F1 held out | CPU per page | ratio |\n|---|---|---|---|---|---|---|")
    for library, found in results.items():
        f1, precision, recall = summarise(found)
        held_out, _, _ = summarise(
            [r for r, article in zip(found, articles, strict=True) if not article.is_development]
        )
        seconds = mean(result.seconds for result in found)
        figures = f"{f1:.3f} | {precision:.3f} | {recall:.3f} | {held_out:.3f} | {seconds * 1e3:.2f} ms"
        print(f"| {library} | {figures} | {seconds / own:.2f} |")


if __name__ == "__main__":
    main()
