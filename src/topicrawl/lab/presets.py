"""Topic presets: the six topics of Batsakis 2007 (section 4.3, figure 11), to repeat its experiments.

In the thesis, each crawler starts with the words of the topic and one page of the Yahoo directory, and fetches 1,000
pages. The result is measured with 50 pages judged relevant. The seed is the directory page of the topic for two topics
and a page far above it for the other four. The Yahoo directory no longer exists. The seeds here are Wikipedia
categories at a similar distance from the topic.

`LIMITS` are the limits of the crawls of the thesis (section 3.1): 1,000 pages of at most 100 KB, only HTML. Links come
from the pages alone, not from sitemaps.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from topicrawl.errors import TopicError
from topicrawl.topic import Topic

#: Settings of a crawl with the limits of the thesis.
LIMITS: dict[str, int | bool] = {"pages": 1000, "max_bytes": 100 * 1024, "documents": False, "sitemaps": False}
_WIKIPEDIA = "https://en.wikipedia.org/wiki/Category:"
_YAHOO = "http://dir.yahoo.com/"


@dataclass(frozen=True, slots=True)
class TopicPreset:
    """Topic of Batsakis 2007 (figure 11), with its seed in the thesis and the seed that replaces it today."""

    name: str
    original_seed: str  # seed in the thesis
    seed: str  # seed today

    def build_topic(self) -> Topic:
        """Return the topic with the words of the thesis.

        >>> dict(get_preset("first aid").build_topic().words)
        {'first': 1.0, 'aid': 1.0}
        """
        return replace(Topic.of(self.name), origin=f"preset {self.name!r}: Batsakis 2007, figure 11; seed: {self.seed}")


PRESETS = (
    TopicPreset(
        "linux",
        f"{_YAHOO}Computers_and_Internet/Software/Operating_Systems/UNIX/Linux",
        f"{_WIKIPEDIA}Linux",
    ),
    TopicPreset("asthma", f"{_YAHOO}Health/Diseases_and_Conditions/Asthma/", f"{_WIKIPEDIA}Asthma"),
    TopicPreset("robotics", f"{_YAHOO}Science/Computer_Science/", f"{_WIKIPEDIA}Computer_science"),
    TopicPreset("dengue fever", "http://health.yahoo.com/", f"{_WIKIPEDIA}Health"),
    TopicPreset("java programming", f"{_YAHOO}Computers_and_Internet/", f"{_WIKIPEDIA}Computing"),
    TopicPreset("first aid", f"{_YAHOO}Health/", f"{_WIKIPEDIA}Health"),
)


def format_limits() -> str:
    """Return the limits of the thesis as a settings file.

    >>> print(format_limits().splitlines()[1])
    pages = 1000
    """
    lines = [f"{name} = {str(value).lower()}" for name, value in LIMITS.items()]
    return (
        "\n".join(("# Limits of the crawls of Batsakis 2007: 1,000 pages of at most 100 KB, only HTML.", *lines)) + "\n"
    )


def get_preset(name: str) -> TopicPreset:
    """Return a preset by name, ignoring case, hyphens and underscores. The error for an unknown name suggests one.

    >>> get_preset("Dengue-Fever").seed
    'https://en.wikipedia.org/wiki/Category:Health'
    """
    normalized = " ".join(name.lower().replace("-", " ").replace("_", " ").split())
    presets_by_name = {item.name: item for item in PRESETS}
    if normalized in presets_by_name:
        return presets_by_name[normalized]
    close_matches = difflib.get_close_matches(normalized, presets_by_name, 1)
    hint = f"did you mean {close_matches[0]!r}?" if close_matches else f"presets are {', '.join(presets_by_name)}"
    raise TopicError(f"there is no preset {name!r}; {hint}")
