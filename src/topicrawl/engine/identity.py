"""Identity of a crawl: the topic words, strategy, judge and embedding with which its directory can be resumed."""

from __future__ import annotations

from pathlib import Path

from topicrawl.errors import IdentityError
from topicrawl.models import JsonValue
from topicrawl.settings import Settings
from topicrawl.text.embedding import BUILT_IN
from topicrawl.topic import Topic


def build_identity(topic: Topic, settings: Settings) -> dict[str, JsonValue]:
    """Return the topic words, strategy, judge and embedding of a crawl.

    A directory can only be resumed with the same values. The built-in embedding is left out, as in crawls of versions
    without this setting.
    """
    words: dict[str, JsonValue] = {"words": dict(topic.words)}
    for language, translated in topic.translations.items():
        words[f"words in {language}"] = dict(translated)
    # Version 0.1 stored no judge if it was the cosine similarity.
    judge: dict[str, JsonValue] = {} if settings.has_cosine_judge else {"judge": settings.judge}
    embedding: dict[str, JsonValue] = {} if settings.embedding == BUILT_IN else {"embedding": settings.embedding}
    return {**words, "strategy": settings.strategy, **judge, **embedding}


def check_identity(directory: Path, stored: JsonValue, requested: JsonValue) -> None:
    """Raise `IdentityError` if the stored identity of a crawl differs from the requested one."""
    if not isinstance(stored, dict) or not isinstance(requested, dict):
        return
    for name in dict.fromkeys((*requested, *stored)):
        if stored.get(name) != requested.get(name):
            default = BUILT_IN if name == "embedding" else None
            before, now = (_format_identity_value(table.get(name, default)) for table in (stored, requested))
            difference = f"{before}, not {now}"
            raise IdentityError(
                f"{directory} contains a crawl with another {name}: {difference}; choose another directory with --out",
                difference,
            )


def _format_identity_value(value: JsonValue) -> str:
    """Format one value of the identity for an error message. Word weights of 1 are omitted."""
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    return " ".join(word if weight == 1.0 else f"{word}={weight}" for word, weight in value.items())
