"""Review pages one by one, most uncertain first; the verdicts on a sample can decide on its whole group.

The script `review.js` shows the pages of the queue in place and sends the verdicts in the background. Without it, each
verdict is a form that leads to the next page.
"""

from __future__ import annotations

from time import time
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl.collection import agreement, notes, review
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel, clean_annotator
from topicrawl.collection.review import AppliedDecision, ReviewCandidate
from topicrawl.collection.review_index import ReviewIndex
from topicrawl.errors import UsageError
from topicrawl.urls import fingerprint
from topicrawl.web import crawl_figures
from topicrawl.web.actions import get_return_path, parse_label
from topicrawl.web.collections import NotFoundError, OpenCollection
from topicrawl.web.page_context import build_page_context
from topicrawl.web.site import (
    ANNOTATOR_COOKIE,
    RequestForm,
    Site,
    get_annotator,
    get_collection_path,
    is_inline,
    page_endpoint,
    redirect_to,
)

_MAX_LISTED = 12  # pages of the queue to list beside the current page
_MAX_QUEUED = 60  # pages of the queue that the script receives at once
_MAX_DISAGREEMENTS = 100
#: Queues: name → description for the page.
QUEUES = {
    "samples": "Samples of all groups",
    "second": "Second opinions: pages that others have reviewed",
}


@page_endpoint
def set_annotator(site: Site, request: Request, form: RequestForm) -> Response:
    """Store the name of the user in a cookie of the browser."""
    name = clean_annotator(form.get_text("name", max_length=200))
    collection = form.get_text("collection", max_length=200)
    response = redirect_to(f"{get_collection_path(collection)}/review" if collection else "/")
    response.set_cookie(ANNOTATOR_COOKIE, quote(name, safe=""), max_age=365 * 86_400, httponly=True, samesite="strict")
    return response


def _get_queue_name(form: RequestForm) -> str:
    name = form.get_text("queue", "samples")
    if name not in QUEUES:
        raise UsageError(f"there is no review queue {name[:40]!r}")
    return name


def list_queue(opened: OpenCollection, index: ReviewIndex, queue: str, annotator: str) -> list[ReviewCandidate]:
    """Return the pages of a review queue in their order."""
    if queue == "second":
        found = (index.find_page(fingerprint(url)) for url in agreement.find_second_opinions(opened.store, annotator))
        return [place[0] for place in found if place is not None]
    return [page for page, _ in review.build_review_queue(index.groups, index.threshold)]


def _describe_progress(index: ReviewIndex, left: int) -> dict[str, int]:
    """Return the figures of a review."""
    groups = [group for group in index.groups if group.can_decide]
    read, missed = review.count_missed_pages(index.pages)
    return {
        "left": left,
        "reviewed": sum(page.is_reviewed for page in index.pages),
        "groups": len(groups),
        "accepted": sum(group.decision == AnnotationLabel.RELEVANT for group in groups),
        "rejected": sum(group.decision == AnnotationLabel.IRRELEVANT for group in groups),
        "read": read,
        "missed": missed,
        "undoubted": len(review.list_undoubted_pages(index.pages)),
    }


@page_endpoint
def show_queue(site: Site, request: Request, form: RequestForm) -> Response:
    """Show the first page of a review queue, or the page `url`, with its group and the next pages."""
    queue, annotator = _get_queue_name(form), get_annotator(request)
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        with opened.cache.use_review(opened.store, opened.topic) as index:
            waiting = list_queue(opened, index, queue, annotator)
            progress = _describe_progress(index, len(waiting))
            url = form.get_url() if form.get_text("url", max_length=4000) else waiting[0].url if waiting else ""
            group = (index.find_page(fingerprint(url)) or (None, None))[1]
        urls = [page.url for page in waiting[:_MAX_QUEUED]]
        values: dict[str, Any] = {
            "it": crawl_figures.get_figures(opened),
            "waiting": waiting[:_MAX_LISTED],
            "pages": [{"url": page.url, "title": page.title} for page in waiting[:_MAX_QUEUED]],
            "progress": progress,
            "next_url": next((other for other in urls if other != url), ""),
            "queue": queue,
            "queues": QUEUES,
            "annotator": annotator,
            "heeded": crawl_figures.get_feedback_state(opened),
            "pending": crawl_figures.count_pending(opened),
            "last": annotation_log.find_last_action(opened.store),
            "url": url,
            "view": None,
        }
        if url:
            values |= {**_build_item(opened, url), "group": group}
        return site.render_page("review.html", **values)


def _build_item(opened: OpenCollection, url: str) -> dict[str, Any]:
    """Return the template values of one page to review."""
    visit = opened.store.find_visit(url)
    if visit is None or visit.failure is not None:
        raise NotFoundError(f"{url} is not in {opened.name}")
    return build_page_context(opened, visit)


@page_endpoint
def show_item(site: Site, request: Request, form: RequestForm) -> Response:
    """Render one page to review as a part of the review page; the script prefetches the next pages."""
    url = form.get_url()
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        with opened.cache.use_review(opened.store, opened.topic) as index:
            group = (index.find_page(fingerprint(url)) or (None, None))[1]
        values = _build_item(opened, url)
        return site.render_page("review_item.html", **values, it=crawl_figures.get_figures(opened), group=group)


@page_endpoint
def list_waiting(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the next pages of a review queue and the progress as JSON."""
    queue, annotator = _get_queue_name(form), get_annotator(request)
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        with opened.cache.use_review(opened.store, opened.topic) as index:
            waiting = list_queue(opened, index, queue, annotator)
            progress = _describe_progress(index, len(waiting))
        pages = [{"url": page.url, "title": page.title} for page in waiting[:_MAX_QUEUED]]
        return JSONResponse({"pages": pages, "progress": progress})


@page_endpoint
def show_feedback_state(site: Site, request: Request, form: RequestForm) -> Response:
    """Render the part of the page that shows whether the crawl has applied the verdicts; the page polls it."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        heeded, pending = crawl_figures.get_feedback_state(opened), crawl_figures.count_pending(opened)
        return site.render_page("followed.html", it=crawl_figures.get_figures(opened), heeded=heeded, pending=pending)


@page_endpoint
def judge_page(site: Site, request: Request, form: RequestForm) -> Response:
    """Add a verdict on a page, and decide on its group if the sample of the group is complete.

    The script gets the number of the action, which it can undo, and the progress as JSON.
    """
    name, url, queue = request.path_params["name"], form.get_url(), _get_queue_name(form)
    label, annotator = parse_label(form.get_text("verdict")), get_annotator(request)
    with site.collections.open_writable(name) as opened, opened.cache.use_review(opened.store, opened.topic) as index:
        (page_url,) = review.find_page_urls(opened.store, [url])
        action, decisions = index.review_pages(
            opened.store, {page_url: label}, origin="read", at=time(), annotator=annotator
        )
        if is_inline(request):
            progress = _describe_progress(index, len(list_queue(opened, index, queue, annotator)))
            decided = [decision._asdict() for decision in decisions]
            return JSONResponse({"action": action, "decisions": decided, "progress": progress})
    return redirect_to(f"{get_collection_path(name)}/review", **({"queue": queue} if queue != "samples" else {}))


@page_endpoint
def undo_verdict(site: Site, request: Request, form: RequestForm) -> Response:
    """Undo an action by its number, or the last action. The script gets the restored labels and the progress."""
    name, number = request.path_params["name"], form.get_integer("action", 0, maximum=1 << 40)
    queue, annotator = _get_queue_name(form), get_annotator(request)
    with site.collections.open_writable(name) as opened, opened.cache.use_review(opened.store, opened.topic) as index:
        if number:
            rows = annotation_log.undo_action(opened.store, number, at=time())
        else:
            rows = annotation_log.undo_last_action(opened.store, at=time())
        index.update(opened.store)
        if is_inline(request):
            progress = _describe_progress(index, len(list_queue(opened, index, queue, annotator)))
            return JSONResponse(
                {"pages": [{"url": row.url, "verdict": row.label} for row in rows], "progress": progress}
            )
    return redirect_to(get_return_path(form, name))


@page_endpoint
def show_groups(site: Site, request: Request, form: RequestForm) -> Response:
    """Show all review groups with their samples and decisions, and buttons to accept or reject a group."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        with opened.cache.use_review(opened.store, opened.topic) as index:
            rows = [
                {
                    "group": group,
                    "pages": len(group.pages),
                    "sample": len(group.sample),
                    "reviewed": len(group.reviewed_pages),
                    "relevant": group.relevant_count,
                    "decision": group.decision,
                    "undecided": len(group.undecided_urls),
                    "next": next((page.url for page in group.pages_to_review), ""),
                }
                for group in index.groups
            ]
        figures = crawl_figures.get_figures(opened)
        last = annotation_log.find_last_action(opened.store)
        return site.render_page("groups.html", it=figures, rows=rows, last=last)


@page_endpoint
def label_group(site: Site, request: Request, form: RequestForm) -> Response:
    """Accept or reject the pages of a group that have no verdict."""
    name, label = request.path_params["name"], parse_label(form.get_text("verdict"))
    with site.collections.open_writable(name) as opened, opened.cache.use_review(opened.store, opened.topic) as index:
        apply_group_label(opened, index, form.get_text("group", max_length=4000), label, get_annotator(request))
    return redirect_to(get_return_path(form, name))


def apply_group_label(
    opened: OpenCollection, index: ReviewIndex, group: str, label: AnnotationLabel, annotator: str
) -> AppliedDecision:
    """Label the pages of a group without a sample. Raise `UsageError` if there is no such group."""
    if label not in (AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT):
        raise UsageError("a group is accepted (relevant) or rejected (irrelevant)")
    found = review.find_group(index.groups, group)
    decision = review.label_group(opened.store, found, label, at=time(), annotator=annotator)
    index.update(opened.store)
    return decision


@page_endpoint
def show_agreement(site: Site, request: Request, form: RequestForm) -> Response:
    """Show who gave how many verdicts, the agreement of each pair of reviewers, and the pages they disagree on."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        report = agreement.build_agreement_report(opened.store)
        return site.render_page(
            "agreement.html",
            it=crawl_figures.get_figures(opened),
            report=report,
            disagreements=report.disagreements[:_MAX_DISAGREEMENTS],
            annotator=get_annotator(request),
        )


@page_endpoint
def edit_notes(site: Site, request: Request, form: RequestForm) -> Response:
    """Add or delete a note on a page, or replace its tags. Return the part of the page that shows them."""
    name, url = request.path_params["name"], form.get_url()
    with site.collections.open_writable(name) as opened:
        (page_url,) = review.find_page_urls(opened.store, [url])
        page = fingerprint(page_url)
        if number := form.get_integer("delete", 0, maximum=1 << 40):
            notes.delete_note(opened.store, number)
        elif note := form.get_text("note", max_length=notes.MAX_NOTE_LENGTH):
            notes.add_note(opened.store, page, note, annotator=get_annotator(request), at=time())
        if form.get_text("has_tags"):
            notes.set_tags(opened.store, page, notes.parse_tags(form.get_text("tags")))
        if is_inline(request):
            visit = opened.store.find_visit(page_url)
            return site.render_page(
                "notes.html",
                it={"name": name},
                visit=visit,
                notes=notes.list_notes(opened.store, page),
                tags=notes.list_tags(opened.store, page),
            )
    return redirect_to(get_return_path(form, name))
