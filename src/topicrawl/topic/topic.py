"""A topic as a value, and as the text of its file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from topicrawl.errors import TopicError
from topicrawl.text.lexicon import Lexicon, lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic.filter import HEAVIEST, SIZES, Filter, Thresholds

# What a comment in TOML must not hold: control characters, and the halves of characters.
_NO_COMMENT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a crawl looks for.

    >>> topic = Topic.of("Dengue fever, dengue")
    >>> topic.name, dict(topic.words)
    ('Dengue fever, dengue', {'dengue': 2.0, 'fever': 1.0})
    """

    name: str
    words: Mapping[str, float]
    relevant: tuple[str, ...] = ()  # URLs of example pages on the topic
    irrelevant: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    threshold: float = -1.0  # similarity from which a page counts as relevant; below 0: the usual one
    origin: str = field(default="words on the command line", compare=False)
    filter: Filter = field(default_factory=Filter)
    thresholds: Thresholds = field(default_factory=Thresholds)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)  # part of the file → where it came from
    translations: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # language → its own words

    def __post_init__(self) -> None:
        if not self.words:
            raise TopicError(f'the topic {self.name!r} has no words: name it in words, for example "dengue fever"')
        for language in self.translations:
            if language not in self.languages:
                raise TopicError(f"there are words in {language!r}, but the languages are {', '.join(self.languages)}")
            if not self.translations[language]:
                raise TopicError(f"words.{language} is empty: write words into it, or leave it out")
        for word, weight in self._weighted():
            if not 0 < weight <= HEAVIEST:
                raise TopicError(f"the weight of {word!r} is {weight}: weights are numbers above 0, up to {HEAVIEST:g}")
        texts = (self.name, *self.all_words, *(text for part in SIZES for text in self.filter.part(part)))
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            raise TopicError("the topic is not valid text: write it in UTF-8")
        if self.threshold == -1.0:
            object.__setattr__(self, "threshold", usual_threshold(len(self.words)))
        if not 0 <= self.threshold <= 1:
            raise TopicError(f"threshold is {self.threshold}: it must be from 0 to 1")

    @classmethod
    def of(cls, phrase: str) -> Topic:
        """A topic from plain words; a word said twice weighs twice."""
        weights: dict[str, float] = {}
        for word in tokenise(phrase):
            weights[word] = weights.get(word, 0.0) + 1.0
        return cls(name=" ".join(phrase.split()), words=weights)

    def _weighted(self) -> Iterator[tuple[str, float]]:
        for words in (self.words, *self.translations.values()):
            yield from words.items()

    @property
    def all_words(self) -> dict[str, float]:
        """The words of all languages."""
        return dict(self._weighted())

    def said_in(self, language: str) -> Topic:
        """The topic in one language: with its words there, or the topic's first ones where it has none.

        >>> topic = Topic("owls", {"owl": 1.0}, languages=("en", "de", "it"), translations={"de": {"eule": 1.0}})
        >>> [list(topic.said_in(language).words) for language in ("en", "de", "it")]
        [['owl'], ['eule'], ['owl']]
        """
        return self.with_words(self.translations.get(language, self.words), (language,))

    def with_words(self, words: Mapping[str, float], languages: tuple[str, ...] = ()) -> Topic:
        """The topic with other words, and those alone."""
        return replace(self, words=words, languages=languages or self.languages, translations={}, filter=Filter())

    @property
    def lexicon(self) -> Lexicon:
        return lexicon(self.languages[0] if self.languages else "en")

    @property
    def own(self) -> frozenset[str]:
        """The tokens of the topic's words: whatever they are, for this topic they are no stop words.

        >>> sorted(Topic.of("The Who").own)
        ['the', 'who']
        """
        return frozenset(token for word in self.words for token in tokenise(word))

    def with_examples(self, relevant: Iterable[str], irrelevant: Iterable[str]) -> Topic:
        return replace(self, relevant=(*self.relevant, *relevant), irrelevant=(*self.irrelevant, *irrelevant))

    def toml(self) -> str:
        """The topic as the text of a `topic.toml`."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"# {_comment(self.origin)}"
        yield f"name = {_quoted(self.name)}"
        yield f"languages = [{', '.join(map(_quoted, self.languages))}]"
        yield from self._note("threshold")
        yield f"threshold = {self.threshold!r}"
        yield from self._section("words", self.words)
        for language, words in self.translations.items():
            yield from self._section(f"words.{language}", words)
        for name in SIZES:
            if elements := self.filter.part(name):
                yield from self._section(f"filter.{name}", elements)
        if values := self.thresholds.set():
            yield from self._section("thresholds", values)
        yield from ("", *self._note("examples"), "[examples]")
        for name, urls in (("relevant", self.relevant), ("irrelevant", self.irrelevant)):
            listed = [f"{_quoted(url)}," for url in urls]
            # One a line as soon as there are several, so that a line can be taken out.
            yield from (
                (f"{name} = [", *(f"    {url}" for url in listed), "]")
                if len(listed) > 2
                else (f"{name} = [{' '.join(listed).removesuffix(',')}]",)
            )

    def _section(self, name: str, values: Mapping[str, float]) -> Iterator[str]:
        yield from ("", *self._note(name), f"[{name}]")
        yield from (f"{_key(key)} = {float(value)!r}" for key, value in values.items())

    def _note(self, name: str) -> Iterator[str]:
        if note := _comment(self.notes.get(name, "")):
            yield f"# {note}"


def usual_threshold(words: int) -> float:
    """The similarity from which a page counts as relevant, for a topic of so many words.

    A page says only some of a topic's words, so its cosine falls with their number. On eleven topics of six to nine
    words in an encyclopedia the best divides lay between .02 and .18, most of them near .07.

    >>> [usual_threshold(n) for n in (1, 2, 8)]
    [0.22, 0.16, 0.08]
    """
    return round(0.22 / math.sqrt(max(1, words)), 2)


def _comment(text: str) -> str:
    """A text in one line that a comment may hold."""
    return " ".join(_NO_COMMENT.sub(" ", text).split())


def _key(text: str) -> str:
    """
    >>> _key("fever"), _key("dengue fever")
    ('fever', '"dengue fever"')
    """
    return text if _BARE.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    # TOML's basic strings and JSON's strings agree, but for the one escape that JSON leaves out.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
