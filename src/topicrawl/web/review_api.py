"""Handlers of the JSON API for the review of a collection by samples."""

from __future__ import annotations

from time import time
from typing import Any

from msgspec import to_builtins
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl.collection import review
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import AppliedDecision
from topicrawl.collection.review_report import build_review_report, format_sheet, parse_sheet, select_changed
from topicrawl.collection.store import CollectionStore
from topicrawl.engine.judge_reviewer import check_reviewer_judge, review_with_judge
from topicrawl.errors import UsageError
from topicrawl.web.api import JsonBody, json_endpoint
from topicrawl.web.review import get_threshold
from topicrawl.web.site import RequestForm, Site, page_endpoint

_GROUP_ACTIONS = {"accept": AnnotationLabel.RELEVANT, "reject": AnnotationLabel.IRRELEVANT}
_VERDICTS = (AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT, AnnotationLabel.UNSURE)


@page_endpoint
def get_review(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the groups of a review and the pages to review."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        return JSONResponse(to_builtins(build_review_report(opened.store, opened.topic.threshold)))


@page_endpoint
def get_sheet(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the review sheet as CSV."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        threshold = opened.topic.threshold
        text = format_sheet(review.build_groups(review.load_candidates(opened.store, threshold), threshold))
    headers = {"content-disposition": 'attachment; filename="review.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _add_verdicts(
    store: CollectionStore, labels: dict[str, AnnotationLabel], threshold: float
) -> list[AppliedDecision]:
    """Add the verdicts that are new, and return the decisions on groups."""
    verdicts = dict(zip(review.find_page_urls(store, labels), labels.values(), strict=True))
    changed = select_changed(verdicts, review.load_candidates(store, threshold))
    return review.review_pages(store, changed, threshold, origin="read", at=time()) if changed else []


def _build_response(store: CollectionStore, decisions: list[AppliedDecision], threshold: float) -> Response:
    """Return the decisions on groups and the state of the review."""
    report: dict[str, Any] = to_builtins(build_review_report(store, threshold))
    return JSONResponse({**report, "decisions": [decision._asdict() for decision in decisions]})


@json_endpoint
def add_review(site: Site, request: Request, body: JsonBody) -> Response:
    """Add verdicts on pages, accept or reject a group, or let another judge review. Return the new state."""
    name = request.path_params["name"]
    labels = _collect_labels(body)
    groups = [(body.get_text(action), label) for action, label in _GROUP_ACTIONS.items() if body.has_field(action)]
    judge = body.get_text("judge")
    if not labels and not groups and not judge:
        raise UsageError("give relevant, irrelevant, unsure, accept, reject or judge")
    threshold = get_threshold(site, name)
    with site.collections.open_store(name) as store:
        # Invalid names change nothing.
        for group, _ in groups:
            review.find_group(store, group, threshold)
        if judge:
            check_reviewer_judge(store, judge)
        decisions = _add_verdicts(store, labels, threshold)
        decisions += [review.label_group(store, group, label, threshold, at=time()) for group, label in groups]
        if judge:
            directory = site.collections.get_directory(name)
            decisions += review_with_judge(directory, store, judge, at=time()).decisions
        return _build_response(store, decisions, threshold)


@json_endpoint
def read_sheet(site: Site, request: Request, body: JsonBody) -> Response:
    """Read the verdicts of a review sheet, the field `csv` of the body. Return the new state."""
    name, text = request.path_params["name"], body.fields.get("csv")
    if not isinstance(text, str):
        raise UsageError("csv must be the text of a review sheet")
    labels, threshold = parse_sheet(text, "the sheet"), get_threshold(site, name)
    with site.collections.open_store(name) as store:
        return _build_response(store, _add_verdicts(store, labels, threshold), threshold)


def _collect_labels(body: JsonBody) -> dict[str, AnnotationLabel]:
    """Return the verdicts of a request by URL. Raise `UsageError` if a page has two."""
    labels: dict[str, AnnotationLabel] = {}
    for label in _VERDICTS:
        for url in body.get_urls(label) if body.has_field(label) else ():
            if labels.setdefault(url, label) != label:
                raise UsageError(f"{url} has two verdicts: give one")
    return labels
