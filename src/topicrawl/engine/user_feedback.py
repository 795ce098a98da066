"""User feedback on link scores: annotations of pages, boosts of hosts and added words.

For every strategy, the score of a link increases when similar pages were annotated as relevant: pages in the same
directory, on the same host, linked from the same page, or with the same words in their anchor texts and URLs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from topicrawl.models import Link
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.urls import get_host

#: Kind of evidence → weight, and number of annotations that give half of the weight.
EVIDENCE_WEIGHTS = {"directory": (0.9, 1.0), "host": (0.5, 3.0), "page": (0.6, 2.0), "word": (0.8, 1.5)}
MAX_GAIN = 0.3  # added to the score of a link with the preference 1
MAX_LOSS = 0.9  # fraction of the score subtracted from a link with the preference -1
_MAX_WORDS = 4  # number of words of a link that count, those with the strongest evidence
_MAX_REMEMBERED = 500_000  # maximum number of links whose preference is stored
_UNINFORMATIVE_WORDS = frozenset(
    {"htm", "html", "php", "asp", "aspx", "jsp", "index", "default", "www", "com", "org", "net"}
)


@dataclass
class UserFeedback:
    """Preferences for links, from -1 (unwanted) to 1 (wanted); 0 without any evidence.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> guide = UserFeedback(load_lexicon("en"))
    >>> guide.add_annotation(Link("http://a.example/owls/1", "http://a.example/", "Barn owls"), relevant=True)
    >>> round(guide.preference(Link("http://a.example/owls/2", anchor="More owls")), 3)
    0.735
    >>> guide.preference(Link("http://b.example/trains", anchor="Steam"))
    0.0
    """

    lexicon: LanguageLexicon
    topic_words: frozenset[str] = frozenset()  # topic words: they carry no evidence, even on irrelevant pages
    boosts: dict[str, float] = field(default_factory=dict)  # host → boost from -1 to 1
    words: dict[str, float] = field(default_factory=dict)  # added word → weight
    _counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # feature → [relevant, irrelevant]
    _applied_preferences: dict[str, float] = field(default_factory=dict)  # URL → preference that its score includes

    def __post_init__(self) -> None:
        self._topic_stems = frozenset(map(self.lexicon.stem, self.topic_words))

    def __bool__(self) -> bool:
        return bool(self._counts or self.boosts or self.words)

    def take_snapshot(self) -> UserFeedback:
        """Return a copy of the current feedback, without the remembered preferences of links."""
        return UserFeedback(self.lexicon, self.topic_words, dict(self.boosts), dict(self.words), deepcopy(self._counts))

    def add_annotation(self, link: Link, *, relevant: bool, title: str = "", count: int = 1) -> None:
        """Add the annotation of the page that a link leads to. A `count` of -1 removes an earlier annotation."""
        features = [*self._extract_features(link), ("page", link.url)]
        features += [("word", word) for word in _tokenise_text(title)]
        for feature in dict.fromkeys(features):
            if feature[0] == "word" and not self._is_informative(feature[1]):
                continue
            counts = self._counts.setdefault(feature, [0, 0])
            counts[not relevant] += count
            if not any(counts):
                del self._counts[feature]

    def _is_informative(self, word: str) -> bool:
        """Return whether a word of an anchor text, URL or title can be evidence about a page."""
        stem = "".join(self.lexicon.extract_terms([word]))
        return bool(stem) and word not in _UNINFORMATIVE_WORDS and stem not in self._topic_stems

    def preference(self, link: Link) -> float:
        """Return the preference for a link: the sum of its evidence, limited to -1 … 1."""
        if not self:
            return 0.0
        total = sum((value for _, value in self.explain_preference(link)), 0.0)
        return max(-1.0, min(1.0, total))

    def explain_preference(self, link: Link) -> list[tuple[str, float]]:
        """Return the named components of a preference, such as ("annotations of the same directory", 0.45)."""
        components: list[tuple[str, float]] = []
        words: list[tuple[float, str]] = []
        for kind, name in dict.fromkeys(self._extract_features(link)):
            if kind == "word" and name in self.words:
                components.append((f"your word “{name}”", min(1.0, 0.5 * self.words[name])))
            counts = self._counts.get((kind, name))
            if counts is None:
                continue
            weight, half_count = EVIDENCE_WEIGHTS[kind]
            value = weight * (counts[0] - counts[1]) / (counts[0] + counts[1] + half_count)
            if kind == "word":
                words.append((value, name))
            elif value:
                components.append((f"annotations of the same {kind}", value))
        words.sort(key=lambda pair: -abs(pair[0]))
        components += [
            (f"annotations of pages with “{name}”", value / 2) for value, name in words[:_MAX_WORDS] if value
        ]
        if boost := self.boosts.get(get_host(link.url)):
            components.append(("your boost of this host", boost))
        return components

    def adjust_score(self, link: Link, score: float) -> float:
        """Return the score of the strategy adjusted by the preference for the link, and remember the preference.

        `adjust_rescored` later uses the remembered preference.
        """
        preference = self.preference(link)
        if not preference:
            self._applied_preferences.pop(link.url, None)
        elif len(self._applied_preferences) < _MAX_REMEMBERED:
            self._applied_preferences[link.url] = preference
        return apply_preference(score, preference)

    def adjust_rescored(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Adjust scores that a strategy has recomputed by the remembered preferences of their links."""
        preferences = self._applied_preferences
        return {url: apply_preference(score, preferences.get(url, 0.0)) for url, score in scores.items()}

    def update_score(self, link: Link, score: float, before: UserFeedback) -> float:
        """Return the current score of a waiting link whose score includes the preference of the snapshot `before`."""
        return self.adjust_score(link, remove_preference(score, before.preference(link)))

    def _extract_features(self, link: Link) -> Iterator[tuple[str, str]]:
        """Yield the features of a link by which it resembles others: host, directory, source page, words."""
        url = link.url
        yield "host", get_host(url)
        yield "directory", url.partition("?")[0].rpartition("/")[0]
        if link.source:
            yield "page", link.source
        for word in _tokenise_text(f"{link.anchor} {url.partition('://')[2].partition('/')[2]}"):
            yield "word", word


def _tokenise_text(text: str) -> list[str]:
    return [word for word in tokenise(text[:2000]) if len(word) > 2 and not word.isdecimal()]


def apply_preference(score: float, preference: float) -> float:
    """Return a score adjusted by a preference from -1 to 1. The negative scores of suspected traps do not change.

    >>> [round(apply_preference(0.5, opinion), 3) for opinion in (1.0, 0.0, -1.0)], apply_preference(-1.5, 1.0)
    ([0.8, 0.5, 0.05], -1.5)
    """
    if score < 0 or not preference:
        return score  # negative scores belong to suspected traps, which feedback does not change
    return score + MAX_GAIN * preference if preference > 0 else score * (1 + MAX_LOSS * preference)


def remove_preference(score: float, preference: float) -> float:
    """Return the original score for a score adjusted by `apply_preference`.

    >>> [round(remove_preference(apply_preference(0.5, opinion), opinion), 3) for opinion in (1.0, -0.5)]
    [0.5, 0.5]
    """
    if score < 0 or not preference:
        return score
    return max(0.0, score - MAX_GAIN * preference) if preference > 0 else score / (1 + MAX_LOSS * preference)
