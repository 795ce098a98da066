"""NB2, NB4 and NB4 updatable: Safran, Althagafi and Che 2012, sections III and IV, figure 5, tables 1 and 2.

Figure 5 keeps all links in one first-in-first-out queue. It classifies a URL when the URL leaves the queue, with the
evidence of the first five pages that link to it. The frontier does the same as follows:

- A link is classified when it is found, and again each time another page links to it while it waits (`merge`, with the
  evidence of the pages so far in its payload). The last result before the fetch is the result of figure 5.
- All links that figure 5 downloads wait with score 1, relevant or not. The frontier returns equal scores in the order
  of insertion.
- A URL that is predicted relevant has level counter 0. Any other URL has the counter of its page plus 1. If several
  pages link to a URL, the smallest counter applies, because figure 5 gives up a path of irrelevant pages and not a
  page.
- If the counter reaches `limit`, figure 5 records the URL and does not fetch it: the link is not followed, and the
  crawl ends where the crawl of the paper ends. A later page that shows that the URL is relevant can still add it. A
  link that already waits when its counter reaches `limit` cannot leave the frontier: it has score 0, and is fetched
  only when no other link waits. With `reserve=yes`, all given-up links wait with score 0, so the evidence of all pages
  counts, and a crawl continues when the queue of figure 5 would be empty.
- The frontier's record of known URLs replaces the tables RT and IRT. Irrelevant examples are in IRT from the start:
  links to them are not followed.

The "<" in the paper downloads two irrelevant pages in a row. The third is given up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, LinkContextLevel, Priority, Visit
from topicrawl.strategies.classifier_guided import MAX_PARENTS, ClassifierGuidedStrategy, ParentsLookup
from topicrawl.strategies.link_evidence import Evidence, EvidenceExtractor
from topicrawl.strategies.training.training_data import TrainingData
from topicrawl.strategies.training.training_set import TrainingRow
from topicrawl.text.keyword_table import RelatedWords
from topicrawl.text.wordnet import load_wordnet

ATTRIBUTES: tuple[str, ...] = ("url_words", "anchor", "parents", "surrounding")


@dataclass
class Nb4(ClassifierGuidedStrategy):
    """Follow links that naive Bayes predicts relevant from four attributes, and other links for up to two pages.

        P(X | Relevant) · P(Relevant) > P(X | Irrelevant) · P(Irrelevant)                            (3)

    X: for each of URL words, anchor text, parent pages and surrounding text, whether its similarity to the topic's
    keyword table (equation 2) is above its threshold. The left side divided by the sum of both sides is the
    `posterior`. The thresholds are tuned on the training set, because those of the paper fit its topic; `tune=no` uses
    the printed ones.

    The eight rows of table 2. A URL with four times yes has the weights 5/48 and 0, a URL with four times no 1/96 and
    1/8:

    >>> from topicrawl.strategies.training.classifiers import LinkClassifier, ClassifierConfig
    >>> rows = [
    ...     (0.25, 0.97, 0.64, 0.76),
    ...     (0.66, 0.67, 0.69, 0.65),
    ...     (0.32, 0.79, 0.60, 0.32),
    ...     (0, 0.82, 0.67, 0.46),
    ...     (0.54, 0.89, 0.67, 0.29),
    ...     (0.12, 0.85, 0.29, 0.69),
    ...     (0, 0.50, 0.20, 0.60),
    ...     (0.51, 0.50, 0.16, 0.18),
    ... ]
    >>> table_2 = LinkClassifier.fit(
    ...     ClassifierConfig("nb", Nb4().get_thresholds(), smoothing=False), rows, [True] * 6 + [False] * 2
    ... )
    >>> [round(table_2.predict(values), 4) for values in ((0.31, 0.76, 0.61, 0.61), (0.30, 0.75, 0.60, 0.60))]
    [1.0, 0.0769]
    """

    name = "nb4"
    family = "learning"
    paper = "Safran et al. 2012, III, Fig 5"
    attributes = ATTRIBUTES
    link_context = LinkContextLevel.WITHOUT_SENTENCE

    tune: bool = True
    normalise: bool = True
    neighbours: bool = False  # whether words one step away in WordNet match in URLs and anchors, not only synonyms
    url: float = 0.30  # printed thresholds: the value must be above
    anchor: float = 0.75
    parents: float = 0.60
    surrounding: float = 0.60
    limit: int = 3  # number of irrelevant pages in a row at which a path is given up
    reserve: bool = False  # whether given-up links are fetched when no other link waits
    ordered: bool = False  # whether links are ordered by their posterior instead of first in, first out
    updatable: bool = False  # whether visited pages become training rows
    most: int = 500  # maximum number of such rows per label
    every: int = 25  # number of new rows between two training runs

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("limit", "most", "every"):
            if getattr(self, name) < 1:
                raise StrategyError(f"{self.name}: {name} is {getattr(self, name)}, it must be 1 or more")
        self._training_rows: list[list[TrainingRow]] = [[], [], []]  # examples; visited pages: irrelevant, relevant
        self._rows_since_training = 0

    def get_thresholds(self) -> tuple[float, ...]:
        """Return the thresholds of the attributes that this strategy uses."""
        return (self.url, self.anchor, self.parents, self.surrounding)[: len(self.attributes)]

    def get_related_words(self) -> RelatedWords | None:
        """Return None: the paper expands the words of the text, not the keywords."""
        return None

    def get_expansion(self) -> RelatedWords | None:
        """Return the function that finds the synonyms, and optionally the neighbours, of a word in WordNet.

        All words of a synonym match: "nyse" has the synonym "new york stock exchange" and matches "stock". Of the
        neighbours, only single words match.
        """
        wordnet = load_wordnet()

        def expand_word(word: str) -> list[str]:
            neighbours = wordnet.get_related_terms(word) if self.neighbours else ()
            return [*wordnet.get_synonyms(word), *(term for term in neighbours if " " not in term)]

        return expand_word

    def _build_keyword_tables(self, words: dict[str, float], idf: Mapping[str, float] | None = None) -> None:
        """Build the keyword tables and the evidence extractor."""
        super()._build_keyword_tables(words, idf)
        weighting, k = self.table_weighting
        self._evidence_extractor = EvidenceExtractor(
            self.expanded_table,
            self.exact_table,
            k=k,
            uses_idf=weighting != "tf",
            reads_texts=len(self.attributes) > 2,
            normalise=self.normalise,
        )
        self._excluded_urls = frozenset(self.context.topic.irrelevant)

    def _compute_attributes(self, evidence: Evidence) -> tuple[float, ...]:
        """Return the values of the attributes that this strategy uses."""
        return self._evidence_extractor.compute_attributes(evidence)[: len(self.attributes)]

    def compute_example_attributes(
        self, url: str, training_data: TrainingData, parents: ParentsLookup
    ) -> tuple[float, ...] | None:
        """Return the attributes of an example URL from the pages that link to it, or None if there are no links."""
        merged: Evidence | None = None
        for link in parents(url):
            (evidence,) = self._evidence_extractor.extract_evidence(
                [link], training_data.get_page(link.source)
            ).values()
            merged = evidence if merged is None else merged.merge(evidence)
        return None if merged is None else self._compute_attributes(merged)

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Classify each link by the evidence of this page. Links to irrelevant examples are not followed."""
        level = visit.priority.payload[1] if isinstance(visit.priority.payload, list) else 0
        priorities = {
            url: self._score_evidence(int(level), evidence)  # type: ignore[arg-type]  # payload of this strategy
            for url, evidence in self._evidence_extractor.extract_evidence(links, visit.page).items()
            if url not in self._excluded_urls
        }
        candidates = [priorities.get(link.url) for link in links]
        return [priority if priority and (priority.score > 0 or self.reserve) else None for priority in candidates]

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Merge the evidence of another page, with the smaller level counter. A seed keeps its priority."""
        if not isinstance(old.payload, list) or not isinstance(new.payload, list):
            return old  # a seed keeps its priority
        if old.payload[2] == MAX_PARENTS and old.payload[0] <= new.payload[0]:  # type: ignore[operator]  # payload of this strategy
            return old  # the maximum number of pages is reached
        evidence = Evidence.from_payload(old.payload[2:]).merge(Evidence.from_payload(new.payload[2:]))
        return self._score_evidence(min(old.payload[0], new.payload[0]), evidence)  # type: ignore[type-var,arg-type]

    def _score_evidence(self, level: int, evidence: Evidence) -> Priority:
        """Return the priority of a link on a page with this level counter.

        The payload contains the counter of the page, the counter of the link and the evidence.
        """
        values = self._compute_attributes(evidence)
        posterior = self.classifier.predict(values)
        own_level = 0 if posterior > 0.5 else level + 1
        score = (posterior if self.ordered else 1.0) if own_level < self.limit else 0.0
        parts = (*zip(self.attributes, values, strict=True), ("posterior", posterior), ("level", float(own_level)))
        return Priority(score, [level, own_level, *evidence.to_payload()], parts)

    def train_classifier(self, rows: Sequence[TrainingRow]) -> None:
        """Train the classifier, and keep the first rows as examples if the training set is updatable."""
        super().train_classifier(rows)
        if self.updatable and not self._training_rows[0]:
            self._training_rows[0] = list(rows)

    def learn(self, visit: Visit) -> None:
        """Add a visited page to an updatable training set, and retrain every `every` pages."""
        if not self.updatable or visit.relevance is None or not isinstance(visit.priority.payload, list):
            return
        values = tuple(
            round(value, 6) for value in self._compute_attributes(Evidence.from_payload(visit.priority.payload[2:]))
        )
        relevant = self.context.is_relevant(visit)
        rows = self._training_rows[1 + relevant]
        rows.append(TrainingRow("", values, relevant))
        del rows[: -self.most]
        self._rows_since_training += 1
        if self._rows_since_training >= self.every:
            self._rows_since_training = 0
            self.train_classifier(self._balance_rows())

    def _balance_rows(self) -> list[TrainingRow]:
        """Return the examples and the same number of the last visited pages of each label."""
        examples, irrelevant, relevant = self._training_rows
        count = min(len(irrelevant), len(relevant))
        return [*examples, *irrelevant[len(irrelevant) - count :], *relevant[len(relevant) - count :]]

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        state: Any = super().get_state()
        if self.updatable:
            state["rows"] = [[[int(row.relevant), *row.values] for row in rows] for rows in self._training_rows]
            state["since"] = self._rows_since_training
        return state  # type: ignore[no-any-return]

    def restore_state(self, state: Any) -> None:
        """Restore a state that `get_state` returned."""
        super().restore_state(state)
        saved = state.get("rows", [[], [], []])
        self._training_rows = [
            [TrainingRow("", tuple(values), bool(label)) for label, *values in rows] for rows in saved
        ]
        self._rows_since_training = state.get("since", 0)


@dataclass
class Nb2(Nb4):
    """Predecessor of NB4: naive Bayes with URL words and anchor text only, without related words.

        X = (URL words relevancy, anchor text relevancy)

    After Taylan et al. 2011, as compared by Safran et al., who add WordNet.
    """

    name = "nb2"
    paper = "Safran et al. 2012, IV b"
    attributes = ATTRIBUTES[:2]
    link_context = LinkContextLevel.NONE

    wordnet: bool = False


@dataclass
class Nb4Updatable(Nb4):
    """NB4 that adds every visited page to its training set, with the relevance that the crawl measured.

        training set = examples + the last n relevant and the last n irrelevant pages visited,   n ≤ `most`

    Examples stay. A new page replaces the oldest page of its label. n is the number of pages of the rarer label, so the
    classes stay balanced. Otherwise a crawl that visits irrelevant pages for a while would predict that every link is
    irrelevant. The classifier is retrained after every `every` pages. Waiting links keep their score until another page
    links to them.
    """

    name = "nb4_updatable"
    paper = "Safran et al. 2012, IV d"

    updatable: bool = True


@dataclass
class Nb4Ordered(Nb4):
    """NB4 with a queue sorted by the probability that a link is relevant.

        priority(X) = P(X | Relevant) · P(Relevant) / Σ over both classes

    The queue of the paper is first in, first out. Naive Bayes posteriors cluster near 0 and 1. This variant is not from
    the paper. Given-up links wait at the end of the queue.
    """

    name = "nb4_ordered"

    reserve: bool = True
    ordered: bool = True
