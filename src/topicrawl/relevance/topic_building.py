"""From words and example pages to a topic: its keyword table, its filter, its thresholds.

The table is that of Hati et al. and Safran et al. (`topicrawl.text.keywords`), the filter Kluev's
(`topicrawl.relevance.filter_choice`). A word that the user names is part of the topic whatever the pages say, and
weighs 1; it is never a stop word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from topicrawl.errors import TopicError
from topicrawl.records import Page
from topicrawl.relevance.filter_choice import FEW, fitted, unframed
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.keywords import weight_table
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Filter, Topic
from topicrawl.topic.filter import SIZES

_NAMED = 3  # words that name a topic without words of its own


@dataclass(frozen=True)
class Recipe:
    """How a topic is made."""

    k: int = 14  # words of the table
    weighting: str = "tf"  # or tf_idf
    language: str = ""  # ISO 639-1; "": that of the pages, or English


def build(
    words: str, relevant: Sequence[Page] = (), irrelevant: Sequence[Page] = (), recipe: Recipe | None = None
) -> Topic:
    """A topic from words, from pages on it (and pages that are not), or from both.

    >>> page = Page("http://a.example/", text="Dengue fever. The fever is high. Fever and rash.", language="en")
    >>> page = replace(page, words=tuple(tokenise(page.text)))
    >>> topic = build("dengue", [page], recipe=Recipe(k=2))
    >>> dict(topic.words), dict(topic.filter.pairs)
    ({'dengue': 1.0, 'fever': 1.0}, {})
    """
    recipe = recipe or Recipe()
    language = recipe.language or _language(relevant)
    if not relevant:
        if irrelevant:
            raise TopicError("pages that are not on the topic tell nothing without pages that are: give some of these")
        return replace(Topic.of(words), languages=(language,), origin=f"built from the words {words!r}")
    table = _table(words, relevant, replace(recipe, language=language))
    topic = Topic(
        name=" ".join(words.split()) or " ".join(list(table)[:_NAMED]),
        words=table,
        relevant=_addresses(relevant),
        irrelevant=_addresses(irrelevant),
        languages=(language,),
        origin=f"built from {_counted(relevant)}" + (f" and the words {words!r}" if words else ""),
    )
    return _measured(topic, relevant, irrelevant, recipe)


def _table(words: str, pages: Sequence[Page], recipe: Recipe) -> dict[str, float]:
    named = tokenise(words)
    texts = [(*tokenise(page.title), *page.words) for page in unframed(pages)]
    table = weight_table(texts, lexicon(recipe.language), own=named, k=recipe.k, weighting=recipe.weighting)
    if not table:
        raise TopicError(f"there is no text in {_counted(pages)}: give pages that say something")
    # Another form of a named word is the same word: the user's spelling stays.
    stems = {lexicon(recipe.language).stem(word) for word in named}
    rest = {word: weight for word, weight in table.items() if lexicon(recipe.language).stem(word) not in stems}
    return {**dict.fromkeys(named, 1.0), **_rounded(rest)}


def _measured(topic: Topic, relevant: Sequence[Page], irrelevant: Sequence[Page], recipe: Recipe) -> Topic:
    """The topic with what is measured on pages."""
    chosen, thresholds = fitted(topic, relevant, irrelevant)
    filter = Filter(_rounded(chosen.terms), _rounded(chosen.pairs), _rounded(chosen.triples))
    pages = _counted(relevant)
    against = f" and is less frequent in {_counted(irrelevant)} off the topic" if irrelevant else ""
    tuned = f"tuned so that 60 to 70 % of {pages} pass"
    if len(relevant) < FEW:
        tuned = f"of Kluev 2000, or lower where {pages} ask for it (fewer than {FEW} are too few to tune all)"
    notes = {
        "words": f"from {pages}, {recipe.weighting}, top {recipe.k}; words that were named weigh 1",
        "thresholds": f"{tuned}; shares of the filter's elements, and similarities",
        "examples": "the pages this was built from, as far as they have a web address",
    }
    notes |= {f"filter.{name}": f"what most marks {pages}{against}" for name in SIZES if filter.part(name)}
    threshold = topic.threshold
    if irrelevant:
        vsm = Vsm(topic)
        threshold = divide([vsm.score(page) for page in relevant], [vsm.score(page) for page in irrelevant])
        notes["threshold"] = f"divides {pages} best from {_counted(irrelevant)} off the topic"
    return replace(topic, filter=filter, thresholds=thresholds, threshold=threshold, notes=notes)


def divide(relevant: Sequence[float], irrelevant: Sequence[float]) -> float:
    """The similarity that divides two kinds of pages best: the mean of the shares on their right sides is greatest.

    Of several, the middle of the first gap that does:

    >>> divide([0.3, 0.5, 0.4], [0.1, 0.02]), divide([0.3, 0.1], [0.2, 0.05, 0.05])
    (0.2, 0.075)
    """
    values = sorted({0.0, *relevant, *irrelevant})
    gaps = [(low + high) / 2 for low, high in pairwise(values)] or [0.0]

    def right(at: float) -> float:
        good = sum(value >= at for value in relevant) / max(1, len(relevant))
        return good + sum(value < at for value in irrelevant) / max(1, len(irrelevant))

    best: float = max(gaps, key=right)
    return round(best, 4)


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights as people read them, and none of them 0."""
    return {word: max(round(weight, 4), 0.0001) for word, weight in weights.items()}


def _language(pages: Sequence[Page]) -> str:
    known = Counter(page.language for page in pages if page.language)
    return known.most_common(1)[0][0] if known else "en"


def _addresses(pages: Sequence[Page]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(page.url for page in pages if page.url.startswith(("http://", "https://"))))


def _counted(pages: Sequence[Page]) -> str:
    return f"{len(pages)} example page{'s' * (len(pages) != 1)}"
