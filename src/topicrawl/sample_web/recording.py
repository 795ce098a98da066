"""Write a recorded web: pages.warc.gz with one gzip member per record, and the tables next to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from topicrawl.collection.warc import build_warcinfo, encode_fetch
from topicrawl.models import Response

#: Time stamp of all records, fixed so that the same web always gives the same file.
_RECORDED_AT = 1_704_067_200.0
_WARC_NAME = "pages.warc.gz"


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A topic with its seeds and labels, as stored in `tasks.json`."""

    web: str
    topic: str
    words: str
    labels: Sequence[str]
    seeds: Sequence[str]
    back: int  # maximum link distance from the seeds to the nearest target
    targets: int  # number of reachable targets


def write_pages(directory: Path, responses: Iterable[Response], *, description: str) -> dict[str, str]:
    """Write responses to `pages.warc.gz`. Return the target of each redirect."""
    random = Random(0)
    redirects: dict[str, str] = {}
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / _WARC_NAME).open("wb") as file:
        file.write(build_warcinfo(_WARC_NAME, {"description": description}, _RECORDED_AT, random))
        for response in responses:
            if "location" in response.headers:
                redirects[response.url] = response.headers["location"]
            for member in encode_fetch(response, "", random):
                file.write(member)
    return redirects


def build_response(url: str, status: int, headers: Mapping[str, str], body: bytes) -> Response:
    """Build the response that a crawler would receive.

    >>> build_response("http://a.example/", 301, {"location": "/b"}, b"").final_url
    'http://a.example/'
    """
    return Response(url, url, status, headers, body, _RECORDED_AT)


def write_tables(
    directory: Path,
    labels: Mapping[str, Sequence[str]],
    topics: Mapping[str, Sequence[str]],
    tasks: Sequence[RecordedTask],
    redirects: Mapping[str, str],
) -> None:
    """Write labels, topics, tasks and aliases next to the pages.

    `tasks-phrase.json` contains the same tasks with the name of the topic as the words.
    """
    rows = [f"{url}\t{';'.join(names)}\n" for url, names in sorted(labels.items())]
    (directory / "labels.tsv").write_text("".join(rows), "utf-8")
    rows = [f"{url}\t{_follow_redirects(url, redirects)}\n" for url in sorted(redirects)]
    (directory / "aliases.tsv").write_text("".join(rows), "utf-8")
    topic_entries = {name: {"labels": [name], "keywords": " ".join(words)} for name, words in topics.items()}
    (directory / "topics.json").write_text(json.dumps(topic_entries, indent=1) + "\n", "utf-8")
    task_entries = [asdict(task) for task in tasks]
    (directory / "tasks.json").write_text(json.dumps(task_entries, indent=1) + "\n", "utf-8")
    phrase_entries = [{**entry, "words": entry["topic"]} for entry in task_entries]
    (directory / "tasks-phrase.json").write_text(json.dumps(phrase_entries, indent=1) + "\n", "utf-8")


def _follow_redirects(url: str, redirects: Mapping[str, str]) -> str:
    """Return the end of a chain of redirects."""
    seen = {url}
    while url in redirects and redirects[url] not in seen:
        url = redirects[url]
        seen.add(url)
    return url
