"""Automatic reviewer: another relevance model reviews the samples of a crawl in place of a person.

Kluev 2000, section 6, names such a machine expert as future work.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from topicrawl import parse
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_loader import reload_page
from topicrawl.collection.review import (
    AppliedDecision,
    build_groups,
    build_review_queue,
    load_candidates,
    review_pages,
)
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError
from topicrawl.models import ParseFunction
from topicrawl.relevance.base import BUILT_IN_JUDGES, Relevance
from topicrawl.relevance.judges import create_judge, needs_styles
from topicrawl.relevance.multilingual import MultilingualVsm
from topicrawl.text.embedding import BUILT_IN, load_vector_source
from topicrawl.topic import DEFAULT_THRESHOLD, Topic

#: Origin of the annotations of an automatic reviewer, before the name of its relevance model.
JUDGE_ORIGIN = "judge"


class JudgeReview(NamedTuple):
    """Result of an automatic review."""

    relevant: int  # pages of the samples that the judge finds relevant
    irrelevant: int
    unreadable: int  # pages that cannot be read from the archive, and have no verdict
    decisions: list[AppliedDecision]


def check_reviewer_judge(store: CollectionStore, name: str) -> None:
    """Raise `UsageError` if a judge cannot review a crawl: it judged the crawl, or is no model of Topicrawl.

    A model of the user is excluded because a request to the server must not load code.
    """
    crawl_judge = _get_crawl_judge(store)
    if name not in BUILT_IN_JUDGES:
        raise UsageError(f"the judge {name[:40]!r} cannot review: use one of {', '.join(BUILT_IN_JUDGES)}")
    if name == (crawl_judge or "cosine"):
        raise UsageError(f"the judge {name} judged this crawl: choose another judge to review it")


def _get_crawl_judge(store: CollectionStore) -> str:
    """Return the name of the judge of a crawl; empty for the cosine similarity in version 0.1."""
    return _get_setting(store, "judge", "")


def _get_setting(store: CollectionStore, name: str, default: str) -> str:
    settings = store.get_fact("settings")
    return str(settings.get(name, default)) if isinstance(settings, dict) else default


def review_with_judge(directory: Path, store: CollectionStore, name: str, *, at: float) -> JudgeReview:
    """Review the waiting pages of all samples with another judge, and decide on the groups.

    Verdicts of users stay: the judge reviews only pages that have none. Its verdicts are one action.
    """
    check_reviewer_judge(store, name)
    topic = load_crawl_topic(directory)
    vectors = load_vector_source(_get_setting(store, "embedding", BUILT_IN))
    judge = create_judge(name, MultilingualVsm(topic, vector_source=vectors))
    minimum = _choose_threshold(name, _get_crawl_judge(store), topic)
    groups = build_groups(load_candidates(store, topic.threshold), topic.threshold)
    urls = [page.url for page, _ in build_review_queue(groups, topic.threshold)]
    parse_page = partial(parse.parse_response, context=False, styles=needs_styles(name))
    scores = _score_pages(directory, store, urls, judge=judge, parse_page=parse_page)
    labels = {
        url: AnnotationLabel.RELEVANT if score >= minimum else AnnotationLabel.IRRELEVANT
        for url, score in scores.items()
    }
    origin = f"{JUDGE_ORIGIN} {name}"
    decisions = review_pages(store, labels, topic.threshold, origin=origin, at=at) if labels else []
    relevant = sum(label == AnnotationLabel.RELEVANT for label in labels.values())
    return JudgeReview(relevant, len(labels) - relevant, len(urls) - len(labels), decisions)


def _choose_threshold(name: str, crawl_judge: str, topic: Topic) -> float:
    """Return the relevance from which the judge finds a page relevant.

    The threshold of the topic is a probability, unless the crawl compares cosine similarities.
    """
    if name == "cosine":
        return topic.similarity_threshold
    is_probability = crawl_judge not in ("", "cosine") or name == "multi_metric"
    return topic.threshold if is_probability else DEFAULT_THRESHOLD


def _score_pages(
    directory: Path, store: CollectionStore, urls: list[str], *, judge: Relevance, parse_page: ParseFunction
) -> dict[str, float]:
    """Return the scores of the pages that can be read from the archive."""
    archive, scores = WarcArchive(directory), {}
    try:
        for url in urls:
            visit = store.find_visit(url)
            page = reload_page(archive, visit, parse_page) if visit is not None else None
            if page is not None:
                scores[url] = judge.score(page)
    finally:
        archive.close()
    return scores
