"""The `Topic` record and its TOML format."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from topicrawl.errors import TopicError
from topicrawl.text.lexicon import LanguageLexicon, load_lexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic.filter import ELEMENT_SIZES, MAX_WEIGHT, Thresholds, TopicFilter

#: Relevance from which a page counts as relevant. The default relevance model returns probabilities.
DEFAULT_THRESHOLD = 0.5

# Characters that a TOML comment must not contain: control characters and surrogates.
_INVALID_COMMENT_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Topic:
    """Topic of a crawl.

    >>> topic = Topic.of("Dengue fever, dengue")
    >>> topic.name, dict(topic.words)
    ('Dengue fever, dengue', {'dengue': 2.0, 'fever': 1.0})
    """

    name: str
    words: Mapping[str, float]
    relevant: tuple[str, ...] = ()  # URLs of example pages on the topic
    irrelevant: tuple[str, ...] = ()  # URLs of example pages that are not on the topic
    languages: tuple[str, ...] = ("en",)
    threshold: float = DEFAULT_THRESHOLD  # relevance from which a page counts as relevant
    origin: str = field(default="words on the command line", compare=False)
    filter: TopicFilter = field(default_factory=TopicFilter)
    thresholds: Thresholds = field(default_factory=Thresholds)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)  # part of the file → where it came from
    translations: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # language → words in that language
    exclude: tuple[str, ...] = ()  # words that a crawl never adds to the topic

    def __post_init__(self) -> None:
        if not self.words:
            raise TopicError(f'the topic {self.name!r} has no words: give it some, for example "dengue fever"')
        for language in self.translations:
            if language not in self.languages:
                listed = ", ".join(self.languages)
                raise TopicError(f"words.{language}: {language!r} is not one of the languages ({listed}): add it there")
            if not self.translations[language]:
                raise TopicError(f"words.{language} is empty: add words or remove the table")
        for word, weight in self._iter_weights():
            if not 0 < weight <= MAX_WEIGHT:
                raise TopicError(
                    f"the weight of {word!r} is {weight}: weights are numbers above 0, up to {MAX_WEIGHT:g}"
                )
        texts = (
            self.name,
            *self.all_words,
            *(text for part in ELEMENT_SIZES for text in self.filter.get_elements(part)),
        )
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            raise TopicError("the topic contains invalid characters: write it in UTF-8")
        if not 0 <= self.threshold <= 1:
            raise TopicError(f"threshold is {self.threshold}: it must be from 0 to 1")

    @classmethod
    def of(cls, phrase: str) -> Topic:
        """Create a topic from plain words. A repeated word has a higher weight."""
        weights: dict[str, float] = {}
        for word in tokenise(phrase):
            weights[word] = weights.get(word, 0.0) + 1.0
        return cls(name=" ".join(phrase.split()), words=weights)

    def _iter_weights(self) -> Iterator[tuple[str, float]]:
        """Iterate over the words of all languages with their weights."""
        for words in (self.words, *self.translations.values()):
            yield from words.items()

    @property
    def all_words(self) -> dict[str, float]:
        """Words of all languages."""
        return dict(self._iter_weights())

    def for_language(self, language: str) -> Topic:
        """Return the topic in one language. Without words in that language, the main words are used.

        >>> topic = Topic("owls", {"owl": 1.0}, languages=("en", "de", "it"), translations={"de": {"eule": 1.0}})
        >>> [list(topic.for_language(language).words) for language in ("en", "de", "it")]
        [['owl'], ['eule'], ['owl']]
        """
        return self.with_words(self.translations.get(language, self.words), (language,))

    def with_words(self, words: Mapping[str, float], languages: tuple[str, ...] = ()) -> Topic:
        """Return the topic with only the given words, without translations and filter."""
        return replace(self, words=words, languages=languages or self.languages, translations={}, filter=TopicFilter())

    @property
    def similarity_threshold(self) -> float:
        """Cosine similarity from which the strategies of the papers count a page as relevant."""
        return compute_similarity_threshold(len(self.words))

    @property
    def lexicon(self) -> LanguageLexicon:
        """Lexicon of the topic's first language."""
        return load_lexicon(self.languages[0] if self.languages else "en")

    @property
    def tokens(self) -> frozenset[str]:
        """Tokens of the topic's words. They are never stop words for this topic.

        >>> sorted(Topic.of("The Who").tokens)
        ['the', 'who']
        """
        return frozenset(token for word in self.words for token in tokenise(word))

    def with_examples(self, relevant: Iterable[str], irrelevant: Iterable[str]) -> Topic:
        """Return the topic with additional example URLs."""
        return replace(self, relevant=(*self.relevant, *relevant), irrelevant=(*self.irrelevant, *irrelevant))

    def to_toml(self) -> str:
        """Return the topic as the text of a `topic.toml` file."""
        return "\n".join(self._iter_toml_lines()) + "\n"

    def _iter_toml_lines(self) -> Iterator[str]:
        yield f"# {_format_comment(self.origin)}"
        yield f"name = {_format_string(self.name)}"
        yield f"languages = [{', '.join(map(_format_string, self.languages))}]"
        yield from self._iter_note("threshold")
        yield f"threshold = {self.threshold!r}"
        if self.exclude:
            yield f"exclude = [{', '.join(map(_format_string, self.exclude))}]"
        yield from self._iter_section("words", self.words)
        for language, words in self.translations.items():
            yield from self._iter_section(f"words.{language}", words)
        for name in ELEMENT_SIZES:
            if elements := self.filter.get_elements(name):
                yield from self._iter_section(f"filter.{name}", elements)
        if values := self.thresholds.get_defined():
            yield from self._iter_section("thresholds", values)
        yield from ("", *self._iter_note("examples"), "[examples]")
        for name, urls in (("relevant", self.relevant), ("irrelevant", self.irrelevant)):
            listed = [f"{_format_string(url)}," for url in urls]
            # Three or more URLs are written one per line, so that the user can delete lines.
            yield from (
                (f"{name} = [", *(f"    {url}" for url in listed), "]")
                if len(listed) > 2
                else (f"{name} = [{' '.join(listed).removesuffix(',')}]",)
            )

    def _iter_section(self, name: str, values: Mapping[str, float]) -> Iterator[str]:
        yield from ("", *self._iter_note(name), f"[{name}]")
        yield from (f"{_format_key(key)} = {float(value)!r}" for key, value in values.items())

    def _iter_note(self, name: str) -> Iterator[str]:
        if note := _format_comment(self.notes.get(name, "")):
            yield f"# {note}"


def compute_similarity_threshold(words: int) -> float:
    """Return the cosine similarity from which a page counts as relevant, for a topic of `words` words.

    A page contains only some of a topic's words, so its cosine falls with their number. On eleven topics of six to nine
    words in an encyclopedia the best thresholds were between .02 and .18, most of them near .07.

    >>> [compute_similarity_threshold(n) for n in (1, 2, 8)]
    [0.22, 0.16, 0.08]
    """
    return round(0.22 / math.sqrt(max(1, words)), 2)


def _format_comment(text: str) -> str:
    """Return text as one line that is valid in a TOML comment."""
    return " ".join(_INVALID_COMMENT_CHARS.sub(" ", text).split())


def _format_key(text: str) -> str:
    """Return text as a TOML key.


    >>> _format_key("fever"), _format_key("dengue fever")
    ('fever', '"dengue fever"')
    """
    return text if _BARE_KEY.fullmatch(text) else _format_string(text)


def _format_string(text: str) -> str:
    """Return text as a TOML string."""
    # TOML basic strings and JSON strings are the same, except for U+007F, which TOML requires to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
