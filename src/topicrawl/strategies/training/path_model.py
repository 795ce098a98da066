"""Trained model of the HMM crawlers: clusters of pages, and how they lead to relevant pages (Batsakis 2007, 3.4).

The model consists of plain values, so it can be stored in the state of a crawl or in a file. It keeps only the terms
with the largest weights of each training page, with weights in thousandths. This is enough to find the nearest pages
and takes a few hundred kilobytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from random import Random
from typing import TYPE_CHECKING, Any, cast

from topicrawl.ml.hmm import HiddenMarkovModel, estimate_hmm
from topicrawl.models import JsonValue
from topicrawl.relevance.centroid import Centroid, compute_centroid
from topicrawl.strategies.training.training_paths import TrainingPaths
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.sparse_vectors import norm

if TYPE_CHECKING:  # numpy is imported when a model is trained or used, not when strategies are listed
    from topicrawl.ml.sparse_rows import SparseRows

_CENTROID_TERMS = 500  # number of terms of the centroid
_WEIGHT_SCALE = 1000  # weights are stored as integers in this unit
# Names that occur on one page only keep all pages far apart, so X-means would find no clusters.
_MAX_IDF_TERMS = 2000
Vector = dict[str, float]


@dataclass(frozen=True)
class PathModelConfig:
    """Training parameters of a path model."""

    clustering: str  # kmeans, xmeans, or bands of similarity to the relevant pages
    clusters: int
    levels: int
    neighbours: int
    smoothing: float
    terms: int


class PathModel:
    """Assign pages to clusters, and hold the hidden Markov model over levels and clusters."""

    def __init__(self, state: Mapping[str, Any], lexicon: LanguageLexicon) -> None:
        from topicrawl.ml.nearest_neighbours import NearestNeighbours
        from topicrawl.ml.sparse_rows import SparseRows

        self.state = state
        self.hmm = HiddenMarkovModel(
            tuple(state["initial"]), tuple(map(tuple, state["transition"])), tuple(map(tuple, state["emission"]))
        )
        self.centroid = Centroid(state["centroid"], lexicon)
        self._idf: Mapping[str, float] | None = state["idf"]
        self._bands: list[float] = state["bands"]
        self._columns = {term: column for column, term in enumerate(state["terms"])}
        rows = [dict(zip(columns, weights, strict=True)) for _, columns, weights in state["pages"]]
        labels = [label for label, _, _ in state["pages"]]
        self._neighbours = NearestNeighbours(
            SparseRows.from_mappings(rows, len(self._columns)).normalize(), labels, state["neighbours"]
        )

    def assign_cluster(self, vector: Mapping[str, float]) -> int | None:
        """Return the cluster of a page by its tf·idf vector, or None if the vector has no known term."""
        if self._bands:
            similarity = self.centroid.cosine(vector)
            return sum(bound <= similarity for bound in self._bands)
        idf, columns = self._idf, self._columns
        if idf is not None:
            language_idf = self.centroid.lexicon.idf
            # The vector uses the idf of the language, but this model has its own idf.
            vector = {t: weight / (language_idf(t) or 1.0) * idf[t] for t, weight in vector.items() if t in idf}
        return self._neighbours.predict({columns[term]: weight for term, weight in vector.items() if term in columns})


def validate_state(state: Mapping[str, Any]) -> None:
    """Raise ValueError if the parts of a loaded model are inconsistent."""
    levels, clusters, terms = len(state["initial"]), len(state["emission"][0]), len(state["terms"])
    table = [state["initial"], *state["transition"], *state["emission"]]
    widths = [levels] * (levels + 1) + [clusters] * levels
    pages = [
        label in range(clusters) and len(columns) == len(weights) and all(c in range(terms) for c in columns)
        for label, columns, weights in state["pages"]
    ]
    shares = [isinstance(share, int | float) and 0 <= share <= 1 for row in table for share in row]
    if [len(row) for row in table] != widths or not all(shares) or not all(pages):
        raise ValueError("the parts of the model are inconsistent")


def fit_path_model(
    paths: TrainingPaths, config: PathModelConfig, lexicon: LanguageLexicon, random: Random
) -> dict[str, JsonValue]:
    """Train a model on paths. Return it as plain values."""
    idf = _compute_idf(paths) if config.clustering == "xmeans" else None
    vectors = {url: _weight_terms(terms, None, lexicon) for url, terms in paths.term_counts.items()}
    relevant = sorted(url for url in paths.term_counts if url in paths.relevant)
    # Pages that were only scored as relevant would pull the centroid towards the words of the topic.
    reliable = [url for url in relevant if url in paths.examples] or relevant
    centroid = Centroid(compute_centroid([vectors[url] for url in reliable], _CENTROID_TERMS), lexicon)
    heads = {
        url: _select_heaviest_terms(vectors[url] if idf is None else _weight_terms(terms, idf, lexicon), config.terms)
        for url, terms in paths.term_counts.items()
    }
    bands: list[float] = []
    if config.clustering == "bands":
        similarities = {url: centroid.cosine(vector) for url, vector in vectors.items()}
        bands = _compute_quantiles(sorted(similarities.values()), config.clusters)
        clusters = {url: sum(bound <= value for bound in bands) for url, value in similarities.items()}
        count, heads = config.clusters, {}
    else:
        clusters, count = _cluster_pages(heads, paths, config, random)
    steps = [
        zip(paths.compute_levels(path, config.levels), (clusters[url] for url in path), strict=True)
        for path in paths.paths
    ]
    hmm = estimate_hmm(map(list, steps), config.levels, count, smoothing=config.smoothing)
    vocabulary = sorted({term for head in heads.values() for term in head})
    state = {
        "clustering": config.clustering,
        "neighbours": config.neighbours,
        "initial": _round_row(hmm.initial),
        "transition": [_round_row(row) for row in hmm.transition],
        "emission": [_round_row(row) for row in hmm.emission],
        "centroid": {term: round(weight, 5) for term, weight in centroid.weights.items()},
        "bands": bands,
        "idf": None if idf is None else {term: round(idf[term], 4) for term in vocabulary},
        "terms": vocabulary,
        "pages": _pack_pages(heads, clusters, vocabulary),
        "learned_from": {"walks": len(paths.paths), "pages": len(paths.term_counts), "relevant": len(relevant)},
    }
    return cast("dict[str, JsonValue]", state)


def _cluster_pages(
    heads: Mapping[str, Vector], paths: TrainingPaths, config: PathModelConfig, random: Random
) -> tuple[dict[str, int], int]:
    """Assign the training pages to clusters. Return the clusters by URL, and their number.

    K-means clusters only the irrelevant pages, and the last cluster holds the relevant ones. X-means clusters all
    pages.
    """
    from topicrawl.ml.kmeans import kmeans
    from topicrawl.ml.xmeans import xmeans

    if config.clustering == "xmeans":
        clustering = xmeans(_build_matrix(list(heads.values())), random, min_clusters=2, max_clusters=config.clusters)
        return dict(zip(heads, clustering.labels.tolist(), strict=True)), clustering.count
    others = [url for url in heads if url not in paths.relevant]
    clustering = kmeans(_build_matrix([heads[url] for url in others]), config.clusters - 1, random)
    clusters = dict.fromkeys(heads, config.clusters - 1)
    clusters.update(zip(others, clustering.labels.tolist(), strict=True))
    return clusters, config.clusters


def _build_matrix(vectors: list[Vector]) -> SparseRows:
    """Return term vectors as sparse unit rows."""
    from topicrawl.ml.sparse_rows import SparseRows

    columns = {term: column for column, term in enumerate(sorted({term for vector in vectors for term in vector}))}
    return SparseRows.from_mappings(
        [{columns[t]: w for t, w in vector.items()} for vector in vectors], len(columns)
    ).normalize()


def _pack_pages(heads: Mapping[str, Vector], clusters: Mapping[str, int], vocabulary: list[str]) -> list[object]:
    """Return the training pages as plain values: cluster, term columns and integer weights."""
    columns = {term: column for column, term in enumerate(vocabulary)}
    return [
        [clusters[url], [columns[term] for term in head], [max(1, round(w * _WEIGHT_SCALE)) for w in head.values()]]
        for url, head in heads.items()
    ]


def _compute_idf(paths: TrainingPaths) -> Vector:
    """Return log(pages / pages with the term) over the training set, for the terms on the most pages."""
    counts = Counter(term for terms in paths.term_counts.values() for term in terms)
    most_frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MAX_IDF_TERMS]
    return {term: log(len(paths.term_counts) / count) for term, count in most_frequent}


def _weight_terms(terms: Mapping[str, int], own: Vector | None, lexicon: LanguageLexicon) -> Vector:
    """Return the tf·idf weights of term counts, with the given idf or the idf of the language."""
    if own is not None:
        return {term: count * own[term] for term, count in terms.items() if term in own}
    return {term: count * lexicon.idf(term) for term, count in terms.items()}


def _select_heaviest_terms(vector: Vector, most: int) -> Vector:
    """Return the terms with the largest weights, scaled to length 1 and sorted by name."""
    head = dict(sorted(vector.items(), key=lambda item: (-item[1], item[0]))[:most])
    length = norm(head) or 1.0
    return {term: weight / length for term, weight in sorted(head.items()) if weight > 0.0}


def _compute_quantiles(values: list[float], bands: int) -> list[float]:
    """Return the bounds between bands with equally many values.

    >>> _compute_quantiles([0.1, 0.2, 0.3, 0.4], 2)
    [0.3]
    """
    return [round(values[number * len(values) // bands], 6) for number in range(1, bands)]


def _round_row(row: tuple[float, ...]) -> list[float]:
    """Round a probability distribution for storage."""
    return [round(share, 6) for share in row]
