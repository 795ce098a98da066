"""User trial: crawl real manuals for a phrase, and compare the collection with the pages that are on the topic.

    .venv/bin/python bench/trial.py
    .venv/bin/python bench/trial.py --topic gis --strategy best_first --keep
    .venv/bin/python bench/trial.py --topic gis --phrase "maps and spatial data" --json

A server on loopback serves the manuals of about 25 Debian packages, each under its own host name, and a landing page
that links to them. `topicrawl crawl` gets the phrase, the landing page as its only seed, and twice as many pages as
there are targets. The options differ from the defaults only where the manuals are not on the real web: the host names
and the network are declared, links to other hosts are not followed, and there is no crawl delay.

The packages are downloaded with `apt-get download` to out/trial/manuals (170 MB), unpacked, and not installed. The exit
code is 0 if all goals are reached, 1 if one is missed, and 2 if the trial cannot run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from topicrawl.collection.store import CollectionStore
from trial_manuals import SOURCES, Manual, prepare_manuals
from trial_score import (
    GOALS,
    TOPICS,
    Fetch,
    TrialScore,
    TrialTopic,
    compute_score,
    find_unused_patterns,
    load_patterns,
    pick_evenly,
    select_targets,
)
from trial_server import ADDRESS, DOMAIN, PORTAL, ManualServer

FOLDER = Path(__file__).parent
OUT = FOLDER.parent / "out" / "trial"
TOPICRAWL = [sys.executable, "-m", "topicrawl"]
PAGES_PER_TARGET = 2
CANNOT_RUN = 2
STOP_SECONDS = 60.0  # time in which an interrupted crawl saves its state


class TrialError(Exception):
    """The trial cannot run; the message says why."""


@dataclass(frozen=True)
class TrialResult:
    """A finished crawl on one topic, its measures and examples of its errors."""

    topic: str
    phrase: str
    manuals: list[str]
    budget: int
    directory: str  # empty: the collection was deleted
    score: TrialScore
    false_positives: list[str]
    missed_targets: list[str]

    def to_dict(self) -> dict[str, object]:
        """Return the result for `--json`, with examples instead of complete lists."""
        measures = asdict(self.score)
        for name in ("false_positives", "missed_fetched", "missed_unfetched"):
            measures[name] = len(measures[name])
        goals = self.score.check_goals()
        return {
            "topic": self.topic,
            "phrase": self.phrase,
            "manuals": self.manuals,
            "budget": self.budget,
            "directory": self.directory,
            "measures": measures,
            "goals": {name: {"goal": goal, "reached": goals[name]} for name, goal in GOALS.items()},
            "examples": {"false_positives": self.false_positives, "missed_targets": self.missed_targets},
        }


def find_targets(topic: TrialTopic, manuals: Sequence[Manual]) -> set[str]:
    """Return the names of the topic's target pages. Print patterns that match no page."""
    pages = {f"{manual.name}/{path}" for manual in manuals for path in manual.list_reachable_pages()}
    if not topic.pattern_file:
        return pages
    names = {manual.name for manual in manuals}
    patterns = [
        pattern
        for pattern in load_patterns(FOLDER / topic.pattern_file)
        if pattern.removeprefix("!").partition("/")[0] in names
    ]
    all_pages = {f"{manual.name}/{path}" for manual in manuals for path in manual.list_pages()}
    for pattern in find_unused_patterns(all_pages, patterns):
        print(f"{topic.pattern_file}: {pattern} matches no page", file=sys.stderr)
    return select_targets(pages, patterns)


def build_crawl_command(
    phrase: str, server: ManualServer, *, directory: Path, pages: int, strategy: str = ""
) -> list[str]:
    """Return the command that a user would type, with the options for a web on loopback."""
    command = [*TOPICRAWL, "crawl", phrase, "--seed", server.make_url(PORTAL), "--out", str(directory)]
    command += ["--pages", str(pages), "--delay", "0", "--only", DOMAIN, "--allow-net", f"{ADDRESS}/32"]
    for name in server.host_names:
        command += ["--resolve", f"{name}={ADDRESS}"]
    return [*command, "--strategy", strategy] if strategy else command


def run_crawl(command: list[str]) -> None:
    """Run the crawl with its progress on standard error. An interruption stops it and waits for its end."""
    process = subprocess.Popen(command, stdout=sys.stderr)
    try:
        code = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    if code:
        raise TrialError(f"`topicrawl crawl` failed with exit code {code}")


def run_topicrawl(*arguments: str) -> str:
    """Run another command of Topicrawl and return its output."""
    done = subprocess.run([*TOPICRAWL, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise TrialError(f"`topicrawl {arguments[0]}` failed: {done.stderr.strip()}")
    return done.stdout


def read_fetches(directory: Path, server: ManualServer) -> list[Fetch]:
    """Return all fetches of a crawl. Pages are relevant if they are in the default export."""
    exported = run_topicrawl("export", str(directory), "--to", "jsonl", "--text", "none", "--no-card", "--out", "-")
    relevant = {json.loads(line)["url"] for line in exported.splitlines()}
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        return [
            Fetch(
                server.get_page_name(visit.url),
                visit.url,
                visit.score,
                visit.relevance,
                visit.failure is None and visit.url in relevant,
                visit.failure,
                server.get_page_name(visit.duplicate_of) if visit.duplicate_of else "",
            )
            for visit in store.iterate_visits()
        ]
    finally:
        store.close()


def describe_fetch(fetch: Fetch) -> str:
    """Return a line with the relevance of a page, the score of its link and its URL."""
    relevance = fetch.failure if fetch.relevance is None else f"relevance {fetch.relevance:.3f}"
    return f"{relevance}, link score {fetch.score:.3f}  {fetch.url}"


def describe_unfetched(directory: Path, urls: Sequence[str]) -> str:
    """Return a line with the state and the score of the link to a page that was not fetched."""
    answers = [json.loads(run_topicrawl("why", str(directory), url, "--json")) for url in urls]
    # A page has several URLs, and usually the crawler has seen a link to only one of them.
    why = next((answer for answer in answers if answer["waiting"]), answers[0])
    score = f", link score {why['waiting']['score']:.3f}" if why["waiting"] else ""
    return f"not fetched: {why['reason']}{score}  {why['url']}"


def describe_missed(score: TrialScore, server: ManualServer, directory: Path) -> list[str]:
    """Return examples of missed targets, fetched and not fetched in proportion to their numbers."""
    examples = pick_evenly(list[Fetch | str]([*score.missed_fetched, *score.missed_unfetched]))
    return [
        describe_fetch(example)
        if isinstance(example, Fetch)
        else describe_unfetched(directory, server.list_page_urls(example))
        for example in examples
    ]


def run_trial(topic: TrialTopic, server: ManualServer, options: argparse.Namespace, *, crawls: Path) -> TrialResult:
    """Crawl for one topic into a new directory in `crawls`, and measure the collection."""
    manuals = [server.manuals[name] for name in topic.manuals if name in server.manuals]
    targets = find_targets(topic, manuals)
    if not targets:
        raise TrialError(f"no manual of the topic {topic.name} is available: {', '.join(topic.manuals)}")
    phrase = options.phrase or topic.phrase
    budget = PAGES_PER_TARGET * len(targets)
    print(f'{topic.name}: crawling for "{phrase}", {len(targets)} targets, {budget} pages', file=sys.stderr)
    # The process id keeps trials apart that run at the same time.
    directory = crawls / f"{topic.name}-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}"
    crawls.mkdir(parents=True, exist_ok=True)
    try:
        run_crawl(build_crawl_command(phrase, server, directory=directory, pages=budget, strategy=options.strategy))
        score = compute_score(read_fetches(directory, server), targets, topic.manuals)
        return TrialResult(
            topic.name,
            phrase,
            [manual.name for manual in manuals],
            budget,
            str(directory) if options.keep else "",
            score,
            [describe_fetch(fetch) for fetch in pick_evenly(score.false_positives)],
            describe_missed(score, server, directory),
        )
    finally:
        if not options.keep:
            shutil.rmtree(directory, ignore_errors=True)


def format_result(result: TrialResult) -> str:
    """Return the measures, the manuals and the examples as text."""
    score, goals = result.score, result.score.check_goals()
    lines = [
        f'\n{result.topic}: "{result.phrase}"; {score.targets} targets in {", ".join(result.manuals)}',
        f"  pages fetched            {score.fetched:6}   (limit: {result.budget} stored pages)",
        f"  judged relevant          {score.relevant:6}",
    ]
    labels = {"precision": "precision", "fetch_share": "fetches in its manuals", "recall": "recall"}
    for name, goal in GOALS.items():
        state = "pass" if goals[name] else "FAIL"
        lines.append(f"  {labels[name]:<24} {getattr(score, name):6.2f}   goal {goal:.2f}  {state}")
    lines.append(f"  targets fetched          {score.targets_fetched:6.2f}")
    lines.append("  manual           fetched  relevant")
    for manual, counts in score.by_manual.items():
        mark = "*" if manual in result.manuals else " "
        lines.append(f"  {mark} {manual:<14} {counts['fetched']:7}  {counts['relevant']:8}")
    missed = len(score.missed_fetched) + len(score.missed_unfetched)
    lines.append(f"  false positives ({len(score.false_positives)}):")
    lines += [f"    {line}" for line in result.false_positives]
    lines.append(
        f"  missed targets ({missed}: {len(score.missed_fetched)} judged irrelevant, "
        f"{len(score.missed_unfetched)} not fetched):"
    )
    lines += [f"    {line}" for line in result.missed_targets]
    if result.directory:
        lines.append(f"  collection: {result.directory}")
    return "\n".join(lines)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topic", choices=sorted(TOPICS), help="run only this topic [default: all]")
    parser.add_argument("--phrase", default="", help='another phrase for --topic, such as "maps and spatial data"')
    parser.add_argument("--strategy", default="", help="strategy of the crawl [default: the default of topicrawl]")
    parser.add_argument("--keep", action="store_true", help="keep the collections in out/trial/crawls")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    if options.phrase and not options.topic:
        parser.error("--phrase needs --topic")
    return options


def main() -> None:
    """Prepare the manuals, run the trials and print the results."""
    options = parse_options()
    # Without a handler, SIGTERM would end this process and leave the crawl behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    topics = [TOPICS[options.topic]] if options.topic else list(TOPICS.values())
    results = []
    try:
        manuals, skipped = prepare_manuals(SOURCES, OUT / "manuals")
        for package, reason in skipped.items():
            print(f"skipped {package}: {reason}", file=sys.stderr)
        with ManualServer(manuals) as server:
            for topic in topics:
                results.append(run_trial(topic, server, options, crawls=OUT / "crawls"))
                if not options.json:
                    print(format_result(results[-1]), flush=True)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except TrialError as error:
        print(error, file=sys.stderr)
        sys.exit(CANNOT_RUN)
    if options.json:
        print(json.dumps({"skipped": skipped, "topics": [result.to_dict() for result in results]}, indent=2))
    sys.exit(0 if all(all(result.score.check_goals().values()) for result in results) else 1)


if __name__ == "__main__":
    main()
