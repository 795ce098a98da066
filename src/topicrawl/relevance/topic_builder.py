"""Build a topic from words and example pages: keyword table, filter and thresholds.

The keyword table is that of Hati et al. and Safran et al. (`topicrawl.text.keyword_weights`), the filter is Kluev's
(`topicrawl.relevance.filter_choice`). A word that the user names is always part of the topic, with weight 1, and is
never a stop word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from topicrawl.errors import TopicError
from topicrawl.models import Page
from topicrawl.relevance.filter_choice import MIN_TUNING_PAGES, fit_filter, remove_boilerplate
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.keyword_weights import build_distinctive_table, build_weight_table
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic, TopicFilter
from topicrawl.topic.filter import ELEMENT_SIZES

_MIN_THRESHOLD, _MAX_THRESHOLD = 0.3, 0.8  # range of a threshold that example pages determine
_MAX_NAME_WORDS = 3  # words in the name of a topic that the user did not name


@dataclass(frozen=True)
class KeywordTableOptions:
    """Options for building a topic."""

    k: int = 14  # number of words in the keyword table
    weighting: str = "distinctive"  # or tf, tf_idf
    language: str = ""  # ISO 639-1; "" takes the language of most pages, or English


def build_topic(
    words: str,
    relevant: Sequence[Page] = (),
    irrelevant: Sequence[Page] = (),
    options: KeywordTableOptions | None = None,
) -> Topic:
    """Build a topic from words, from relevant (and irrelevant) example pages, or from both.

    >>> text = "Dengue fever. The fever is high. Fever and rash."
    >>> page = Page("http://a.example/", text=text, words=tuple(tokenise(text)), language="en")
    >>> topic = build_topic("dengue", [page], options=KeywordTableOptions(k=2))
    >>> dict(topic.words), dict(topic.filter.pairs)
    ({'dengue': 1.0, 'fever': 1.0}, {})
    """
    options = options or KeywordTableOptions()
    language = options.language or _get_main_language(relevant)
    if not relevant:
        if irrelevant:
            raise TopicError("irrelevant example pages need relevant ones: give at least one page on the topic")
        return replace(Topic.of(words), languages=(language,), origin=f"built from the words {words!r}")
    table = _build_keyword_table(words, relevant, irrelevant, replace(options, language=language))
    topic = Topic(
        name=" ".join(words.split()) or " ".join(list(table)[:_MAX_NAME_WORDS]),
        words=table,
        relevant=_get_urls(relevant),
        irrelevant=_get_urls(irrelevant),
        languages=(language,),
        origin=f"built from {_format_page_count(relevant)}" + (f" and the words {words!r}" if words else ""),
    )
    return _fit_to_pages(topic, relevant, irrelevant, options)


def _build_keyword_table(
    words: str, pages: Sequence[Page], irrelevant: Sequence[Page], options: KeywordTableOptions
) -> dict[str, float]:
    """Build the keyword table: the named words with weight 1, then the best words of the pages."""
    named, lexicon = tokenise(words), load_lexicon(options.language)
    texts, other_texts = (
        [(*tokenise(page.title), *page.words) for page in remove_boilerplate(part)] for part in (pages, irrelevant)
    )
    if options.weighting == "distinctive":
        table = build_distinctive_table(texts, other_texts, lexicon, k=options.k)
    else:
        table = build_weight_table(texts, lexicon, keep_words=named, k=options.k, weighting=options.weighting)
    if not any(texts):
        raise TopicError(f"there is no text in {_format_page_count(pages)}: give pages with text")
    # An inflected form of a named word is the same word. The spelling of the user stays.
    stems = {lexicon.stem(word) for word in named}
    rest = {word: weight for word, weight in table.items() if lexicon.stem(word) not in stems}
    if not named and not rest:
        raise TopicError(f"no word is distinctive for {_format_page_count(pages)}: name the topic in words too")
    return {**dict.fromkeys(named, 1.0), **_round_weights(rest)}


def _fit_to_pages(
    topic: Topic, relevant: Sequence[Page], irrelevant: Sequence[Page], options: KeywordTableOptions
) -> Topic:
    """Add the filter, the thresholds and their notes to a topic, measured on its example pages."""
    selected, thresholds = fit_filter(topic, relevant, irrelevant)
    filter = TopicFilter(
        _round_weights(selected.terms), _round_weights(selected.pairs), _round_weights(selected.triples)
    )
    pages = _format_page_count(relevant)
    against = f" and less frequent in {_format_page_count(irrelevant)} off the topic" if irrelevant else ""
    tuned = f"tuned so that 60 to 70 % of {pages} pass"
    if len(relevant) < MIN_TUNING_PAGES:
        tuned = (
            f"values of Kluev 2000, lowered where {pages} require it (tuning needs at least {MIN_TUNING_PAGES} pages)"
        )
    notes = {
        "words": f"from {pages}, {options.weighting}, top {options.k}; named words have weight 1",
        "thresholds": f"{tuned}; shares of the filter's elements, and similarities",
        "examples": "the example pages that have a web address",
    }
    notes |= {
        f"filter.{name}": f"most distinctive of {pages}{against}" for name in ELEMENT_SIZES if filter.get_elements(name)
    }
    threshold = topic.threshold
    if min(len(relevant), len(irrelevant)) >= MIN_TUNING_PAGES:
        scores = (_score_by_other_half(topic, relevant, irrelevant, of_relevant=kind) for kind in (True, False))
        threshold = min(_MAX_THRESHOLD, max(_MIN_THRESHOLD, find_threshold(*scores)))
        notes["threshold"] = f"best separates {pages} from {_format_page_count(irrelevant)} off the topic"
    return replace(topic, filter=filter, thresholds=thresholds, threshold=threshold, notes=notes)


def _score_by_other_half(
    topic: Topic, relevant: Sequence[Page], irrelevant: Sequence[Page], *, of_relevant: bool
) -> list[float]:
    """Score example pages, each half by a judge that has learned only from the other half."""
    scores = []
    for half in (0, 1):
        judge = TopicJudge(Vsm(topic))
        judge.learn_examples(relevant[1 - half :: 2], irrelevant[1 - half :: 2])
        scores += [judge.score(page) for page in (relevant if of_relevant else irrelevant)[half::2]]
    return scores


def find_threshold(relevant: Sequence[float], irrelevant: Sequence[float]) -> float:
    """Return the threshold that best separates relevant from irrelevant pages.

    It maximises the mean of the shares of both kinds that are classified correctly. Of several such thresholds, the
    middle of the first gap is returned:

    >>> find_threshold([0.3, 0.5, 0.4], [0.1, 0.02]), find_threshold([0.3, 0.1], [0.2, 0.05, 0.05])
    (0.2, 0.075)
    """
    values = sorted({0.0, *relevant, *irrelevant})
    gaps = [(low + high) / 2 for low, high in pairwise(values)] or [0.0]

    def count_correct(threshold: float) -> float:
        true_positives = sum(value >= threshold for value in relevant) / max(1, len(relevant))
        return true_positives + sum(value < threshold for value in irrelevant) / max(1, len(irrelevant))

    best: float = max(gaps, key=count_correct)
    return round(best, 4)


def _round_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Round weights to four digits. No weight becomes 0."""
    return {word: max(round(weight, 4), 0.0001) for word, weight in weights.items()}


def _get_main_language(pages: Sequence[Page]) -> str:
    """Return the language of most pages, or English if no language is known."""
    languages = Counter(page.language for page in pages if page.language)
    return languages.most_common(1)[0][0] if languages else "en"


def _get_urls(pages: Sequence[Page]) -> tuple[str, ...]:
    """Return the web addresses of pages, without duplicates."""
    return tuple(dict.fromkeys(page.url for page in pages if page.url.startswith(("http://", "https://"))))


def _format_page_count(pages: Sequence[Page]) -> str:
    """Return the number of example pages as text."""
    return f"{len(pages)} example page{'s' * (len(pages) != 1)}"
