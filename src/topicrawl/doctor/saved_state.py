"""Checks of the saved state of a crawl: topic, settings, learned state, search engine cache and feedback."""

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
from topicrawl.collection.fact_rows import is_overflow_row, join_fact
from topicrawl.database import Database, translate_errors
from topicrawl.doctor.databases import AREA, query_count, set_fact
from topicrawl.doctor.finding import Finding
from topicrawl.engine.checkpoint import restore_link_rules
from topicrawl.engine.identity import build_identity, check_identity
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.errors import IdentityError, PluginError, TopicrawlError
from topicrawl.frontier.domain_monitor import DomainMonitor
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.models import JsonValue
from topicrawl.relevance.base import LearnsFromPages
from topicrawl.relevance.judges import create_judge
from topicrawl.relevance.multilingual import MultilingualVsm
from topicrawl.seeds.election import parse_election_result
from topicrawl.settings import Settings, parse_stored_settings
from topicrawl.strategies.base import StrategyContext
from topicrawl.text.embedding import load_vector_source
from topicrawl.text.term_vectors import VectorSource
from topicrawl.topic import Topic

#: Errors that `restore_state` may raise for an invalid state.
_RESTORE_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, TopicrawlError)
_JSON_LINES_FILES = ("engine-answers.jsonl", "told.jsonl", "feedback.jsonl")


def load_facts(store: Database) -> dict[str, Any]:
    """Load the facts of the store; skip facts with invalid JSON."""
    with translate_errors(store.path):
        rows = {str(name): str(value) for name, value in store.execute("SELECT name, value FROM facts")}
    values: dict[str, Any] = {}
    for name in rows:
        if not is_overflow_row(name):
            with suppress(ValueError, RecursionError):
                values[name] = join_fact(name, rows.get)
    return values


def check_saved_state(directory: Path, store: Database, known: Mapping[str, Any]) -> Iterator[Finding]:
    """Check whether the crawl can be resumed from its saved state. `known` contains the facts of the store."""
    topic = settings = vector_source = None
    try:
        topic = topics.load_topic(directory / "topic.toml")
    except TopicrawlError as error:
        yield AREA.problem("topic.toml", str(error), "correct the file, or restore it from a backup")
    try:
        settings = parse_stored_settings(known.get("settings") or {})
        vector_source = load_vector_source(settings.embedding)
    except (TopicrawlError, TypeError) as error:
        fix = "run `topicrawl` in the directory of the plugin modules, or give the invalid settings as options"
        yield AREA.problem("settings", f"the settings of the last run are invalid: {error}", fix)
    if topic is not None and settings is not None and vector_source is not None:
        yield from _check_identity(directory, known, topic, settings)
        yield from _check_learned_state(store, known, topic, settings, vector_source=vector_source)
    yield from _check_files(directory)


def _check_identity(directory: Path, known: Mapping[str, Any], topic: Topic, settings: Settings) -> Iterator[Finding]:
    try:
        check_identity(directory, known.get("identity"), build_identity(topic, settings))
    except IdentityError as error:
        says = f"the topic has changed since the crawl started: {error.difference}"
        yield AREA.problem("topic.toml", says, "restore the original words")
        return
    yield AREA.ok("topic.toml", f"{topic.name!r}, strategy {settings.strategy}")


def _check_learned_state(
    store: Database,
    known: Mapping[str, Any],
    topic: Topic,
    settings: Settings,
    *,
    vector_source: VectorSource,
) -> Iterator[Finding]:
    """Check that the strategy, the relevance model and the rules for traps and domains can restore their state."""
    last, learned = query_count(store, "SELECT max(step) FROM visits"), known.get("learned")
    if not isinstance(learned, dict):
        if query_count(store, "SELECT count(*) FROM facts WHERE name = 'learned' AND value != 'null'"):
            yield _report_unreadable_state(store, "it is damaged or incomplete")
        elif last:
            says = "no learned state is saved yet"
            yield AREA.note("learned", says, "nothing: the crawl learns from the pages again when it resumes")
        return
    try:
        strategy = strategies.create_strategy(settings.strategy)
        vsm = MultilingualVsm(topic, vector_source=vector_source)
        strategy.bind(StrategyContext(topic, vsm, Random(0)))
        strategy.restore_state(cast(JsonValue, learned.get("strategy")))
        judge = create_judge(settings.judge, vsm) if settings.has_built_in_judge else None
        if isinstance(judge, LearnsFromPages):
            judge.restore_state(cast(JsonValue, learned.get("judge")))
        restore_link_rules(LinkFilter(trap_detector=TrapDetector(), domain_monitor=DomainMonitor()), learned)
    except PluginError as error:
        yield AREA.problem("learned", f"the learned state cannot be checked: {error}", "correct the plugin")
        return
    except _RESTORE_ERRORS as error:
        yield _report_unreadable_state(store, f"{type(error).__name__}: {error}")
        return
    step = learned.get("step", 0)
    behind = f"; it learns from {last - step} later visits again" if step < last else ""
    yield AREA.ok("learned", f"{settings.strategy} can resume from its state after visit {step}{behind}")


def _report_unreadable_state(store: Database, reason: str) -> Finding:
    """Return the finding about a learned state that cannot be restored, with its repair."""
    fix = "restore topicrawl.sqlite from a backup, or use --repair: the crawl learns from the pages again"
    finding = AREA.problem("learned", f"the learned state cannot be restored: {reason}", fix)
    return finding._replace(repair=partial(set_fact, store.path.parent, "learned", None))


def _check_files(directory: Path) -> Iterator[Finding]:
    """Check the JSON files next to the databases."""
    for name in _JSON_LINES_FILES:
        path = directory / name
        if path.exists():
            lines = path.read_bytes().split(b"\n")
            damaged = sum(1 for line in lines if line.strip() and _parse_json(line) is None)
            if damaged:
                yield AREA.note(name, f"{damaged} damaged lines", "nothing: the crawler ignores them")
            else:
                yield AREA.ok(name, f"{len(lines) - 1} lines")
    path = directory / "seeds.json"
    if path.exists():
        try:
            parse_election_result(path.read_text("utf-8", "replace"), str(path))
            yield AREA.ok("seeds.json", "readable")
        except TopicrawlError as error:
            yield AREA.problem("seeds.json", str(error), "remove it: only the results of the search engines are lost")


def _parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
