"""Naive Bayes over attributes of a URL that are known before the fetch: Hati, Kumar and Mishra 2010, sections 4 and 5.

The paper queries a search engine for a description of a URL, and a tool for words related to an anchor. Here,
descriptions come from a file, or from search engines if the user enables them. Related words come from WordNet, from
word vectors, and from the words near the keywords on the example pages and in the descriptions of the examples.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nextafter
from typing import Any, NamedTuple, cast

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, LinkContextLevel, Page, Priority, Visit
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.classifier_guided import MAX_PARENTS, ClassifierGuidedStrategy, ParentsLookup
from topicrawl.strategies.link_evidence import add_counts, flatten_counts, split_url_words, unflatten_counts
from topicrawl.strategies.training.training_data import TrainingData, read_text_file
from topicrawl.strategies.training.training_set import TrainingRow
from topicrawl.text.cohesive_text import extract_cohesive_text
from topicrawl.text.keyword_table import KeywordTable, RelatedWords
from topicrawl.text.related_words import find_cooccurring_terms
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.wordnet import load_wordnet
from topicrawl.urls import canonicalize_url

log = logging.getLogger("topicrawl")

#: Function that returns a description of a URL, or None if there is none.
DescribeUrl = Callable[[str], str | None]


class HatiEvidence(NamedTuple):
    """Evidence about one URL from the pages that link to it."""

    pages: int  # number of linking pages
    relevance: float  # sum of the relevance of these pages
    description: Mapping[int, float]  # keyword number → count in the description of the URL
    anchor: int  # keywords related to words of the anchor texts, as bits
    cohesive: int  # keywords in the cohesive texts, as bits


@dataclass
class Hati(ClassifierGuidedStrategy):
    """Score a link by the naive Bayes probability that it is relevant, from parents, description, anchor and context.

        P(Relevant | X) = P(X | Relevant) · P(Relevant) / Σ over both classes

    X has four binary attributes. `parents`: the mean cosine of the linking pages with the topic's keyword table is >
    .7. `description`: the cosine of the URL's description with the table is > .8. `anchor`: the share of the keywords
    that are related to a word of the anchor texts is ≥ .7. `cohesive`: the share of the keywords in the sentences
    around the links is ≥ .7. A cosine uses only the keywords. At most five linking pages count. The paper does not
    define the last threshold or the order of the queue. Here, the order is the posterior probability, and no link is
    dropped.

    The paper finds its thresholds by experiment, for one topic. By default they are tuned on the training rows; with
    `tune=no` they are those above. An attribute that is the same for all rows has no effect, which is logged.

    If neither the file `descriptions` (lines of url⇥text) nor a search engine describes a URL, the description consists
    of the anchor texts, the words around the links and the words of the URL.

    Seven rows of table 8. The X of the paper is (no, yes, no, yes), but the paper multiplies as if the anchor were yes.
    The first result is 256/381, the second 384/509:

    >>> from topicrawl.strategies.training.classifiers import LinkClassifier, ClassifierConfig
    >>> rows = ["NYYY", "YYYY", "NNYY", "YYNN", "YYNY", "NNYN", "NYNY"]
    >>> table_8 = [tuple(float(letter == "Y") for letter in row) for row in rows]
    >>> guide = LinkClassifier.fit(
    ...     ClassifierConfig("nb", Hati().get_thresholds(), smoothing=False), table_8, [True] * 5 + [False] * 2
    ... )
    >>> round(guide.predict((0, 1, 0, 1)), 6), round(guide.predict((0, 1, 1, 1)), 6)
    (0.671916, 0.75442)
    """

    name = "hati"
    family = "learning"
    paper = "Hati et al. 2010, 5"
    attributes = ("parents", "description", "anchor", "cohesive")
    link_context = LinkContextLevel.FULL

    k: int = 10
    parents: float = 0.7  # the value must be above this threshold
    description: float = 0.8  # above
    anchor: float = 0.7  # this threshold or above
    cohesive: float = 0.7  # this threshold or above
    tune: bool = True  # whether thresholds are tuned on the training set; no: the thresholds of the paper
    related: int = 150  # words near a keyword, and words with similar vectors, that count as related; 0: WordNet only
    descriptions: str = ""  # file with lines of url⇥text

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.related < 0:
            raise StrategyError(f"{self.name}: related is {self.related}, it must be 0 or more")
        self._cooccurring: dict[str, list[str]] = {}  # keyword → terms near it on the example pages

    def get_thresholds(self) -> tuple[float, ...]:
        """Return the thresholds of the four attributes."""
        # A classifier tests value > threshold. For value ≥ threshold, use the next smaller number.
        return self.parents, self.description, nextafter(self.anchor, -1.0), nextafter(self.cohesive, -1.0)

    def get_related_words(self) -> RelatedWords | None:
        """Return the function that finds related words in WordNet."""
        return load_wordnet().get_related_terms

    def _select_keywords(self, training_data: TrainingData) -> tuple[dict[str, float], dict[str, float]]:
        """Select the keyword table, and the words near its keywords on the relevant examples and in descriptions."""
        keywords, idf = super()._select_keywords(training_data)
        pages = [training_data.get_page(url) for url in training_data.relevant]
        texts: list[Sequence[str]] = [page.words for page in pages if page is not None]
        texts += [tokenise(text) for url in training_data.relevant if (text := self.describe_url(url))]
        lexicon = self.context.topic.lexicon
        self._cooccurring = find_cooccurring_terms(keywords, texts, lexicon, count=self.related) if self.related else {}
        return keywords, idf

    def _build_keyword_tables(self, words: dict[str, float], idf: Mapping[str, float] | None = None) -> None:
        """Build the keyword tables. The second one also matches words related by use and by meaning."""
        super()._build_keyword_tables(words, idf)
        lexicon = self.context.topic.lexicon
        wordnet = self.get_related_words() if self.wordnet and lexicon.language == "en" else None
        similar = self._find_similar_terms(words) if self.related else {}

        def find_related(word: str) -> list[str]:
            return [*(wordnet(word) if wordnet is not None else ()), *related_terms.get(word, ())]

        related_terms: dict[str, list[str]] = {}
        for word in words:
            for token in tokenise(word):
                related_terms[token] = [*self._cooccurring.get(word, ()), *similar.get(word, ())]
        self.expanded_table = KeywordTable(words, lexicon, find_related)

    def _find_similar_terms(self, words: Iterable[str]) -> dict[str, list[str]]:
        """Return for each keyword the terms with the closest word vectors; empty without vectors of the language."""
        vectors = self.context.vsm.find_vectors()
        if vectors is None:
            return {}
        similar = {}
        for word in words:
            terms = self.context.topic.lexicon.extract_terms(tokenise(word))
            rows = vectors.find_rows(terms)
            rows = rows[rows >= 0]
            similar[word] = (
                vectors.find_nearest(vectors.get_vectors(rows).mean(axis=0), self.related) if len(rows) else []
            )
        return similar

    def train_classifier(self, rows: Sequence[TrainingRow]) -> None:
        """Train the classifier on rows. Log the attributes that are the same for all of them."""
        super().train_classifier(rows)
        for number, (attribute, limit) in enumerate(zip(self.attributes, self.classifier.thresholds, strict=True)):
            above = sum(row.values[number] > limit for row in rows)
            if self.guide == "nb" and rows and above in (0, len(rows)):
                side = "no" if not above else "every"
                log.warning(
                    "hati: %s training row is above the limit %.2f of the attribute %s, which therefore has no effect",
                    side,
                    limit,
                    attribute,
                )

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        state = cast(dict[str, JsonValue], super().get_state())
        return {**state, "related": cast(JsonValue, self._cooccurring)}

    def restore_state(self, state: Any) -> None:
        """Restore a state that `get_state` returned. States of earlier versions have no related words."""
        self._cooccurring = {word: list(terms) for word, terms in state.get("related", {}).items()}
        super().restore_state(state)

    def bind(self, context: StrategyContext) -> None:
        """Store the context and load the descriptions file."""
        super().bind(context)
        path = self.descriptions
        descriptions = _parse_descriptions(read_text_file(path, self.name), path) if path else {}
        self.describe_url: DescribeUrl = lambda url: descriptions.get(url) or context.describe_url(url)

    def _extract_evidence(self, links: Sequence[Link], page: Page | None) -> dict[str, HatiEvidence]:
        """Return the evidence of a page about each URL that it links to (URL → evidence)."""
        relevance = self.exact_table.cosine(self.exact_table.count_keywords(page.words)) if page is not None else 0.0
        text = page.text if page is not None else ""
        evidence: dict[str, HatiEvidence] = {}
        keywords_near: dict[str, int] = {}  # sentence → keywords in its cohesive text, as bits
        offset = 0
        for link in links:
            if link.sentence not in keywords_near:
                cohesive, offset = extract_cohesive_text(text, link.sentence, offset)
                keywords_near[link.sentence] = self.exact_table.match_keywords(tokenise(cohesive))
            anchor = tokenise(link.anchor or link.alt)
            description = self.describe_url(link.url)
            description_words = (
                tokenise(description)
                if description
                else (*split_url_words(link.url), *anchor, *link.before, *link.after)
            )
            counts = (
                self.exact_table.count_keywords(description_words)
                if self.exact_table.match_keywords(description_words)
                else {}
            )
            new = HatiEvidence(
                1, relevance, counts, self.expanded_table.match_keywords(anchor), keywords_near[link.sentence]
            )
            evidence[link.url] = new if link.url not in evidence else _merge_evidence(evidence[link.url], new, pages=0)
        return evidence

    def _compute_attributes(self, evidence: HatiEvidence) -> tuple[float, ...]:
        """Return the values of `attributes` (parents, description, anchor, cohesive) for the evidence about a URL.

        Each value is from 0 to 1, before the thresholds are applied.
        """
        described = self.exact_table.cosine(evidence.description) if evidence.description else 0.0
        mean = min(1.0, evidence.relevance / evidence.pages)
        return (
            mean,
            described,
            self.expanded_table.matched_share(evidence.anchor),
            self.exact_table.matched_share(evidence.cohesive),
        )

    def compute_example_attributes(
        self, url: str, training_data: TrainingData, parents: ParentsLookup
    ) -> tuple[float, ...] | None:
        """Return the attributes of an example URL from the pages that link to it, or None if there are no links."""
        evidence: HatiEvidence | None = None
        for link in parents(url):
            (new,) = self._extract_evidence([link], training_data.get_page(link.source)).values()
            evidence = new if evidence is None else _merge_evidence(evidence, new)
        return None if evidence is None else self._compute_attributes(evidence)

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return a priority for each link from the evidence of this page."""
        priorities = {
            url: self._score_evidence(evidence) for url, evidence in self._extract_evidence(links, visit.page).items()
        }
        return [priorities[link.url] for link in links]

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Merge the evidence of another page. From the sixth page on, the priority does not change."""
        if not isinstance(old.payload, list) or not isinstance(new.payload, list) or old.payload[0] == MAX_PARENTS:
            return old  # a seed, or the maximum number of pages is reached
        return self._score_evidence(_merge_evidence(_unpack_payload(old.payload), _unpack_payload(new.payload)))

    def rescore_with_description(self, priority: Priority, description: str) -> Priority:
        """Return the new priority of a waiting link after a search engine has described its URL."""
        if not isinstance(priority.payload, list):
            return priority  # a seed
        return self._score_evidence(
            _unpack_payload(priority.payload)._replace(
                description=self.exact_table.count_keywords(tokenise(description))
            )
        )

    def _score_evidence(self, evidence: HatiEvidence) -> Priority:
        """Return the priority for the evidence about a URL. Its payload contains the evidence."""
        values = self._compute_attributes(evidence)
        parts = tuple(zip(self.attributes, values, strict=True))
        payload = [
            evidence.pages,
            round(evidence.relevance, 6),
            flatten_counts(evidence.description),
            evidence.anchor,
            evidence.cohesive,
        ]
        return Priority(self.classifier.predict(values), payload, parts)  # type: ignore[arg-type]  # lists of plain values


def _unpack_payload(payload: Sequence[Any]) -> HatiEvidence:
    """Read the evidence from the payload of a priority."""
    pages, relevance, description, anchor, cohesive = payload
    return HatiEvidence(pages, relevance, unflatten_counts(description), anchor, cohesive)


def _merge_evidence(one: HatiEvidence, other: HatiEvidence, *, pages: int = 1) -> HatiEvidence:
    """Merge the evidence of two links. `pages` is 0 if both links are on the same page."""
    return HatiEvidence(
        one.pages + pages,
        one.relevance + other.relevance * pages,
        add_counts(one.description, other.description),
        one.anchor | other.anchor,
        one.cohesive | other.cohesive,
    )


def _parse_descriptions(text: str, path: str) -> dict[str, str]:
    """Parse lines of url⇥text to a dict of URL → description. Several lines for one URL are joined."""
    descriptions: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        url, tab, description = line.partition("\t")
        address = canonicalize_url(url.strip())
        if address is None or not tab:
            raise StrategyError(f"{path}:{number}: expected a URL, a tab and its description, found {line[:80]!r}")
        descriptions[address] = f"{descriptions[address]} {description}" if address in descriptions else description
    return descriptions
