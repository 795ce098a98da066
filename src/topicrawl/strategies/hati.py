"""Naive Bayes over attributes of a URL that are known before the fetch: Hati, Kumar and Mishra 2010, sections 4 and 5.

The paper queries a search engine for a description of a URL, and a tool for words related to an anchor. Here,
descriptions come from a file, or from search engines if the user enables them. Related words come from WordNet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nextafter
from typing import Any, NamedTuple

from topicrawl.errors import StrategyError
from topicrawl.models import Link, LinkContextLevel, Page, Priority, Visit
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.classifier_guided import MAX_PARENTS, ClassifierGuidedStrategy, ParentsLookup
from topicrawl.strategies.link_evidence import add_counts, flatten_counts, split_url_words, unflatten_counts
from topicrawl.strategies.training.training_data import TrainingData, read_text_file
from topicrawl.text.cohesive_text import extract_cohesive_text
from topicrawl.text.keyword_table import RelatedWords
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.wordnet import load_wordnet
from topicrawl.urls import canonicalize_url

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
    """Scores a link by the naive Bayes probability that it is relevant, from parents, description, anchor and context.

        P(Relevant | X) = P(X | Relevant) · P(Relevant) / Σ over both classes

    X has four binary attributes. `parents`: the mean cosine of the linking pages with the topic's keyword table is >
    .7. `description`: the cosine of the URL's description with the table is > .8. `anchor`: the share of the keywords
    that are related to a word of the anchor texts is ≥ .7. `cohesive`: the share of the keywords in the sentences
    around the links is ≥ .7. A cosine uses only the keywords. At most five linking pages count. The paper does not
    define the last threshold or the order of the queue. Here, the order is the posterior probability, and no link is
    dropped.

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
    descriptions: str = ""  # file with lines of url⇥text

    def get_thresholds(self) -> tuple[float, ...]:
        """Return the thresholds of the four attributes."""
        # A classifier tests value > threshold. For value ≥ threshold, use the next smaller number.
        return self.parents, self.description, nextafter(self.anchor, -1.0), nextafter(self.cohesive, -1.0)

    def get_related_words(self) -> RelatedWords | None:
        """Return the function that finds related words in WordNet."""
        return load_wordnet().get_related_terms

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
