"""The settings that a crawl directory stores for the next run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.store import CollectionStore
from topicrawl.frontier.redis.address import strip_password
from topicrawl.models import JsonValue
from topicrawl.settings import Settings, parse_stored_settings
from topicrawl.topic import Topic


def serialize_settings(settings: Settings) -> dict[str, JsonValue]:
    """Return the settings as JSON values, with passwords removed from the URLs."""
    values = {item.name: getattr(settings, item.name) for item in dataclasses.fields(settings)}
    # Other users may read the stored settings.
    values |= {name: strip_password(values[name]) for name in ("frontier", "proxy", "searxng")}
    values["hosts"] = settings.export_hosts()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def load_topic_and_settings(directory: Path, overrides: Mapping[str, object]) -> tuple[Topic, Settings]:
    """Load the topic and the settings of the crawl in a directory. Settings in `overrides` take precedence."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        stored = store.get_fact("settings")
    finally:
        store.close()
    return load_crawl_topic(directory), parse_stored_settings(stored if isinstance(stored, dict) else {}, overrides)
