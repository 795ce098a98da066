"""What the HMM crawlers have learned: clusters of pages, and how they lead to relevant ones (Batsakis 2007, 3.4).

All of it is plain values, so that it can be a crawl's state or a file. Of each training page only its heaviest terms
are kept, with weights in thousandths: enough to find the nearest pages, and some hundred kilobytes in all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from random import Random
from typing import TYPE_CHECKING, Any, cast

from topicrawl.learn.hmm import Hmm, estimated
from topicrawl.records import Carry
from topicrawl.relevance.centroid import Centroid, mean_direction
from topicrawl.strategies.walks import Walks
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.vectors import norm

if TYPE_CHECKING:  # numpy is loaded when a model is fitted or used, not when strategies are listed
    from topicrawl.learn.sparse import Rows

_CENTROID = 500  # terms of the centroid
_PARTS = 1000  # of a weight
# Names that one page alone repeats keep all pages far from each other, and X-means sees no clusters among them.
_WIDESPREAD = 2000
Vector = dict[str, float]


@dataclass(frozen=True)
class Fit:
    """How a model is fitted."""

    clustering: str  # kmeans, xmeans, or bands of similarity to the relevant pages
    clusters: int
    levels: int
    neighbours: int
    smoothing: float
    terms: int


class PathModel:
    """The cluster of a page, and the hidden Markov model over levels and clusters."""

    def __init__(self, plain: Mapping[str, Any], lexicon: Lexicon) -> None:
        from topicrawl.learn.neighbours import Neighbours
        from topicrawl.learn.sparse import Rows

        self.plain = plain
        self.hmm = Hmm(
            tuple(plain["initial"]), tuple(map(tuple, plain["transition"])), tuple(map(tuple, plain["emission"]))
        )
        self.centroid = Centroid(plain["centroid"], lexicon)
        self._idf: Mapping[str, float] | None = plain["idf"]
        self._bands: list[float] = plain["bands"]
        self._columns = {term: column for column, term in enumerate(plain["terms"])}
        rows = [dict(zip(columns, weights, strict=True)) for _, columns, weights in plain["pages"]]
        labels = [label for label, _, _ in plain["pages"]]
        self._known = Neighbours(Rows.of(rows, len(self._columns)).unit(), labels, plain["neighbours"])

    def cluster(self, vector: Mapping[str, float]) -> int | None:
        """Where a page belongs, by its tf·idf vector; None when it says nothing that is known."""
        if self._bands:
            similarity = self.centroid.cosine(vector)
            return sum(bound <= similarity for bound in self._bands)
        idf, columns = self._idf, self._columns
        if idf is not None:
            usual = self.centroid.lexicon.idf
            # The vector comes with the idf of the language; this model has its own.
            vector = {t: weight / (usual(t) or 1.0) * idf[t] for t, weight in vector.items() if t in idf}
        return self._known.label({columns[term]: weight for term, weight in vector.items() if term in columns})


def check(plain: Mapping[str, Any]) -> None:
    """Raise ValueError where the parts of a model from outside do not fit together."""
    levels, clusters, terms = len(plain["initial"]), len(plain["emission"][0]), len(plain["terms"])
    table = [plain["initial"], *plain["transition"], *plain["emission"]]
    widths = [levels] * (levels + 1) + [clusters] * levels
    pages = [
        label in range(clusters) and len(columns) == len(weights) and all(c in range(terms) for c in columns)
        for label, columns, weights in plain["pages"]
    ]
    shares = [isinstance(share, int | float) and 0 <= share <= 1 for row in table for share in row]
    if [len(row) for row in table] != widths or not all(shares) or not all(pages):
        raise ValueError("the parts of the model do not fit together")


def fitted(walks: Walks, fit: Fit, lexicon: Lexicon, random: Random) -> dict[str, Carry]:
    """A model of walks, as plain values."""
    own = _idf(walks) if fit.clustering == "xmeans" else None
    usual = {url: _weighed(terms, None, lexicon) for url, terms in walks.terms.items()}
    relevant = sorted(url for url in walks.terms if url in walks.relevant)
    # Pages that were only judged relevant would pull the centroid towards the topic's words.
    surest = [url for url in relevant if url in walks.examples] or relevant
    centroid = Centroid(mean_direction([usual[url] for url in surest], _CENTROID), lexicon)
    heads = {
        url: _heaviest(usual[url] if own is None else _weighed(terms, own, lexicon), fit.terms)
        for url, terms in walks.terms.items()
    }
    bands: list[float] = []
    if fit.clustering == "bands":
        similarities = {url: centroid.cosine(vector) for url, vector in usual.items()}
        bands = _quantiles(sorted(similarities.values()), fit.clusters)
        clusters = {url: sum(bound <= value for bound in bands) for url, value in similarities.items()}
        count, heads = fit.clusters, {}
    else:
        clusters, count = _clustered(heads, walks, fit, random)
    steps = [zip(walks.levels(walk, fit.levels), (clusters[url] for url in walk), strict=True) for walk in walks.walks]
    hmm = estimated(map(list, steps), fit.levels, count, smoothing=fit.smoothing)
    vocabulary = sorted({term for head in heads.values() for term in head})
    plain = {
        "clustering": fit.clustering,
        "neighbours": fit.neighbours,
        "initial": _rounded(hmm.initial),
        "transition": [_rounded(row) for row in hmm.transition],
        "emission": [_rounded(row) for row in hmm.emission],
        "centroid": {term: round(weight, 5) for term, weight in centroid.weights.items()},
        "bands": bands,
        "idf": None if own is None else {term: round(own[term], 4) for term in vocabulary},
        "terms": vocabulary,
        "pages": _pages(heads, clusters, vocabulary),
        "learned_from": {"walks": len(walks.walks), "pages": len(walks.terms), "relevant": len(relevant)},
    }
    return cast("dict[str, Carry]", plain)


def _clustered(heads: Mapping[str, Vector], walks: Walks, fit: Fit, random: Random) -> tuple[dict[str, int], int]:
    """K-means: the irrelevant pages in all clusters but the last, that of the relevant; X-means: all together."""
    from topicrawl.learn.kmeans import kmeans
    from topicrawl.learn.xmeans import xmeans

    if fit.clustering == "xmeans":
        found = xmeans(_rows(list(heads.values())), random, least=2, most=fit.clusters)
        return dict(zip(heads, found.labels.tolist(), strict=True)), found.count
    others = [url for url in heads if url not in walks.relevant]
    found = kmeans(_rows([heads[url] for url in others]), fit.clusters - 1, random)
    clusters = dict.fromkeys(heads, fit.clusters - 1)
    clusters.update(zip(others, found.labels.tolist(), strict=True))
    return clusters, fit.clusters


def _rows(vectors: list[Vector]) -> Rows:
    from topicrawl.learn.sparse import Rows

    columns = {term: column for column, term in enumerate(sorted({term for vector in vectors for term in vector}))}
    return Rows.of([{columns[t]: w for t, w in vector.items()} for vector in vectors], len(columns)).unit()


def _pages(heads: Mapping[str, Vector], clusters: Mapping[str, int], vocabulary: list[str]) -> list[object]:
    columns = {term: column for column, term in enumerate(vocabulary)}
    return [
        [clusters[url], [columns[term] for term in head], [max(1, round(w * _PARTS)) for w in head.values()]]
        for url, head in heads.items()
    ]


def _idf(walks: Walks) -> Vector:
    """log(pages / pages with the term) over the training set, for the terms that stand on the most of its pages."""
    found = Counter(term for terms in walks.terms.values() for term in terms)
    widespread = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_WIDESPREAD]
    return {term: log(len(walks.terms) / count) for term, count in widespread}


def _weighed(terms: Mapping[str, int], own: Vector | None, lexicon: Lexicon) -> Vector:
    if own is not None:
        return {term: count * own[term] for term, count in terms.items() if term in own}
    return {term: count * lexicon.idf(term) for term, count in terms.items()}


def _heaviest(vector: Vector, most: int) -> Vector:
    """The heaviest terms, scaled to length 1, in the order of their names."""
    head = dict(sorted(vector.items(), key=lambda item: (-item[1], item[0]))[:most])
    length = norm(head) or 1.0
    return {term: weight / length for term, weight in sorted(head.items()) if weight > 0.0}


def _quantiles(values: list[float], bands: int) -> list[float]:
    """The bounds between equally full bands.

    >>> _quantiles([0.1, 0.2, 0.3, 0.4], 2)
    [0.3]
    """
    return [round(values[number * len(values) // bands], 6) for number in range(1, bands)]


def _rounded(row: tuple[float, ...]) -> list[float]:
    return [round(share, 6) for share in row]
