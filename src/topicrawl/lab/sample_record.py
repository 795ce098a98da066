"""A web as a recorded web on disk: pages.warc.gz with one gzip member a record, and the tables beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from topicrawl.collection.warc import encoded, warcinfo
from topicrawl.records import Response

#: The moment all records carry, so that the same web is always the same file.
_RECORDED_AT = 1_704_067_200.0
_WARC = "pages.warc.gz"


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A topic to look for from some seeds, as `tasks.json` has it."""

    web: str
    topic: str
    words: str
    labels: Sequence[str]
    seeds: Sequence[str]
    back: int  # links from the seeds to the nearest target, at most
    targets: int  # that can be reached


def write_pages(directory: Path, answers: Iterable[Response], *, about: str) -> dict[str, str]:
    """Write the answers into `pages.warc.gz`; returns where each redirect leads."""
    random = Random(0)
    moved: dict[str, str] = {}
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / _WARC).open("wb") as file:
        file.write(warcinfo(_WARC, {"description": about}, _RECORDED_AT, random))
        for answer in answers:
            if "location" in answer.headers:
                moved[answer.url] = answer.headers["location"]
            for member in encoded(answer, "", random):
                file.write(member)
    return moved


def recorded(url: str, status: int, headers: Mapping[str, str], body: bytes) -> Response:
    """An answer of the made-up web as it would have been received.

    >>> recorded("http://a.example/", 301, {"location": "/b"}, b"").final_url
    'http://a.example/'
    """
    return Response(url, url, status, headers, body, _RECORDED_AT)


def write_tables(
    directory: Path,
    labels: Mapping[str, Sequence[str]],
    topics: Mapping[str, Sequence[str]],
    tasks: Sequence[RecordedTask],
    moved: Mapping[str, str],
) -> None:
    """Write labels, topics, tasks and aliases beside the pages."""
    rows = [f"{url}\t{';'.join(names)}\n" for url, names in sorted(labels.items())]
    (directory / "labels.tsv").write_text("".join(rows), "utf-8")
    rows = [f"{url}\t{_end(url, moved)}\n" for url in sorted(moved)]
    (directory / "aliases.tsv").write_text("".join(rows), "utf-8")
    described = {name: {"labels": [name], "keywords": " ".join(words)} for name, words in topics.items()}
    (directory / "topics.json").write_text(json.dumps(described, indent=1) + "\n", "utf-8")
    listed = [asdict(task) for task in tasks]
    (directory / "tasks.json").write_text(json.dumps(listed, indent=1) + "\n", "utf-8")


def _end(url: str, moved: Mapping[str, str]) -> str:
    """Where a chain of redirects ends."""
    seen = {url}
    while url in moved and moved[url] not in seen:
        url = moved[url]
        seen.add(url)
    return url
