"""What people add to the score of a link: verdicts on pages that were found, wishes for hosts, words they added.

Whatever the strategy, a link gains when pages like the one it leads to were called relevant: pages of the same
directory, of the same host, behind links of the same page, with the same words in their anchors and addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from topicrawl.records import Link
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.urls import host

#: Kinds of evidence: how much it counts, and how many verdicts it takes to be half believed.
KINDS = {"directory": (0.9, 1.0), "host": (0.5, 3.0), "page": (0.6, 2.0), "word": (0.8, 1.5)}
GAIN = 0.3  # added to the score of a link that people surely want
LOSS = 0.9  # of the score is taken from one that they surely do not want
_WORDS = 4  # of a link that are listened to, those with most to say
_REMEMBERED = 500_000  # links
_EVERYWHERE = frozenset({"htm", "html", "php", "asp", "aspx", "jsp", "index", "default", "www", "com", "org", "net"})


@dataclass
class Guidance:
    """Opinions on links, from -1 (no) to 1 (yes); 0 where nobody has said anything that bears on it.

    >>> from topicrawl.text.lexicon import lexicon
    >>> guide = Guidance(lexicon("en"))
    >>> guide.judge(Link("http://a.example/owls/1", "http://a.example/", "Barn owls"), relevant=True)
    >>> round(guide.opinion(Link("http://a.example/owls/2", anchor="More owls")), 3)
    0.735
    >>> guide.opinion(Link("http://b.example/trains", anchor="Steam"))
    0.0
    """

    lexicon: Lexicon
    own: frozenset[str] = frozenset()  # the topic's words: a bad page that has them says nothing against them
    boosts: dict[str, float] = field(default_factory=dict)  # host → from -1 to 1
    words: dict[str, float] = field(default_factory=dict)  # word that was added → weight
    _counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # trait → verdicts yes, no
    _given: dict[str, float] = field(default_factory=dict)  # address → the opinion that is in its score

    def __bool__(self) -> bool:
        return bool(self._counts or self.boosts or self.words)

    def copy(self) -> Guidance:
        """As it is now; what is learned later does not change it."""
        return Guidance(self.lexicon, self.own, dict(self.boosts), dict(self.words), deepcopy(self._counts))

    def judge(self, link: Link, *, relevant: bool, title: str = "", count: int = 1) -> None:
        """A page that a link led to is relevant, or not; -1 as the `count` takes such a verdict back."""
        said = [*self._traits(link), ("page", link.url)]
        said += [("word", word) for word in _words(title)]
        for trait in dict.fromkeys(said):
            if trait[0] == "word" and not self._tells(trait[1]):
                continue
            counts = self._counts.setdefault(trait, [0, 0])
            counts[not relevant] += count
            if not any(counts):
                del self._counts[trait]

    def _tells(self, word: str) -> bool:
        """Whether a word of an anchor, address or title can say anything about a page."""
        stem = "".join(self.lexicon.terms([word]))
        return bool(stem) and word not in _EVERYWHERE and stem not in {self.lexicon.stem(it) for it in self.own}

    def opinion(self, link: Link) -> float:
        """What all that was said comes to for a link."""
        if not self:
            return 0.0
        total = sum((value for _, value in self.reasons(link)), 0.0)
        return max(-1.0, min(1.0, total))

    def reasons(self, link: Link) -> list[tuple[str, float]]:
        """What an opinion is made of, for people: ("directory /owls/", 0.45)."""
        found: list[tuple[str, float]] = []
        words: list[tuple[float, str]] = []
        for kind, name in dict.fromkeys(self._traits(link)):
            if kind == "word" and name in self.words:
                found.append((f"your word “{name}”", min(1.0, 0.5 * self.words[name])))
            counts = self._counts.get((kind, name))
            if counts is None:
                continue
            weight, doubt = KINDS[kind]
            value = weight * (counts[0] - counts[1]) / (counts[0] + counts[1] + doubt)
            if kind == "word":
                words.append((value, name))
            elif value:
                found.append((f"verdicts on the same {kind}", value))
        words.sort(key=lambda pair: -abs(pair[0]))
        found += [(f"verdicts on pages with “{name}”", value / 2) for value, name in words[:_WORDS] if value]
        if boost := self.boosts.get(host(link.url)):
            found.append(("your wish for this host", boost))
        return found

    def applied(self, link: Link, score: float) -> float:
        """The score that a link gets instead of what its strategy gave it."""
        opinion = self.opinion(link)
        if not opinion:
            self._given.pop(link.url, None)
        elif len(self._given) < _REMEMBERED:
            self._given[link.url] = opinion
        return with_opinion(score, opinion)

    def again(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Scores that a strategy has revised, with the opinions on their links, which it knows nothing of."""
        given = self._given
        return {url: with_opinion(score, given.get(url, 0.0)) for url, score in scores.items()}

    def moved(self, link: Link, score: float, before: Guidance) -> float:
        """The score of a waiting link now, whose score holds the opinion of an earlier time."""
        return self.applied(link, without_opinion(score, before.opinion(link)))

    def _traits(self, link: Link) -> Iterator[tuple[str, str]]:
        url = link.url
        yield "host", host(url)
        yield "directory", url.partition("?")[0].rpartition("/")[0]
        if link.source:
            yield "page", link.source
        for word in _words(f"{link.anchor} {url.partition('://')[2].partition('/')[2]}"):
            yield "word", word


def _words(text: str) -> list[str]:
    return [word for word in tokenise(text[:2000]) if len(word) > 2 and not word.isdecimal()]


def with_opinion(score: float, opinion: float) -> float:
    """
    >>> [round(with_opinion(0.5, opinion), 3) for opinion in (1.0, 0.0, -1.0)], with_opinion(-1.5, 1.0)
    ([0.8, 0.5, 0.05], -1.5)
    """
    if score < 0 or not opinion:
        return score  # below 0 stand suspected traps, where nobody's wish counts
    return score + GAIN * opinion if opinion > 0 else score * (1 + LOSS * opinion)


def without_opinion(score: float, opinion: float) -> float:
    """
    >>> [round(without_opinion(with_opinion(0.5, opinion), opinion), 3) for opinion in (1.0, -0.5)]
    [0.5, 0.5]
    """
    if score < 0 or not opinion:
        return score
    return max(0.0, score - GAIN * opinion) if opinion > 0 else score / (1 + LOSS * opinion)
