"""Feature extraction for all links of a page at once, from data known before the fetch.

All computations use arrays, because a page has about a hundred links with fifty features each. The features of the
page's terms are appended to the cached features of URLs, and one gather operation selects the features of each link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.ml.online import Floats
from topicrawl.models import Link, Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.apprentice.context_window import extract_windows
from topicrawl.strategies.apprentice.feature_hashing import MIX_FACTOR, SALTS
from topicrawl.strategies.apprentice.topic_terms import Hashes, IntArray, Spans, TopicTerms, hash_text, read_terms
from topicrawl.strategies.apprentice.url_feature_cache import UrlFeatureCache
from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.tokenizer import tokenise

#: Texts with a topic similarity, in the order of the columns of `LinkFeatures.similarities`.
SIMILARITY_TEXTS = ("anchor", "address", "surroundings", "heading")
_TERM_SALTS = np.array([SALTS[name] for name in ("anchor", "near", "heading", "title")])
_MAX_CACHED_URLS = 20_000
_MAX_TITLE_WORDS = 12  # maximum number of title words

GroupNames = tuple[str, str, str, str]  # group names: page, page and tag path, directory, host


@dataclass(frozen=True, slots=True)
class LinkFeatures:
    """Features of the links of one page."""

    similarities: Floats  # topic similarities: links × `SIMILARITY_TEXTS`
    meanings: Floats  # similarities in meaning to the topic: links × `SIMILARITY_TEXTS`
    page_name: float  # topic similarity of the title or the URL of the page, whichever is larger
    features: Hashes  # concatenated features of all links
    lengths: NDArray[np.int32]
    anchor_terms: Hashes  # hashes of the terms of the links' own texts
    groups: list[GroupNames]


class _LinkTerms(NamedTuple):
    """Terms of the texts that belong to links."""

    terms: IntArray  # terms of the own texts, the texts before and after each link, the headings and the title
    hashes: Hashes
    sizes: IntArray  # number of terms of each of these texts
    heading_numbers: IntArray  # heading number of each link


class FeatureExtractor:
    """Extract link features with respect to a topic."""

    def __init__(self, vsm: Vsm) -> None:
        self._vsm = vsm
        self._reset_caches(vsm.vocabularies.get_vocabulary(vsm.lexicon))

    def _reset_caches(self, vocabulary: TermVocabulary) -> None:
        """Reset the term and URL caches for a vocabulary."""
        self.topic_terms = TopicTerms(self._vsm, vocabulary)
        self._url_cache = UrlFeatureCache(self.topic_terms)

    def extract_features(self, links: Sequence[Link], url: str, page: Page) -> LinkFeatures:
        """Return the features of the links of a page."""
        vocabulary = self._vsm.vocabularies.get_vocabulary(self._vsm.lexicon)
        if vocabulary is not self.topic_terms.vocabulary:
            self._reset_caches(vocabulary)
        elif len(self._url_cache) > _MAX_CACHED_URLS:
            self._url_cache = UrlFeatureCache(self.topic_terms)
        url_rows = self._url_cache.get_rows([link.url for link in links])
        page_row = self._url_cache.get_rows([url])
        terms = self._collect_terms(links, " ".join(tokenise(page.title)[:_MAX_TITLE_WORDS]))
        page_groups = {
            path: (url, f"{url} {_shorten_tag_path(path)}") for path in {link.tag_path: None for link in links}
        }
        url_groups = map(self._url_cache.groups.__getitem__, url_rows.tolist())
        return LinkFeatures(
            *self._compute_similarities(terms, url_rows, page_row),
            *self._hash_features(terms, url_rows),
            terms.hashes[: int(terms.sizes[: len(links)].sum())],
            [(*page_groups[link.tag_path], *names) for link, names in zip(links, url_groups, strict=True)],
        )

    def get_texts_by_hash(self, link: Link) -> Mapping[int, str]:
        """Return the texts of features by their hashes, including the words of a link."""
        self._url_cache.get_rows([link.url])
        texts = self.topic_terms.texts_by_hash
        texts.update(
            (hash_text(term), term) for term in self._vsm.lexicon.extract_terms(tokenise(link.anchor or link.alt))
        )
        return texts

    def _collect_terms(self, links: Sequence[Link], title: str) -> _LinkTerms:
        """Collect the terms in and around links."""
        windows = extract_windows(links, self.topic_terms.vocabulary)
        texts = [link.heading for link in links]
        headings = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        text_terms, spans = read_terms([*headings, title], self.topic_terms.vocabulary)
        link_terms = windows.terms[
            Spans(*map(np.concatenate, zip(windows.own, windows.beside, strict=True))).get_indices()
        ]
        terms = np.concatenate([link_terms, text_terms])
        return _LinkTerms(
            terms,
            self.topic_terms.get_hashes(terms),
            np.concatenate([windows.own.sizes, windows.beside.sizes, spans.sizes]),
            np.array(list(map(headings.__getitem__, texts)), np.int64),
        )

    def _compute_similarities(
        self, terms: _LinkTerms, url_rows: IntArray, page_row: IntArray
    ) -> tuple[Floats, Floats, float]:
        """Return the similarities of the links to the topic, by words and by meaning: links × `SIMILARITY_TEXTS`.

        The third value is the similarity of the page's title or URL by words.
        """
        count = len(url_rows)
        own, beside, headings = terms.sizes[:count], terms.sizes[count : 3 * count], terms.sizes[3 * count :]
        sizes = np.concatenate([own, beside[0::2] + beside[1::2], headings])
        by_words, by_meaning = np.empty((2, count, len(SIMILARITY_TEXTS)), np.float32)
        page_name = 0.0
        for table, of_urls, of_texts in (
            (by_words, self._url_cache.get_similarities, self.topic_terms.compute_similarities),
            (by_meaning, self._url_cache.get_meanings, self.topic_terms.compute_meanings),
        ):
            values = of_texts(terms.terms, sizes)
            table[:, 0], table[:, 2] = values[:count], values[count : 2 * count]
            table[:, 3] = values[2 * count :][terms.heading_numbers]
            table[:, 1] = of_urls(url_rows)
            if table is by_words:
                page_name = max(float(values[-1]), float(of_urls(page_row)[0]))
        return by_words, by_meaning, page_name

    def _hash_features(self, terms: _LinkTerms, url_rows: IntArray) -> tuple[Hashes, NDArray[np.int32]]:
        """Return the concatenated feature hashes of all links, and the number of features of each link."""
        count, term_count, column = len(url_rows), len(terms.terms), self._url_cache.features
        first, sizes = len(column.values), terms.sizes
        own, near, title = int(sizes[:count].sum()), int(sizes[count : 3 * count].sum()), int(sizes[-1])
        salts = _TERM_SALTS.repeat((own, near, term_count - own - near - title, title))
        pairs = terms.hashes[:own] * np.uint32(31)
        pairs[:-1] ^= terms.hashes[1:own]
        features = column.append_temporarily([terms.hashes ^ salts, pairs ^ SALTS["pair"]])
        features[first:] *= MIX_FACTOR
        # Per link: own terms, their pairs, terms before, terms after, heading, title, URL.
        parts = np.empty((2, count, 7), np.int64)
        spans = zip(Spans(sizes, sizes).make_contiguous(first), self._url_cache.get_spans(url_rows), strict=True)
        for part, (said_here, address) in zip(parts, spans, strict=True):
            part[:, 0] = part[:, 1] = said_here[:count]
            part[:, 2:4] = said_here[count : 3 * count].reshape(count, 2)
            part[:, 4], part[:, 5], part[:, 6] = said_here[3 * count :][terms.heading_numbers], said_here[-1], address
        starts, lengths = parts
        starts[:, 1] += term_count
        lengths[:, 1] -= lengths[:, 0] > 0
        return features[Spans(starts.ravel(), lengths.ravel()).get_indices()], lengths.sum(axis=1).astype(np.int32)


def _shorten_tag_path(path: str) -> str:
    """Return the last three elements of a tag path.

    >>> _shorten_tag_path("body/main/ul/li/p"), _shorten_tag_path("body")
    ('ul/li/p', 'body')
    """
    return "/".join(path.rsplit("/", 3)[-3:])
