"""What is asked, in words that people write into a search box.

    dengue fever            pages with these words, those with more and rarer of them first
    "dengue fever"          the words one after the other
    +fever -yellow          must be there; must not be there
    title:dengue            in the title; likewise text: and url:
    vaccin*                 words that begin so, from three letters on
    host:who.int            pages of a host and the hosts below it; likewise language:de
    relevance:0.5           at least so relevant to the collection's topic
    verdict:relevant        as readers said: relevant, irrelevant, unsure, none
    since:2026-11-01        fetched on that day or later; before: earlier than that

Words in other forms are found too: stems are compared, in the languages of the collection that is asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from topicrawl.errors import UsageError
from topicrawl.search.answers import LONGEST, Query
from topicrawl.text.tokens import words

#: Field of a query → column of the index.
COLUMNS = {"title": "title", "text": "text", "url": "url"}
FILTERS = ("host", "language", "relevance", "verdict", "since", "before")
RULINGS = ("relevant", "irrelevant", "unsure", "none")
_PARTS = 32  # of a query
_PHRASE = 16  # words of a phrase
_WEIGHTED = 64  # words beside the text
_SHORTEST = 3  # letters before a *
_PIECE = re.compile(r'([+-]?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))', re.I)
_UNSPACED = re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u30ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class Part:
    """A word, a phrase or the beginning of a word, anywhere or in one field."""

    words: tuple[str, ...]
    column: str = ""
    is_prefix: bool = False

    @property
    def key(self) -> str:
        """The same for the same part, on every server.

        >>> Part(("dengue", "fever"), "title").key, Part(("vaccin",), is_prefix=True).key
        ('title:"dengue fever"', 'vaccin*')
        """
        said = " ".join(self.words)
        said = f'"{said}"' if len(self.words) > 1 else said
        return f"{self.column}:{said}" if self.column else f"{said}*" if self.is_prefix else said


@dataclass(frozen=True, slots=True)
class Filters:
    """What a page must be, whatever it says."""

    hosts: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    relevance: float = 0.0
    verdicts: tuple[str, ...] = ()
    since: float = -math.inf
    before: float = math.inf


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query as the index takes it."""

    wanted: Mapping[Part, float] = field(default_factory=dict)  # with weights; those below 0 speak against a page
    must: tuple[Part, ...] = ()
    never: tuple[Part, ...] = ()
    filters: Filters = Filters()

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(dict.fromkeys((*self.wanted, *self.must, *self.never)))


def parsed(query: Query) -> Parsed:
    """A query in its parts; UsageError says what cannot be understood.

    >>> [part.key for part in parsed(Query('Owls "at night" title:nest -bat')).wanted]
    ['owls', '"at night"', 'title:nest']
    """
    if len(query.text) > LONGEST:
        raise UsageError(f"the query has {len(query.text)} characters: {LONGEST} are the most")
    wanted: dict[Part, float] = {}
    must: list[Part] = []
    never: list[Part] = []
    said: list[tuple[str, str]] = []
    for sign, name, phrase, chunk in _PIECE.findall(query.text):
        name = name.lower()
        if name in FILTERS:
            said.append((name, phrase or chunk))
            continue
        text = f"{name} {phrase}" if phrase and name and name not in COLUMNS else phrase or chunk
        if name and name not in COLUMNS and chunk:
            text = f"{name}:{chunk}"  # an address, or a word before a colon
        parts = _parts(text, COLUMNS.get(name, ""), is_phrase=bool(phrase))
        if sign == "-":
            never += parts
            continue
        must += parts if sign == "+" else []
        wanted |= {part: wanted.get(part, 0.0) + 1.0 for part in parts}
    if len(wanted) + len(never) > _PARTS:
        raise UsageError(f"the query has {len(wanted) + len(never)} words: {_PARTS} are the most")
    for part, weight in _weighted(query.weights):
        wanted[part] = wanted.get(part, 0.0) + weight
    return Parsed(wanted, tuple(must), tuple(never), _filters(said))


def _parts(text: str, column: str, *, is_phrase: bool) -> list[Part]:
    found = words(text)
    if not found:
        return []
    if is_phrase or _UNSPACED.search(text):
        return [Part(tuple(found[:_PHRASE]), column)]
    parts = [Part((word,), column) for word in found]
    if text.endswith("*") and len(found[-1]) >= _SHORTEST:
        parts[-1] = Part((found[-1],), column, is_prefix=True)
    return parts


def _weighted(weights: Mapping[str, float]) -> list[tuple[Part, float]]:
    """Words from feedback; what makes no sense counts nothing."""
    strongest = sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))[:_WEIGHTED]
    pairs = [(words(word[:100]), weight) for word, weight in strongest if math.isfinite(weight)]
    return [(Part(tuple(found)), max(-1.0, min(weight, 5.0))) for found, weight in pairs if found]


def _filters(said: list[tuple[str, str]]) -> Filters:
    values: dict[str, list[str]] = {}
    for name, value in said:
        values.setdefault(name, []).append(value.strip().lower())
    for verdict in values.get("verdict", ()):
        if verdict not in RULINGS:
            raise UsageError(f"verdict:{verdict} is none of {', '.join(RULINGS)}")
    return Filters(
        hosts=tuple(values.get("host", ())),
        languages=tuple(values.get("language", ())),
        relevance=max((_number(text) for text in values.get("relevance", ())), default=0.0),
        verdicts=tuple("" if it == "none" else it for it in values.get("verdict", ())),
        since=max((_day("since", text) for text in values.get("since", ())), default=-math.inf),
        before=min((_day("before", text) for text in values.get("before", ())), default=math.inf),
    )


def _number(text: str) -> float:
    try:
        value = float(text.lstrip(">="))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"relevance:{text} is no number from 0 to 1")
    return value


def _day(name: str, text: str) -> float:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name}:{text} is no day such as 2026-11-01") from error
