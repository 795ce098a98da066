"""Parser of the query language.

    dengue fever            pages with any of these words; pages with more and rarer words rank higher
    "dengue fever"          phrase: the words next to each other
    +fever -yellow          required word; excluded word
    title:dengue            match in the title only; also url:, and text: for the title, the text and the URL
    vaccin*                 prefix of at least three letters
    host:who.int            pages of a host and its subdomains; also language:de and type:application/pdf
    tag:survey              pages with this tag
    relevance:0.5           pages with at least this relevance to the topic of the collection
    verdict:relevant        pages with this annotation: relevant, irrelevant, unsure, none
    since:2026-11-01        pages fetched on this day or later; before: pages fetched before the day

The index compares stems, in the languages of the searched collection, so other forms of a word match too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from topicrawl.errors import UsageError
from topicrawl.search.models import MAX_QUERY_CHARS, Query
from topicrawl.search.query_limits import MAX_PHRASES
from topicrawl.text.tokenizer import tokenise

#: Field name in a query → column of the index.
FIELD_COLUMNS = {"title": "title", "text": "text", "url": "url"}
FILTER_FIELDS = ("host", "language", "type", "tag", "relevance", "verdict", "since", "before")
VERDICTS = ("relevant", "irrelevant", "unsure", "none")
_MAX_PHRASE_WORDS = 16  # words of a phrase
_MAX_WEIGHTED_WORDS = 64  # weighted words in addition to the text
_MIN_PREFIX_LENGTH = 3  # letters before a *
_TOKEN_PATTERN = re.compile(r'([+-]?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))', re.I)
_UNSPACED_SCRIPTS = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u30ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff]"
)


@dataclass(frozen=True, slots=True)
class QueryClause:
    """A word, a phrase or a prefix, in any field or in one field."""

    words: tuple[str, ...]
    column: str = ""
    is_prefix: bool = False

    @property
    def key(self) -> str:
        """Canonical text of the clause, which is the same on every server.

        >>> QueryClause(("dengue", "fever"), "title").key, QueryClause(("vaccin",), is_prefix=True).key
        ('title:"dengue fever"', 'vaccin*')
        """
        text = " ".join(self.words)
        text = f'"{text}"' if len(self.words) > 1 else f"{text}*" if self.is_prefix else text
        return f"{self.column}:{text}" if self.column else text


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Conditions on the metadata of a page, independent of its text."""

    hosts: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # a page must have all of them
    relevance: float = 0.0
    verdicts: tuple[str, ...] = ()
    since: float = -math.inf
    before: float = math.inf


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query, as the index processes it."""

    clause_weights: Mapping[QueryClause, float] = field(
        default_factory=dict
    )  # clause → weight; a negative weight lowers the score
    required: tuple[QueryClause, ...] = ()  # also in the scored clauses
    excluded: tuple[QueryClause, ...] = ()
    filters: SearchFilters = SearchFilters()

    @property
    def clauses(self) -> tuple[QueryClause, ...]:
        """All clauses, each once."""
        return tuple(dict.fromkeys((*self.clause_weights, *self.required, *self.excluded)))


def parse_query(query: Query) -> ParsedQuery:
    """Parse a query into clauses and filters; raise `UsageError` if it is invalid.

    >>> [part.key for part in parse_query(Query('Owls "at night" title:nest -bat')).clause_weights]
    ['owls', '"at night"', 'title:nest']
    """
    if len(query.text) > MAX_QUERY_CHARS:
        raise UsageError(f"the query has {len(query.text)} characters; the maximum is {MAX_QUERY_CHARS}")
    weights: dict[QueryClause, float] = {}
    required: list[QueryClause] = []
    excluded: list[QueryClause] = []
    filters: list[tuple[str, str]] = []
    for sign, name, phrase, chunk in _TOKEN_PATTERN.findall(query.text):
        name = name.lower()
        if name in FILTER_FIELDS:
            filters.append((name, phrase or chunk))
            continue
        text = f"{name} {phrase}" if phrase and name and name not in FIELD_COLUMNS else phrase or chunk
        if name and name not in FIELD_COLUMNS and chunk:
            text = f"{name}:{chunk}"  # not a field: a URL, or a word before a colon
        clauses = _parse_clauses(text, FIELD_COLUMNS.get(name, ""), is_phrase=bool(phrase))
        if sign == "-":
            excluded += clauses
            continue
        required += clauses if sign == "+" else []
        weights |= {clause: weights.get(clause, 0.0) + 1.0 for clause in clauses}
    phrases = sum(len(clause.words) > 1 or clause.is_prefix for clause in (*weights, *excluded))
    if phrases > MAX_PHRASES:
        raise UsageError(f"the query has {phrases} phrases and prefixes; the maximum is {MAX_PHRASES}")
    for clause, weight in _build_weighted_clauses(query.weights):
        weights[clause] = weights.get(clause, 0.0) + weight
    return ParsedQuery(weights, tuple(required), tuple(excluded), _parse_filters(filters))


def _parse_clauses(text: str, column: str, *, is_phrase: bool) -> list[QueryClause]:
    """Return the clauses of a chunk of a query; text without spaces between words (CJK, Thai, …) is one phrase."""
    tokens = tokenise(text)
    if not tokens:
        return []
    if is_phrase or _UNSPACED_SCRIPTS.search(text):
        return [QueryClause(tuple(tokens[:_MAX_PHRASE_WORDS]), column)]
    parts = [QueryClause((word,), column) for word in tokens]
    if text.endswith("*") and len(tokens[-1]) >= _MIN_PREFIX_LENGTH:
        parts[-1] = QueryClause((tokens[-1],), column, is_prefix=True)
    return parts


def _build_weighted_clauses(weights: Mapping[str, float]) -> list[tuple[QueryClause, float]]:
    """Return clauses for the weighted words from feedback; ignore invalid ones."""
    strongest = sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))[:_MAX_WEIGHTED_WORDS]
    pairs = [(tokenise(word[:100]), weight) for word, weight in strongest if math.isfinite(weight)]
    return [(QueryClause(tuple(tokens)), max(-1.0, min(weight, 5.0))) for tokens, weight in pairs if tokens]


def _parse_filters(pairs: list[tuple[str, str]]) -> SearchFilters:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value.strip().lower())
    for verdict in values.get("verdict", ()):
        if verdict not in VERDICTS:
            raise UsageError(f"verdict:{verdict} is invalid; use one of {', '.join(VERDICTS)}")
    return SearchFilters(
        hosts=tuple(values.get("host", ())),
        languages=tuple(values.get("language", ())),
        types=tuple(values.get("type", ())),
        tags=tuple(values.get("tag", ())),
        relevance=max((_parse_relevance(text) for text in values.get("relevance", ())), default=0.0),
        verdicts=tuple("" if verdict == "none" else verdict for verdict in values.get("verdict", ())),
        since=max((_parse_date("since", text) for text in values.get("since", ())), default=-math.inf),
        before=min((_parse_date("before", text) for text in values.get("before", ())), default=math.inf),
    )


def _parse_relevance(text: str) -> float:
    try:
        value = float(text.lstrip(">="))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"relevance:{text} is invalid; use a number from 0 to 1")
    return value


def _parse_date(name: str, text: str) -> float:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name}:{text} is invalid; use a date such as 2026-11-01") from error
