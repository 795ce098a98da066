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
from topicrawl.collection.store import CollectionStore
from topicrawl.urls import fingerprint
from topicrawl.web import crawl_figures
from topicrawl.web.actions import save_verdict
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
                pages = review.load_candidates(opened.store)
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
        read, missed = review.count_missed_pages(pages, threshold)
        values: dict[str, Any] = {
            "it": crawl_figures.get_figures(opened),
            "waiting": waiting[max(0, place - 2) : place + _MAX_LISTED],
            "count": len(waiting),
            "place": place,
            "first": max(0, place - 2),
            "judged": sum(page.label is not None for page in pages),
            "accepted": sum(group.is_accepted for group in groups),
            "groups": len(groups),
            "read": read,
            "missed": missed,
            "undoubted": len(review.list_certain_pages(pages, threshold)),
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
    """Add a verdict on the current page, and accept its group if the sample of the group is good enough."""
    name, url, place = request.path_params["name"], form.get_url(), form.get_integer("place", 0)
    save_verdict(site, name, [url], form.get_text("verdict"), "read")
    with site.collections.open_store(name) as store:
        accept_group(store, url, _get_threshold(site, name))
    return redirect_to(f"{get_collection_path(name)}/review", place=place)


def accept_group(store: CollectionStore, url: str, threshold: float) -> list[str]:
    """Mark the other pages of the group of a page as relevant, if its sample is reviewed and good enough.

    Return the marked URLs; empty if the page is in no sample or the group is not accepted.
    """
    page = fingerprint(url)
    for group in review.build_groups(review.load_candidates(store), threshold):
        if any(candidate.id == page for candidate in group.sample) and (urls := group.implied_urls):
            annotation_log.annotate(store, urls, AnnotationLabel.RELEVANT, origin="group", at=time())
            return urls
    return []


@page_endpoint
def accept_undoubted(site: Site, request: Request, form: RequestForm) -> Response:
    """Mark all undoubtedly relevant pages as relevant without review."""
    name = request.path_params["name"]
    with site.collections.open_store(name) as store:
        urls = review.list_certain_pages(review.load_candidates(store), _get_threshold(site, name))
        if urls:
            annotation_log.annotate(store, urls, AnnotationLabel.RELEVANT, origin="undoubted", at=time())
    return redirect_to(f"{get_collection_path(name)}/review")


def _get_threshold(site: Site, name: str) -> float:
    with site.collections.open_readonly(name) as opened:
        return opened.topic.threshold
