"""Handlers of the JSON API for the review of a collection by samples."""

from __future__ import annotations

from time import time

from msgspec import to_builtins
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl.collection import review
from topicrawl.collection.agreement import build_agreement_report
from topicrawl.collection.annotations import AnnotationLabel, clean_annotator
from topicrawl.collection.review import AppliedDecision
from topicrawl.collection.review_index import ReviewIndex
from topicrawl.collection.review_report import format_sheet, parse_sheet, select_changed, summarise_review
from topicrawl.engine.judge_reviewer import check_reviewer_judge, review_with_judge
from topicrawl.errors import UsageError
from topicrawl.web.api import JsonBody, json_endpoint
from topicrawl.web.collections import OpenCollection
from topicrawl.web.review import apply_group_label
from topicrawl.web.site import RequestForm, Site, page_endpoint

_GROUP_ACTIONS = {"accept": AnnotationLabel.RELEVANT, "reject": AnnotationLabel.IRRELEVANT}
_VERDICTS = (AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT, AnnotationLabel.UNSURE)


@page_endpoint
def get_review(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the groups of a review and the pages to review."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        return _build_response(opened, [])


@page_endpoint
def get_agreement(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the number of verdicts of each named reviewer, and the agreement of each pair."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        return JSONResponse(to_builtins(build_agreement_report(opened.store)))


@page_endpoint
def get_sheet(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the review sheet as CSV."""
    name = request.path_params["name"]
    with site.collections.open_readonly(name) as opened, opened.cache.use_review(opened.store, opened.topic) as index:
        text = format_sheet(index.groups)
    headers = {"content-disposition": 'attachment; filename="review.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _add_verdicts(
    opened: OpenCollection, index: ReviewIndex, labels: dict[str, AnnotationLabel], annotator: str
) -> list[AppliedDecision]:
    """Add the verdicts that are new, and return the decisions on groups."""
    verdicts = dict(zip(review.find_page_urls(opened.store, labels), labels.values(), strict=True))
    changed = select_changed(verdicts, index.pages)
    if not changed:
        return []
    return index.review_pages(opened.store, changed, origin="read", at=time(), annotator=annotator)[1]


def _build_response(opened: OpenCollection, decisions: list[AppliedDecision]) -> Response:
    """Return the decisions on groups, if there are any, and the state of the review."""
    with opened.cache.use_review(opened.store, opened.topic) as index:
        report = to_builtins(summarise_review(list(index.pages), index.groups, index.threshold))
    return JSONResponse({**report, "decisions": [decision._asdict() for decision in decisions]})


@json_endpoint
def add_review(site: Site, request: Request, body: JsonBody) -> Response:
    """Add verdicts on pages, accept or reject groups, or let another judge review. Return the new state."""
    name = request.path_params["name"]
    labels, annotator = _collect_labels(body), clean_annotator(body.get_text("by"))
    groups = [
        (group, label)
        for action, label in _GROUP_ACTIONS.items()
        if body.has_field(action)
        for group in body.get_names(action)
    ]
    judge = body.get_text("judge")
    if not labels and not groups and not judge:
        raise UsageError("give relevant, irrelevant, unsure, accept, reject or judge")
    with site.collections.open_writable(name) as opened:
        with opened.cache.use_review(opened.store, opened.topic) as index:
            # Invalid names change nothing.
            for group, _ in groups:
                review.find_group(index.groups, group)
            if judge:
                check_reviewer_judge(opened.store, judge)
            decisions = _add_verdicts(opened, index, labels, annotator)
            decisions += [apply_group_label(opened, index, group, label, annotator) for group, label in groups]
            if judge:
                decisions += review_with_judge(opened.directory, opened.store, judge, at=time()).decisions
        return _build_response(opened, decisions)


@json_endpoint
def read_sheet(site: Site, request: Request, body: JsonBody) -> Response:
    """Read the verdicts of a review sheet, the field `csv` of the body. Return the new state."""
    text = body.fields.get("csv")
    if not isinstance(text, str):
        raise UsageError("csv must be the text of a review sheet")
    labels = parse_sheet(text, "the sheet")
    with site.collections.open_writable(request.path_params["name"]) as opened:
        with opened.cache.use_review(opened.store, opened.topic) as index:
            decisions = _add_verdicts(opened, index, labels, clean_annotator(body.get_text("by")))
        return _build_response(opened, decisions)


def _collect_labels(body: JsonBody) -> dict[str, AnnotationLabel]:
    """Return the verdicts of a request by URL. Raise `UsageError` if a page has two."""
    labels: dict[str, AnnotationLabel] = {}
    for label in _VERDICTS:
        for url in body.get_urls(label) if body.has_field(label) else ():
            if labels.setdefault(url, label) != label:
                raise UsageError(f"{url} has two verdicts: give one")
    return labels
