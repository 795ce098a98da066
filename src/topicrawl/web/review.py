"""Review pages one by one, most uncertain first; the verdicts on a sample can decide on its whole group."""

from __future__ import annotations

from threading import Lock
from time import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import queries, review
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import ReviewCandidate, ReviewGroup
from topicrawl.relevance.base import UNDOUBTED
from topicrawl.web import crawl_figures
from topicrawl.web.actions import parse_label
from topicrawl.web.collections import OpenCollection
from topicrawl.web.page_context import build_page_context
from topicrawl.web.site import RequestForm, Site, get_collection_path, page_endpoint, redirect_to

_MAX_LISTED = 12  # pages of the queue to list beside the current page


class ReviewQueues:
    """Cached review groups of each collection, rebuilt when the pages or verdicts change."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[tuple[int, int], list[ReviewGroup], list[ReviewCandidate]]] = {}
        self._lock = Lock()

    def get_queue(self, opened: OpenCollection) -> tuple[list[ReviewGroup], list[ReviewCandidate]]:
        """Return the review groups and all candidate pages of a collection, from the cache if nothing has changed."""
        last = opened.store.query_value(int, "SELECT coalesce(max(number), 0) FROM annotations")
        state = (queries.get_progress(opened.store)[0], last)
        key = str(opened.directory)
        with self._lock:
            cached = self._cache.get(key)
            if cached is None or cached[0] != state:
                pages = review.load_candidates(opened.store, opened.topic.threshold)
                cached = (state, review.build_groups(pages, opened.topic.threshold), pages)
                self._cache[key] = cached
            return cached[1], cached[2]


QUEUES = ReviewQueues()


@page_endpoint
def show_queue(site: Site, request: Request, form: RequestForm) -> Response:
    """Show the current page of the review queue with its group and the next pages."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        threshold = opened.topic.threshold
        groups, pages = QUEUES.get_queue(opened)
        waiting = review.build_review_queue(groups, threshold)
        place = min(form.get_integer("place", 0), max(0, len(waiting) - 1))
        read, missed = review.count_missed_pages(pages)
        values: dict[str, Any] = {
            "it": crawl_figures.get_figures(opened),
            "waiting": waiting[max(0, place - 2) : place + _MAX_LISTED],
            "count": len(waiting),
            "place": place,
            "first": max(0, place - 2),
            "judged": sum(page.is_reviewed for page in pages),
            "accepted": sum(group.decision == AnnotationLabel.RELEVANT for group in groups),
            "declined": sum(group.decision == AnnotationLabel.IRRELEVANT for group in groups),
            "groups": sum(group.can_decide for group in groups),
            "read": read,
            "missed": missed,
            "undoubted": len(review.list_undoubted_pages(pages)),
            "heeded": crawl_figures.get_feedback_state(opened),
            "pending": crawl_figures.count_pending(opened),
            "last": annotation_log.find_last_action(opened.store),
        }
        if not waiting:
            return site.render_page("review.html", **values, view=None)
        candidate, group = waiting[place]
        visit = opened.store.find_visit(candidate.url)
        assert visit is not None
        return site.render_page("review.html", **values, **build_page_context(opened, visit), group=group)


@page_endpoint
def show_feedback_state(site: Site, request: Request, form: RequestForm) -> Response:
    """Render the part of the page that shows whether the crawl has applied the verdicts; the page polls it."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        heeded, pending = crawl_figures.get_feedback_state(opened), crawl_figures.count_pending(opened)
        return site.render_page("followed.html", it=crawl_figures.get_figures(opened), heeded=heeded, pending=pending)


@page_endpoint
def judge_page(site: Site, request: Request, form: RequestForm) -> Response:
    """Add a verdict on the current page, and decide on its group if the sample of the group is complete."""
    name, url, place = request.path_params["name"], form.get_url(), form.get_integer("place", 0)
    label, threshold = parse_label(form.get_text("verdict")), get_threshold(site, name)
    with site.collections.open_store(name) as store:
        (page_url,) = review.find_page_urls(store, [url])
        review.review_pages(store, {page_url: label}, threshold, origin="read", at=time())
    return redirect_to(f"{get_collection_path(name)}/review", place=place)


@page_endpoint
def accept_undoubted(site: Site, request: Request, form: RequestForm) -> Response:
    """Mark all undoubtedly relevant pages as relevant without review."""
    name = request.path_params["name"]
    threshold = get_threshold(site, name)
    with site.collections.open_store(name) as store:
        review.label_group(store, UNDOUBTED, AnnotationLabel.RELEVANT, threshold, at=time())
    return redirect_to(f"{get_collection_path(name)}/review")


def get_threshold(site: Site, name: str) -> float:
    """Return the relevance threshold of the topic of a collection."""
    with site.collections.open_readonly(name) as opened:
        return opened.topic.threshold
