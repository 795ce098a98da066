"""What a crawl knows of itself: topic, settings, what was learned, what engines and readers told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

from topicrawl import strategies
from topicrawl import topic as topics
from topicrawl.collection.facts import gathered, is_further
from topicrawl.collection.store import Store
from topicrawl.database import Database, Lock, errors_of
from topicrawl.doctor.databases import AREA, count
from topicrawl.doctor.finding import Finding
from topicrawl.errors import TopicrawlError
from topicrawl.frontier.monotony import Monotony
from topicrawl.plan import identity, same
from topicrawl.records import Carry
from topicrawl.relevance.tongues import Tongues
from topicrawl.seeds.found import read_found
from topicrawl.settings import Settings, known_settings
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic

#: What a `restore` may make of a state that is not one.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, TopicrawlError)
_LINES = ("told.jsonl", "feedback.jsonl")


def facts(store: Database) -> dict[str, Any]:
    """What is written down about the crawl; what does not parse is left out."""
    with errors_of(store.path):
        rows = {str(name): str(value) for name, value in store.execute("SELECT name, value FROM facts")}
    found: dict[str, Any] = {}
    for name in rows:
        if not is_further(name):
            with suppress(ValueError, RecursionError):
                found[name] = gathered(name, rows.get)
    return found


def stored_settings(known: Mapping[str, Any]) -> Settings:
    """The settings of the last run; a setting that this version does not know is left out."""
    table = known.get("settings")
    kept = {name: value for name, value in (table or {}).items() if name in known_settings()}
    values: dict[str, Any] = {it: tuple(value) if isinstance(value, list) else value for it, value in kept.items()}
    return Settings(**values)


def memory(directory: Path, store: Database, known: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the crawl could be taken up by what it has written down."""
    topic = settings = None
    try:
        topic = topics.load(directory / "topic.toml")
    except TopicrawlError as error:
        yield AREA.problem("topic.toml", str(error), "mend the file, or bring it back from a backup")
    try:
        settings = stored_settings(known)
    except (TopicrawlError, TypeError) as error:
        fix = "start `topicrawl` where the crawl's own modules are, or name what is refused anew as an option"
        yield AREA.problem("settings", f"of the last run cannot be used: {error}", fix)
    if topic is not None and settings is not None:
        yield from _identity(directory, known, topic, settings)
        yield from _learned(store, known, topic, settings)
    yield from _files(directory)


def _identity(directory: Path, known: Mapping[str, Any], topic: Topic, settings: Settings) -> Iterator[Finding]:
    try:
        same(directory, known.get("identity"), identity(topic, settings))
    except TopicrawlError as error:
        says = f"topic.toml is not what the crawl began with: {str(error).partition(': ')[2]}"
        yield AREA.problem("topic.toml", says.partition("; name another")[0], "put its words back as they were")
        return
    yield AREA.ok("topic.toml", f"{topic.name!r}, by {settings.strategy}")


def _learned(store: Database, known: Mapping[str, Any], topic: Topic, settings: Settings) -> Iterator[Finding]:
    last, learned = count(store, "SELECT max(step) FROM visits"), known.get("learned")
    if not isinstance(learned, dict):
        if count(store, "SELECT count(*) FROM facts WHERE name = 'learned' AND value != 'null'"):
            yield _lost(store, "it is torn, or a part of it is missing")
        elif last:
            yield AREA.note("learned", "nothing was written down yet", "nothing: it is learned again from the pages")
        return
    try:
        strategy = strategies.make(settings.strategy)
        strategy.begin(Setting(topic, Tongues(topic), Random(0)))
        strategy.restore(cast(Carry, learned.get("strategy")))
        if learned.get("monotony"):
            Monotony().restore(learned["monotony"])
    except _UNREADABLE as error:
        yield _lost(store, f"{type(error).__name__}: {error}")
        return
    step = learned.get("step", 0)
    behind = f"; {last - step} visits since are learned from again" if step < last else ""
    yield AREA.ok("learned", f"{settings.strategy} takes up what it knew after visit {step}{behind}")


def _lost(store: Database, why: str) -> Finding:
    fix = "bring topicrawl.sqlite back from a backup, or --repair: it is learned again from the pages"
    found = AREA.problem("learned", f"what was learned cannot be taken up: {why}", fix)
    return found._replace(repair=partial(_forget, store.path.parent))


def _forget(directory: Path) -> None:
    """Take away what cannot be read; the next run learns from the pages."""
    lock = Lock(directory / "lock", directory)
    try:
        store = Store(directory / "topicrawl.sqlite")
        store.set_facts({"learned": None})
        store.close()
    finally:
        lock.release()


def _files(directory: Path) -> Iterator[Finding]:
    """Files that are written beside the databases: whole lines, whole tables."""
    for name in _LINES:
        path = directory / name
        if path.exists():
            lines = path.read_bytes().split(b"\n")
            torn = sum(1 for line in lines if line.strip() and _parsed(line) is None)
            fix = "nothing: such lines are passed over"
            yield AREA.note(name, f"{torn} torn lines", fix) if torn else AREA.ok(name, f"{len(lines) - 1} lines")
    path = directory / "seeds.json"
    if path.exists():
        try:
            read_found(path.read_text("utf-8", "replace"), str(path))
            yield AREA.ok("seeds.json", "readable")
        except TopicrawlError as error:
            yield AREA.problem("seeds.json", str(error), "remove it: only what engines said of pages is lost")


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
