"""The six topics of Batsakis 2007 (section 4.3, figure 11), to repeat its experiments on.

The thesis gave each crawler the topic's own words, one page of the Yahoo directory to start from, and 1,000 pages; 50
pages judged relevant measured what came home. For two topics the start was the directory's page on the topic, for four
a page far above it. That directory is gone. The seeds here are categories of Wikipedia that stand as near or as far.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from topicrawl.errors import TopicError
from topicrawl.topic import Topic

_WIKIPEDIA = "https://en.wikipedia.org/wiki/Category:"
_YAHOO = "http://dir.yahoo.com/"


@dataclass(frozen=True, slots=True)
class Preset:
    """A topic of the thesis."""

    name: str
    began: str  # where the thesis began
    seed: str  # where to begin today

    def topic(self) -> Topic:
        """The topic in the words of the thesis.

        >>> dict(preset("first aid").topic().words)
        {'first': 1.0, 'aid': 1.0}
        """
        return replace(Topic.of(self.name), origin=f"preset {self.name!r}: Batsakis 2007, figure 11; seed: {self.seed}")


PRESETS = (
    Preset(
        "linux",
        f"{_YAHOO}Computers_and_Internet/Software/Operating_Systems/UNIX/Linux",
        f"{_WIKIPEDIA}Linux",
    ),
    Preset("asthma", f"{_YAHOO}Health/Diseases_and_Conditions/Asthma/", f"{_WIKIPEDIA}Asthma"),
    Preset("robotics", f"{_YAHOO}Science/Computer_Science/", f"{_WIKIPEDIA}Computer_science"),
    Preset("dengue fever", "http://health.yahoo.com/", f"{_WIKIPEDIA}Health"),
    Preset("java programming", f"{_YAHOO}Computers_and_Internet/", f"{_WIKIPEDIA}Computing"),
    Preset("first aid", f"{_YAHOO}Health/", f"{_WIKIPEDIA}Health"),
)


def preset(name: str) -> Preset:
    """The preset of a name, whatever its case and its blanks; an unknown one names the nearest.

    >>> preset("Dengue-Fever").seed
    'https://en.wikipedia.org/wiki/Category:Health'
    """
    wanted = " ".join(name.lower().replace("-", " ").replace("_", " ").split())
    named = {item.name: item for item in PRESETS}
    if wanted in named:
        return named[wanted]
    near = difflib.get_close_matches(wanted, named, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(named)}"
    raise TopicError(f"no preset is called {name!r}; {hint}")
